"""Strides of results that PyTorch does not lay out row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch


def matrix(*batch: int) -> Any:
    torch.manual_seed(0)
    x = torch.randn(*batch, 3, 3)
    return x @ x.mT + torch.eye(3)


BY_COLUMNS: list[Callable[[Any], Any]] = [
    torch.linalg.inv, torch.linalg.cholesky, lambda A: torch.linalg.cholesky(A, upper=True),
    lambda A: torch.linalg.lu_factor(A).LU, lambda A: torch.linalg.qr(A).Q, lambda A: torch.linalg.qr(A).R,
    lambda A: torch.linalg.svd(A).U, lambda A: torch.linalg.svd(A).Vh,
    lambda A: torch.linalg.eigh(A).eigenvectors, lambda A: torch.linalg.eig(A).eigenvectors,
    lambda A: torch.linalg.solve(A, A), lambda A: torch.linalg.solve_triangular(A, A, upper=True),
    lambda A: torch.geqrf(A).a, lambda A: torch.cholesky_inverse(A), lambda A: torch.linalg.ldl_factor(A).LD,
    lambda A: torch.linalg.lstsq(A, A).solution,
]


@pytest.mark.parametrize("number", range(len(BY_COLUMNS)))
def test_matrices_lie_as_lapack_leaves_them(number: int) -> None:
    assert BY_COLUMNS[number](matrix()).stride() == (1, 3)
    assert BY_COLUMNS[number](matrix(2)).stride() == (9, 1, 3)


def test_transformed_dimensions_come_last_in_memory() -> None:
    x = torch.randn(5, 6, 7)
    assert torch.fft.fft(x).stride() == (42, 7, 1)
    assert torch.fft.fft(x, dim=0).stride() == (1, 35, 5)
    assert torch.fft.fft2(x, dim=(0, 2)).stride() == (7, 35, 1)
    assert torch.fft.rfft(x, dim=1).stride() == (28, 1, 4)
    assert torch.allclose(torch.fft.ifft(torch.fft.fft(x, dim=1), dim=1).real, x, atol=1e-5)


def test_positions_lie_dimension_by_dimension() -> None:
    found = torch.nonzero(torch.tensor([[0, 1], [2, 3]]))
    assert found.tolist() == [[0, 1], [1, 0], [1, 1]] and found.stride() == (1, 3)
    assert torch.argwhere(torch.tensor(3)).shape == (1, 0)
