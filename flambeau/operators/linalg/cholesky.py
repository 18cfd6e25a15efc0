"""Cholesky factorization: cholesky, cholesky_ex, cholesky_solve, cholesky_inverse."""

from __future__ import annotations

from typing import Any

from ... import dtypes, return_types
from ...executors.interpreter import factorizations
from ...graph.geometry import Geometry
from ...tensor import Tensor, record, record_one, record_pair
from ...tensor.warned import warn
from ..calls.out import EXACT
from ..declaration import prices
from ..declaration.definition import operator
from ..declaration.registry import api
from .solve import SOLVE_TRIANGULAR
from .support import (
    LinAlgError,
    adjoint,
    by_columns,
    failure,
    info_of,
    require_fitting,
    require_kernel,
    require_square,
    same,
    same_by_columns,
    solved_shape,
)


def _factor_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    """By columns, also the upper factor, which is the lower one turned (attributes: upper)."""
    g = operands[0]
    return (same if attributes[0] else same_by_columns)(g), info_of(g)


@operator("linalg_cholesky_ex", _factor_geometry, price=prices.matrices)
def CHOLESKY(m: Any, input: Any, upper: bool) -> Any:
    return factorizations.cholesky(input)


@CHOLESKY.derivative("input", keeps="output")
def _(ctx: Any, grads: Any, L: Tensor) -> Any:
    """L^-H herm(L^H G) L^-1 / 2, where herm mirrors the lower triangle (Murray, 2016)."""
    if grads[0] is None:
        return None
    product = (adjoint(L) @ grads[0]).tril()
    mirrored = adjoint(product) + product.tril(-1)
    turned = adjoint(L)
    left = record_pair(SOLVE_TRIANGULAR, turned, mirrored, (True, False))
    return adjoint(record(SOLVE_TRIANGULAR, (turned, adjoint(left)), (True, False))) * 0.5


_MESSAGE = (
    "The factorization could not be completed because the input is not positive-definite (the leading "
    "minor of order "
    "{} is not positive-definite)."
)


def _factor(A: Tensor, name: str, upper: bool, check: bool) -> tuple[Tensor, Tensor]:
    require_square(A, "linalg.cholesky", kernel="cholesky_cpu", integers_too=name == "cholesky")
    if upper:
        A = adjoint(A)
    L, info = record(CHOLESKY, (A,), (upper,))
    if check:
        failed = failure(info, "cholesky")
        if failed:
            raise LinAlgError(f"{name}: {failed[0]}" + _MESSAGE.format(failed[1]))
    return adjoint(L) if upper else L, info


