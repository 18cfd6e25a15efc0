"""LU factorization: lu, lu_factor, lu_solve, lu_unpack."""

from __future__ import annotations

from typing import Any

from ... import dtypes, return_types
from ...executors.interpreter import factorizations
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record, record_pair
from ...tensor.dims import extent_of
from ...tensor.warned import warn
from ..calls.out import EXACT, store
from ..declaration import prices
from ..declaration.definition import operator
from ..declaration.registry import api
from ..shapes.joining import cat
from .solve import SOLVE_TRIANGULAR
from .support import (
    adjoint,
    by_columns,
    failure,
    identity,
    info_of,
    require_fitting,
    require_matrix,
    require_same_type,
    require_square,
    same_by_columns,
    solved_shape,
)


def _lu_geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    g = operands[0]
    pivots = contiguous((*g.shape[:-2], min(g.shape[-2:])), dtypes.int32, g.device)
    return same_by_columns(g), pivots, info_of(g)


@operator("linalg_lu_factor_ex", _lu_geometry, non_differentiable_outputs=(1, 2), price=prices.matrices)
def LU_FACTOR(m: Any, A: Any, pivot: bool) -> Any:
    return factorizations.lu(A, pivot)


@LU_FACTOR.derivative("A", keeps="output output1")
def _(ctx: Any, grads: Any, packed: Tensor, pivots: Tensor) -> Any:
    if grads[0] is None:
        return None
    rows, columns = packed.shape[-2:]
    k = min(rows, columns)
    L, U = _parts(packed)
    to_l = grads[0][..., :, :k].tril(-1)
    to_u = grads[0][..., :k, :].triu()
    return permutation_of(pivots, packed) @ _gradient(L, U, to_l, to_u)


def _gradient(L: Tensor, U: Tensor, to_l: Tensor, to_u: Tensor) -> Tensor:
    """P^T times the gradient of A, from those of L and U.

    For square matrices L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H; what a longer side adds depends linearly
    on it.
    """
    k = U.shape[-2]
    rows, columns = L.shape[-2], U.shape[-1]
    l1, u1 = L[..., :k, :], U[..., :, :k]
    inner = (adjoint(L) @ to_l).tril(-1) + (to_u @ adjoint(U)).triu()
    if columns > k:  # A = L [U1 U2]: U2 = L^-1 A2
        inner = (adjoint(L) @ to_l - to_u[..., :, k:] @ adjoint(U[..., :, k:])).tril(-1) + (
            to_u[..., :, :k] @ adjoint(u1)
        ).triu()
    elif rows > k:  # A = [L1; L2] U: L2 = A2 U^-1
        inner = (adjoint(l1) @ to_l[..., :k, :]).tril(-1) + (
            to_u @ adjoint(U) - adjoint(L[..., k:, :]) @ to_l[..., k:, :]
        ).triu()
    square = _solve(adjoint(l1), inner, upper=True)
    square = adjoint(_solve(u1, adjoint(square), upper=True))

    if columns > k:
        return cat([square, _solve(adjoint(L), to_u[..., :, k:], upper=True)], -1)
    if rows > k:
        lower = adjoint(_solve(U, adjoint(to_l[..., k:, :]), upper=True))
        return cat([square, lower], -2)
    return square


def _solve(a: Tensor, b: Tensor, upper: bool) -> Tensor:
    return record_pair(SOLVE_TRIANGULAR, a, b, (upper, False))


def _parts(packed: Tensor) -> tuple[Tensor, Tensor]:
    """L and U from one matrix that holds both."""
    rows, columns = packed.shape[-2:]
    k = min(rows, columns)
    L = packed[..., :, :k].tril(-1)
    one = identity(rows, packed)[:, :k]
    return L + one, packed[..., :k, :].triu()


def _permutation_geometry(operands: Any, attributes: Any) -> Geometry:
    pivots, like = operands
    return contiguous((*pivots.shape[:-1], attributes[0], attributes[0]), like.dtype, pivots.device)


@operator("lu_permutation", _permutation_geometry)
def PERMUTATION(m: Any, pivots: Any, like: Any, rows: int) -> Any:
    return factorizations.permutation_matrix(pivots, rows, like.dtype)


def permutation_of(pivots: Tensor, like: Tensor) -> Tensor:
    """The permutation matrix P of A = P L U."""
    return record(PERMUTATION, (pivots, like.detach()), (like.shape[-2],))


