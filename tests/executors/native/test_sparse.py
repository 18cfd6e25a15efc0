"""Products, sums and elements of sparse tensors in native code, beside the interpreter's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau import config
from tests.executors.native.agreement import TEXTS


def product(tier: str, rows: int, inner: int, width: int, entries: int, dtype: Any,
            csr: bool = False) -> Any:
    with config.executor(tier):
        torch.manual_seed(0)
        places = torch.stack([torch.randint(0, rows, (entries,)), torch.randint(0, inner, (entries,))])
        values = torch.randn(entries, dtype=dtype)
        a = torch.sparse_coo_tensor(places, values, (rows, inner), requires_grad=True)
        b = torch.randn(inner, width, dtype=dtype, requires_grad=True)
        y = torch.sparse.mm(a.to_sparse_csr() if csr else a, b)
        y.pow(2).sum().backward()
        grad = b.grad if csr else a.grad.to_dense()
        return [x.detach().numpy() for x in (y, b.grad, grad)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("shape", [(5, 4, 1, 9), (40, 30, 7, 200), (7, 9, 16, 30), (20, 30, 33, 100),
                                   (4, 4, 3, 0), (50, 60, 200, 900), (3, 2, 0, 4)], ids=str)
@pytest.mark.parametrize("csr", [False, True], ids=["COO", "CSR"])
def test_products(shape: tuple[int, int, int, int], dtype: Any, csr: bool) -> None:
    for one, other in zip(product("native", *shape, dtype, csr), product("interpreter", *shape, dtype, csr)):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-3)


def test_another_shape_compiles_nothing() -> None:
    product("native", 30, 40, 50, 60, torch.float32)
    product("native", 31, 41, 60, 70, torch.float32)
    before = len(TEXTS)
    product("native", 33, 44, 55, 66, torch.float32)
    assert len(TEXTS) == before


def test_places_out_of_range_are_refused() -> None:
    a = torch.sparse_coo_tensor([[0, 5], [1, 1]], [1.0, 2.0], (6, 2))
    for bad in (torch.tensor([[0, 9], [1, 1]]), torch.tensor([[0, 1], [1, 7]])):
        a._indices_ = bad
        with config.executor("native"), pytest.raises((IndexError, RuntimeError, ValueError)):
            torch.sparse.mm(a, torch.ones(2, 3)).sum().item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool], ids=str)
@pytest.mark.parametrize(("sparse", "dense"), [(1, ()), (1, (5,)), (2, ()), (2, (3, 2)), (3, (4,))], ids=str)
def test_entries_are_spread_and_picked(sparse: int, dense: tuple[int, ...], dtype: Any) -> None:
    shape = (6, 5, 4)[:sparse]
    places = torch.stack([torch.arange(9) * 7 % n for n in shape])
    values = (torch.arange(9 * int(np.prod(dense, dtype=int))) % 5 - 2).reshape(9, *dense).to(dtype)
    found = []
    for tier in ("native", "interpreter"):
        with config.executor(tier):
            a = torch.sparse_coo_tensor(places, values, (*shape, *dense))
            whole = a.to_dense()
            found.append((whole.tolist(), a.coalesce().values().tolist(),
                          (whole * 2).sparse_mask(a.coalesce()).values().tolist()))
    assert found[0] == found[1]
