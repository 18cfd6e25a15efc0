"""Distances and their gradients give what the interpreter gives."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import check, is_native

P = [1.0, 2.0, float("inf")]
SHAPES = [(1, 1, 1), (3, 5, 7), (20, 9, 16), (7, 25, 33), (2, 40, 65)]


def _gradients(function: Any) -> Any:
    def run(*operands: Tensor) -> Any:
        leaves = [x.detach().requires_grad_() for x in operands]
        out = function(*leaves)
        return out, flambeau.autograd.grad((out * (1 / (1 + out.detach()))).sum(), leaves)
    return run


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64], ids=str)
@pytest.mark.parametrize("p", P)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cdist(shape: tuple[int, int, int], p: float, dtype: Any) -> None:
    rows, others, width = shape
    flambeau.manual_seed(0)
    x, y = flambeau.randn(rows, width, dtype=dtype), flambeau.randn(others, width, dtype=dtype)
    y[0] = x[0]     # a distance of 0
    tolerance = 1e-5 if dtype is flambeau.float32 else 1e-12
    mode = "donot_use_mm_for_euclid_dist"
    run = _gradients(lambda a, b: flambeau.cdist(a, b, p, mode))
    check(run, [x, y], "cdist", tolerance)
    assert is_native("cdist_backward")
    check(run, [x.T.contiguous().T, y.repeat(1, 2)[:, :width]], "cdist" if width == 1 else "cdist_backward",
          tolerance)
    batch = [flambeau.stack([v, v + 1, v * 2]) for v in (x, y)]
    check(run, batch, "cdist", tolerance)


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64], ids=str)
@pytest.mark.parametrize("p", P)
@pytest.mark.parametrize("shape", [(2, 1), (5, 7), (20, 16), (7, 33)], ids=str)
def test_pdist(shape: tuple[int, int], p: float, dtype: Any) -> None:
    flambeau.manual_seed(0)
    x = flambeau.randn(*shape, dtype=dtype)
    check(_gradients(lambda v: flambeau.pdist(v, p)), [x], "pdist",
          1e-5 if dtype is flambeau.float32 else 1e-12)
    assert is_native("pdist_backward")


@pytest.mark.parametrize("p", P)
def test_values_that_are_not_finite(p: float) -> None:
    x = flambeau.zeros(4, 37)
    x[1, 3], x[2, 36], x[3, 0] = flambeau.nan, flambeau.inf, -flambeau.inf
    check(lambda v: flambeau.pdist(v, p), [x], "pdist", 1e-5)


def test_other_attributes_get_a_native_form_after_some_that_have_none() -> None:
    x = flambeau.randn(40, 3)
    with flambeau.config.executor("native"):
        flambeau.cdist(x, x).sum().item()   # by a product: the interpreter's
        with flambeau.config.kernel_times():
            flambeau.cdist(x, x, 1.0).sum().item()
    assert is_native("cdist")


@pytest.mark.parametrize("lead", [((), ()), ((3,), (3,)), ((2, 1), (3,))], ids=str)
def test_by_product(lead: Any) -> None:
    """Of many rows |x - y|^2 is a product: gradients, and theirs, are those of the differences."""
    flambeau.manual_seed(0)
    x, y = (flambeau.randn(*n, rows, 6, dtype=flambeau.float64) for n, rows in zip(lead, (27, 30)))
    leaves = [v.requires_grad_() for v in (x, y)]
    found = []
    for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        out = flambeau.cdist(*leaves, compute_mode=mode)
        first = flambeau.autograd.grad(out.sin().sum(), leaves, create_graph=True)
        found.append((out, *first, *flambeau.autograd.grad(sum((g * g).sum() for g in first), leaves)))
    for one, other in zip(*found):
        flambeau.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_by_product_of_equal_rows() -> None:
    x = flambeau.eye(30).requires_grad_()
    flambeau.cdist(x, x.detach()).diagonal().sum().backward()
    assert x.grad is not None and bool((x.grad == 0).all())
