"""Cholesky factorization: cholesky, cholesky_ex, cholesky_solve, cholesky_inverse."""

from __future__ import annotations

import warnings
from typing import Any

from .. import return_types
from ..executors.interpreter import factorizations
from ..tensor import Tensor, record
from .definition import operator
from .linalg_support import (
    LinAlgError,
    adjoint,
    failure,
    identity,
    info_of,
    require_same_type,
    require_square,
    same,
)
from .registry import api


@operator("linalg_cholesky_ex", lambda operands, attributes: (same(operands[0]), info_of(operands[0])))
def CHOLESKY(m: Any, input: Any) -> Any:
    return factorizations.cholesky(input)


@CHOLESKY.derivative("input", keeps="output")
def _(ctx: Any, grads: Any, L: Tensor) -> Any:
    """L^-H phi(L^H G) L^-1, made Hermitian; phi is the lower triangle with half the diagonal (Murray, 2016)."""
    from .linalg_solve import SOLVE_TRIANGULAR
    if grads[0] is None:
        return None
    phi = (adjoint(L) @ grads[0]).tril()
    phi = phi - (phi.diagonal(dim1=-2, dim2=-1) * 0.5).diag_embed()
    turned = adjoint(L)
    left = record(SOLVE_TRIANGULAR, (turned, phi), (True, False))                    # L^-H phi
    both = adjoint(record(SOLVE_TRIANGULAR, (turned, adjoint(left)), (True, False)))  # ... L^-1
    return (both + adjoint(both)) * 0.5


_MESSAGE = ("The factorization could not be completed because the input is not positive-definite (the leading minor of order "
            "{} is not positive-definite).")


def _factor(A: Tensor, name: str, upper: bool, check: bool) -> tuple[Tensor, Tensor]:
    require_square(A, "linalg.cholesky")
    if upper:
        A = adjoint(A)
    L, info = record(CHOLESKY, (A,))
    if check:
        failed = failure(info, "cholesky")
        if failed:
            raise LinAlgError(f"{name}: {failed[0]}" + _MESSAGE.format(failed[1]))
    return adjoint(L) if upper else L, info


@api("linalg", out=True)
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The triangular L with A = L L^H for positive-definite matrices (..., N, N); ``LinAlgError`` for others.

    >>> import flambeau as torch
    >>> torch.linalg.cholesky(torch.tensor([[4., 2.], [2., 5.]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return _factor(A, "linalg.cholesky", upper, True)[0]


@api("linalg", out=True)
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The factor, and for each matrix the order of the first minor that is not positive (0: none)."""
    return return_types.TYPES["linalg_cholesky_ex"](*_factor(A, "linalg.cholesky_ex", upper, check_errors))


@api("torch", "Tensor", out=True, name="cholesky")
def _cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Deprecated: see ``linalg.cholesky``."""
    warnings.warn("torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future PyTorch "
                  "release.", UserWarning, stacklevel=2)
    require_square(input, "cholesky")
    return _factor(input, "cholesky", upper, True)[0]


@api("torch", "Tensor", out=True)
def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X with A X = B, for A given by its factor: (..., N, K) and (..., N, N).

    >>> import flambeau as torch
    >>> torch.cholesky_solve(torch.tensor([[4.]]), torch.tensor([[2.]]))
    tensor([[1.]])
    """
    from .linalg_solve import solve_triangular
    if input.ndim < 2:
        raise RuntimeError(f"b should have at least 2 dimensions, but has {input.ndim} dimensions instead")
    if L.ndim < 2:
        raise RuntimeError(f"u should have at least 2 dimensions, but has {L.ndim} dimensions instead")
    require_square(L, "cholesky_solve")
    require_same_type(L, input, "cholesky_solve")
    first = adjoint(L) if upper else L
    return solve_triangular(adjoint(first), solve_triangular(first, input, upper=False), upper=True)  # type: ignore


@api("torch", "Tensor", out=True)
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of a matrix given by its Cholesky factor."""
    require_square(L, "cholesky_inverse")
    return cholesky_solve(identity(L.shape[-1], L).expand(L.shape), L, upper)