@api("linalg", out=EXACT, judge="first")
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """L and U in one matrix, and the row exchanges.

    >>> import flambeau as torch
    >>> torch.linalg.lu_factor(torch.tensor([[1., 2.], [2., 2.]])).pivots
    tensor([2, 2], dtype=torch.int32)
    """
    require_matrix(A, "torch.lu_factor", kernel="lu_cpu", integers_too=True)
    packed, pivots, info = record(LU_FACTOR, (A,), (pivot,))
    failed = failure(info, "lu_factor")
    if failed:
        raise RuntimeError(
            f"torch.linalg.lu_factor: {failed[0]}U[{failed[1]},{failed[1]}] is zero and using it on "
            "lu_solve would result in "
            "a division by zero. If you still want to perform the factorization, consider calling "
            "linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )
    return return_types.TYPES["linalg_lu_factor"](packed, pivots)


@api("linalg", out=EXACT, judge="first")
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """As ``lu_factor``, with the position of the first zero pivot (0: none) instead of an error.

    >>> import flambeau as torch
    >>> torch.linalg.lu_factor_ex(torch.tensor([[2.]])).info
    tensor(0, dtype=torch.int32)
    """
    require_matrix(A, "torch.lu_factor", kernel="lu_cpu", integers_too=True)
    packed, pivots, info = record(LU_FACTOR, (A,), (pivot,))
    failed = failure(info, "lu_factor_ex") if check_errors else None
    if failed:
        raise RuntimeError(
            f"torch.linalg.lu_factor_ex: {failed[0]}U[{failed[1]},{failed[1]}] is zero and using it on "
            "lu_solve would result in a division by zero."
        )
    return return_types.TYPES["linalg_lu_factor_ex"](packed, pivots, info)


@api("linalg", out=EXACT, judge="first")
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """Matrices P (permutation), L and U with A = P L U.

    >>> import flambeau as torch
    >>> torch.linalg.lu(torch.tensor([[1., 2.], [2., 2.]])).U
    tensor([[2., 2.],
            [0., 1.]])
    """
    require_matrix(A, "linalg.lu", kernel="lu_cpu", integers_too=True)
    packed, pivots, _ = record(LU_FACTOR, (A,), (pivot,))
    L, U = _parts(packed)
    P = permutation_of(pivots, packed) if pivot else packed.new_empty(0)
    return return_types.TYPES["linalg_lu"](P, L, U)


@api("Tensor", name="lu", judge="first")
def _lu_method(self: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """Deprecated: see ``linalg.lu_factor``."""
    return _lu(self, pivot, get_infos)


@api("torch", name="lu", judge="first")
def _lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Deprecated: see ``linalg.lu_factor``."""
    warn(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and will be "
        "removed in a future PyTorch release.")
    results = tuple(lu_factor_ex(A, pivot=pivot)) if get_infos else tuple(lu_factor(A, pivot=pivot))
    if out is None:
        return results

    return store(results, out, "lu", EXACT)


@api("torch", out=EXACT)
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """P, L and U from what ``lu_factor`` gives; those not asked for are empty.

    >>> import flambeau as torch
    >>> [part.shape for part in torch.lu_unpack(*torch.linalg.lu_factor(torch.eye(2)))]
    [torch.Size([2, 2]), torch.Size([2, 2]), torch.Size([2, 2])]
    """
    if unpack_pivots and LU_pivots.dtype is not dtypes.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    empty = LU_data.new_empty(0)
    L, U = _parts(LU_data) if unpack_data else (empty, empty)
    P = permutation_of(LU_pivots, LU_data) if unpack_pivots else empty
    return return_types.TYPES["lu_unpack"](P, L, U)


def _solve_geometry(operands: Any, attributes: Any) -> Geometry:
    packed, _, b = operands
    return by_columns(solved_shape(packed, b), b.dtype, b.device)


@operator("linalg_lu_solve", _solve_geometry)
def LU_SOLVE(m: Any, LU: Any, pivots: Any, B: Any, conjugated: bool) -> Any:
    """X of A X = B, or of A^H X = B if ``conjugated``."""
    return factorizations.lu_solve(LU, pivots, B, conjugated)


@LU_SOLVE.derivative("LU", "B", keeps="LU pivots output")
def _(ctx: Any, grad: Tensor, packed: Tensor, pivots: Tensor, X: Tensor) -> Any:
    """That of A = P L U is -A^-H G X^H; L's is P^T of it times U^H, and U's is L^H P^T times it."""
    conjugated = ctx.attributes[0]
    to_b = record(LU_SOLVE, (packed, pivots, grad), (not conjugated,))
    if not ctx.needs[0]:
        return None, to_b
    to_a = -(X @ adjoint(to_b)) if conjugated else -(to_b @ adjoint(X))
    L, U = _parts(packed)
    turned = permutation_of(pivots, packed).transpose(-2, -1) @ to_a
    return (turned @ adjoint(U)).tril(-1) + (adjoint(L) @ turned).triu(), to_b


@api("linalg", out=EXACT, judge="first")
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A X = B (or X A = B, or with A^H), for A given by ``lu_factor``.

    >>> import flambeau as torch
    >>> torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.tensor([[2.]])), torch.tensor([[4.]]))
    tensor([[2.]])
    """
    require_square(LU, "torch.linalg.lu_solve",
                   kernel="linalg.lu_solve_cpu" if LU.dtype is B.dtype else "")
    require_same_type(LU, B, "linalg.lu_solve", "LU")
    require_matrix(B, "linalg.lu_solve", "B")
    require_fitting(LU, B, left, "linalg.lu_solve")
    if pivots.dtype is not dtypes.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if LU.shape[-1] != extent_of(pivots.shape, -1):
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of "
                           "the matrix")
    if LU.shape[:-1] != pivots.shape:
        raise RuntimeError("linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got "
                           f"pivots with shape {list(pivots.shape)} instead")
    if left:
        return record(LU_SOLVE, (LU, pivots, B), (adjoint,))
    # X A = B is A^H X^H = B^H
    return _conjugate_transpose(record(LU_SOLVE, (LU, pivots, _conjugate_transpose(B)), (not adjoint,)))


_conjugate_transpose = adjoint


@api("torch", "Tensor", out=EXACT, name="lu_solve")
def _torch_lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Deprecated: see ``linalg.lu_solve``, whose arguments come in another order."""
    return lu_solve(LU_data, LU_pivots, b)
