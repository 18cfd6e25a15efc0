"""Eigenvalues and singular values without vectors are those with vectors, and have the same gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau import Tensor
from flambeau.operators.linalg.eigen import EIGVALSH
from flambeau.operators.linalg.svd import SVDVALS
from flambeau.tensor import record

DTYPES = [torch.float64, torch.complex128]


def matrices(dtype: Any, *shape: int) -> Tensor:
    torch.manual_seed(0)
    return torch.randn(*shape, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigenvalues(dtype: Any, uplo: str) -> None:
    a = matrices(dtype, 3, 5, 5)
    found = torch.linalg.eigvalsh(a, uplo)
    np.testing.assert_allclose(found.numpy(), torch.linalg.eigh(a, uplo)[0].numpy(), 1e-12, 1e-12)
    x, weight = a.clone().requires_grad_(), torch.arange(5.0, dtype=torch.float64)
    plain, = torch.autograd.grad((record(EIGVALSH, (x,), (uplo,)) * weight).sum(), x)
    known, = torch.autograd.grad((torch.linalg.eigvalsh(x, uplo) * weight).sum(), x)
    np.testing.assert_allclose(plain.numpy(), known.numpy(), 1e-12, 1e-12)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_eigenvalues_of_any_matrices(dtype: Any) -> None:
    """Without vectors, where none are needed for a gradient."""
    a = matrices(dtype, 3, 5, 5)
    found, known = torch.linalg.eigvals(a), torch.linalg.eig(a)[0]
    assert found.dtype == known.dtype == torch.complex128
    for one, other in zip(found, known):
        gaps = np.abs(one.numpy()[:, None] - other.numpy())
        assert gaps.min(0).max() < 1e-12 and gaps.min(1).max() < 1e-12
    x = a.clone().requires_grad_()
    of_values, = torch.autograd.grad((torch.linalg.eigvals(x).abs() ** 3).sum(), x)
    together, = torch.autograd.grad((torch.linalg.eig(x)[0].abs() ** 3).sum(), x)
    assert torch.equal(of_values, together)
    jacobian = torch.func.grad(lambda v: (torch.linalg.eigvals(v).abs() ** 3).sum())(a)
    np.testing.assert_allclose(jacobian.numpy(), together.numpy(), 1e-12, 1e-12)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(3, 4, 4), (5, 2), (2, 6)], ids=str)
def test_singular_values(dtype: Any, shape: tuple[int, ...]) -> None:
    a = matrices(dtype, *shape)
    found = torch.linalg.svdvals(a)
    np.testing.assert_allclose(found.numpy(), torch.linalg.svd(a)[1].numpy(), 1e-12, 1e-12)
    x = a.clone().requires_grad_()
    plain, = torch.autograd.grad((record(SVDVALS, (x,)) ** 3).sum(), x)
    known, = torch.autograd.grad((torch.linalg.svdvals(x) ** 3).sum(), x)
    np.testing.assert_allclose(plain.numpy(), known.numpy(), 1e-10, 1e-10)


def test_what_does_not_converge() -> None:
    a = torch.full((2, 2), float("nan"))
    with pytest.raises(torch.linalg.LinAlgError, match=r"linalg\.svd: The algorithm failed to converge"):
        torch.linalg.svdvals(a)