@api("linalg", out=True, judge="first")
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The triangular L with A = L L^H for positive-definite matrices (..., N, N); ``LinAlgError`` for others.

    >>> import flambeau as torch
    >>> torch.linalg.cholesky(torch.tensor([[4., 2.], [2., 5.]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return _factor(A, "linalg.cholesky", upper, True)[0]


@api("linalg", out=EXACT, judge="first")
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The factor, and for each matrix the order of the first minor that is not positive (0: none).

    >>> import flambeau as torch
    >>> torch.linalg.cholesky_ex(torch.tensor([[4.]]))
    torch.return_types.linalg_cholesky_ex(
    L=tensor([[2.]]),
    info=tensor(0, dtype=torch.int32))
    """
    return return_types.TYPES["linalg_cholesky_ex"](*_factor(A, "linalg.cholesky_ex", upper, check_errors))


@api("torch", "Tensor", out=True, name="cholesky", judge="first")
def _cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Deprecated: see ``linalg.cholesky``."""
    warn(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a future "
        "PyTorch release.\nL = torch.cholesky(A)\nshould be replaced with\nL = torch.linalg.cholesky(A)\n"
        "and\nU = torch.cholesky(A, upper=True)\nshould be replaced with\n"
        "U = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for all valid "
        "(symmetric positive definite) inputs.")
    return _factor(input, "cholesky", upper, True)[0]


@api("torch", "Tensor", out=True, judge="first")
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """X with A X = B, for A given by its factor: (..., N, K) and (..., N, N).

    >>> import flambeau as torch
    >>> torch.cholesky_solve(torch.tensor([[4.]]), torch.tensor([[2.]]))
    tensor([[1.]])
    """
    if input.ndim < 2:
        raise RuntimeError(f"b should have at least 2 dimensions, but has {input.ndim} dimensions instead")
    if input2.ndim < 2:
        raise RuntimeError(f"u should have at least 2 dimensions, but has {input2.ndim} dimensions instead")
    if input2.shape[-1] != input2.shape[-2]:
        raise RuntimeError(f"A must be batches of square matrices, but they are {input2.shape[-2]} by "
                           f"{input2.shape[-1]} matrices")
    if input.dtype is not input2.dtype:
        raise RuntimeError("Expected b and A to have the same dtype, but found b of type "
                           f"{dtypes.SCALAR_NAMES[input.dtype]} and A of type "
                           f"{dtypes.SCALAR_NAMES[input2.dtype]} instead.")
    require_kernel(input.dtype, "cholesky_solve_cpu")
    require_fitting(input2, input, True, "cholesky_solve")
    return record_pair(CHOLESKY_SOLVE, input, input2, (upper,))


def _solve_geometry(operands: Any, attributes: Any) -> Geometry:
    b, factor = operands
    return by_columns(solved_shape(factor, b), b.dtype, b.device)


@operator("cholesky_solve", _solve_geometry, price=prices.matrices)
def CHOLESKY_SOLVE(m: Any, input: Any, L: Any, upper: bool) -> Any:
    turned = m.conj(m.swapaxes(L, -1, -2))
    low, high = (turned, L) if upper else (L, turned)
    half = factorizations.solve_triangular(low, input, False, False)
    return factorizations.solve_triangular(high, half, True, False)


@CHOLESKY_SOLVE.derivative("input", "L", keeps="L output", holds="input")
def _(ctx: Any, grad: Tensor, L: Tensor, X: Tensor) -> Any:
    """The gradient of A is -A^-1 G X^H; that of its factor follows from A = L L^H."""
    upper = ctx.attributes[0]
    to_b = record_pair(CHOLESKY_SOLVE, grad, L, (upper,))
    if not ctx.needs[1]:
        return to_b, None
    if 4 * X.shape[-1] < X.shape[-2]:   # few right-hand sides: no square matrix is multiplied
        if upper:
            return to_b, -((L @ to_b) @ adjoint(X) + (L @ X) @ adjoint(to_b))
        return to_b, -(to_b @ (adjoint(X) @ L) + X @ (adjoint(to_b) @ L))
    product = to_b @ adjoint(X)
    both = product + adjoint(product)
    return to_b, -(L @ both) if upper else -(both @ L)


@operator("cholesky_inverse", lambda operands, attributes: same_by_columns(operands[0]))
def CHOLESKY_INVERSE(m: Any, L: Any, upper: bool) -> Any:
    one = m.broadcast_to(m.eye(L.shape[-1], dtype=L.dtype), L.shape)
    return CHOLESKY_SOLVE.kernel(m, one, L, upper)


@CHOLESKY_INVERSE.derivative("L", keeps="L output")
def _(ctx: Any, grad: Tensor, L: Tensor, inverse: Tensor) -> Any:
    both = inverse @ (grad + adjoint(grad)) @ inverse
    return -(L @ both) if ctx.attributes[0] else -(both @ L)


@api("torch", "Tensor", out=True, judge="first")
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of a matrix given by its Cholesky factor.

    >>> import flambeau as torch
    >>> torch.cholesky_inverse(torch.tensor([[2.]]))
    tensor([[0.2500]])
    """
    require_square(L, "cholesky_inverse", kernel="cholesky_inverse_out_cpu", integers_too=True)
    return record_one(CHOLESKY_INVERSE, L, (upper,))
