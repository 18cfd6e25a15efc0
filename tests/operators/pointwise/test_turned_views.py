"""Conjugate and negative views in both tiers: read after writes, written through, learnt from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flambeau as torch


@pytest.fixture(params=["interpreter", "native"], autouse=True)
def tier(request: pytest.FixtureRequest) -> Iterator[None]:
    with torch.config.executor(request.param):
        yield


def numbers(rows: int) -> np.ndarray[Any, Any]:
    flat = np.arange(rows * 6, dtype=np.float64)
    return np.asarray((flat - 1j * flat[::-1]).reshape(rows, 6))


# What is viewed, in terms that arrays know too: all of a tensor, or a part of it.
PARTS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "transposed": lambda x: x.T,
    "row": lambda x: x[1],
    "rows": lambda x: x[1:],
    "column": lambda x: x[:, 2],
    "every other": lambda x: x[::2, 1::2],
    "element": lambda x: x[1:2, 2:3],
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("rows", [3, 300])
def test_values_are_the_source_s_of_the_moment(part: Callable[[Any], Any], rows: int) -> None:
    held = numbers(rows)
    x = torch.as_tensor(held.copy())
    y, z = part(x).conj(), part(x).conj().imag
    for _ in range(3):
        x.mul_(1 + 1j)
        held *= 1 + 1j
        np.testing.assert_allclose((y * 2).numpy(), part(held).conj() * 2)
        np.testing.assert_allclose((z + 1).numpy(), 1 - part(held).imag)


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("rows", [3, 300])
def test_writes_go_through(part: Callable[[Any], Any], rows: int) -> None:
    held = numbers(rows)
    x = torch.as_tensor(held.copy())
    y = part(x).conj()
    for _ in range(3):
        y.mul_(2j)
        y.imag.add_(1)
        written = part(held)
        written[...] = np.conj(2j * np.conj(written) + 1j)
        np.testing.assert_allclose(x.numpy(), held)


def test_memory_that_others_see() -> None:
    array = numbers(4)
    x = torch.from_numpy(array)
    y = x.conj()
    array[0, 0] = 9j
    assert y[0, 0].item() == -9j
    y[1, 1] = 5j
    assert array[1, 1] == -5j
    assert y.data_ptr() == array.ctypes.data and y.untyped_storage().data_ptr() == x.data_ptr()


def test_views_of_a_part_reach_all_of_the_storage() -> None:
    x = torch.arange(40.0).to(torch.complex64) * 1j
    y = x[10:12].conj()
    assert (y * 1).tolist() == [-10j, -11j]
    assert (y.as_strided((3,), (10,), 0) * 1).tolist() == [0, -10j, -20j]


def test_a_loop_learns_the_same_through_views_as_through_copies() -> None:
    def losses(conj: Callable[[Any], Any]) -> list[float]:
        torch.manual_seed(0)
        w = torch.randn(6, 6, dtype=torch.complex128, requires_grad=True)
        b = conj(torch.randn(6, 6, dtype=torch.complex128)).detach().requires_grad_()
        optimizer = torch.optim.SGD([w, b], 0.05)
        found = []
        for _ in range(40):
            optimizer.zero_grad()
            x = torch.randn(6, 6, dtype=torch.complex128)
            product = conj(w).t() @ x + b * conj(x) + conj(w[:2]).sum() * w
            loss = product.abs().square().mean() + b.real.square().mean() + conj(b).imag.mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found
    assert losses(torch.conj) == pytest.approx(losses(torch.conj_physical), rel=1e-9)


def test_an_old_value_is_not_kept_in_the_way_of_writes() -> None:
    x = torch.zeros(1000, dtype=torch.complex64)
    y = x[3].conj()
    assert y.item() == 0
    torch.synchronize()
    before = x._storage.node.value.ctypes.data
    x[3].fill_(1j)
    assert y.item() == -1j and x._storage.node.value.ctypes.data == before
