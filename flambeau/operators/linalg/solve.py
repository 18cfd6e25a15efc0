"""Systems of equations: inv, solve, solve_triangular, lstsq, tensorinv, tensorsolve."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import dtypes, layouts, return_types
from ...executors.interpreter import factorizations, lapack
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record, record_pair
from ...tensor.warned import warn
from ..calls.out import EXACT, Out
from ..declaration import prices
from ..declaration.definition import operator
from ..declaration.registry import api
from ..interop.looking import look
from .support import (
    LinAlgError,
    adjoint,
    by_columns,
    failure,
    info_of,
    real_part,
    require_fitting,
    require_matrix,
    require_rows_of_matrix,
    require_same_type,
    require_square,
    require_type_of_matrix,
    same_by_columns,
    solved_shape,
)
from .svd import PINV, pinv_gradient

# --- inverse ------------------------------------------------------------------------------------------------


@operator("linalg_inv_ex", lambda operands, attributes: (same_by_columns(operands[0]), info_of(operands[0])),
          price=prices.matrices)
def INV(m: Any, A: Any) -> Any:
    return factorizations.inverse(A)


@INV.derivative("A", keeps="output")
def _(ctx: Any, grads: Any, inverse: Tensor) -> Any:
    turned = adjoint(inverse)
    return None if grads[0] is None else -(turned @ grads[0] @ turned)


_SINGULAR = (
    "The diagonal element {} is zero, the inversion could not be completed because the input matrix is "
    "singular."
)


def _inverse(A: Tensor, name: str, check: bool) -> tuple[Tensor, Tensor]:
    require_square(A, "linalg.inv")
    inverse, info = record(INV, (A,))
    if check:
        failed = failure(info, "inv")
        if failed:
            raise LinAlgError(f"{name}: {failed[0]}" + _SINGULAR.format(failed[1]))
    return inverse, info


@api("linalg", out=EXACT)
def inv(A: Tensor) -> Tensor:
    """The inverses of square matrices (..., N, N); ``LinAlgError`` if one is singular.

    >>> import flambeau as torch
    >>> torch.linalg.inv(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return _inverse(A, "linalg.inv", True)[0]


@api("torch", "Tensor", out=True)
def inverse(input: Tensor) -> Tensor:
    """See ``linalg.inv``.

    >>> import flambeau as torch
    >>> torch.inverse(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return inv(input)


@api("linalg", out=EXACT, judge="first")
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """Inverses, and for each matrix the position of the first zero pivot (0: none). Nothing is raised.

    >>> import flambeau as torch
    >>> torch.linalg.inv_ex(torch.tensor([[2.]]))
    torch.return_types.linalg_inv_ex(
    inverse=tensor([[0.5000]]),
    info=tensor(0, dtype=torch.int32))
    """
    return return_types.TYPES["linalg_inv_ex"](*_inverse(A, "linalg.inv_ex", check_errors))


# --- solve --------------------------------------------------------------------------------------------------


def _solve_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    a, b = operands
    return by_columns(solved_shape(a, b), a.dtype, a.device), info_of(a)


@operator("linalg_solve_ex", _solve_geometry, price=prices.matrices)
def SOLVE(m: Any, A: Any, B: Any) -> Any:
    return factorizations.solve(A, B)


@SOLVE.derivative("A", "B", keeps="A output")
def _(ctx: Any, grads: Any, A: Tensor, X: Tensor) -> Any:
    if grads[0] is None:
        return None, None
    to_b = record(SOLVE, (adjoint(A), grads[0]))[0]
    return -(to_b @ adjoint(X)) if ctx.needs[0] else None, to_b


def _is_vector(A: Tensor, B: Tensor) -> bool:
    """Whether B is a (batch of a) vector rather than of matrices."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and A.shape[:-1] == B.shape)


def _solve(A: Tensor, B: Tensor, left: bool) -> tuple[Tensor, Tensor]:
    name = "linalg.solve"
    require_square(A, name, kernel="lu_cpu" if A.dtype is B.dtype else "")
    require_same_type(A, B, name)
    vector = _is_vector(A, B)
    if vector and not left:
        raise RuntimeError(
            f"{name}: Vector broadcasting of the left hand side is not supported for left=False. In this "
            "case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    b = B.unsqueeze(-1) if vector else B
    require_fitting(A, b, left, name)
    if left:
        X, info = record(SOLVE, (A, b))
    else:
        X, info = record(SOLVE, (A.transpose(-2, -1), b.transpose(-2, -1)))
        X = X.transpose(-2, -1)
    return X.squeeze(-1) if vector else X, info


@api("linalg", out=EXACT, judge="first")
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with A X = B (or X A = B): (..., N, N) and (..., N, K) or (..., N); ``LinAlgError`` if A is singular.

    >>> import flambeau as torch
    >>> torch.linalg.solve(torch.tensor([[2., 0.], [0., 4.]]), torch.tensor([2., 2.]))
    tensor([1.0000, 0.5000])
    """
    X, info = _solve(A, B, left)
    failed = failure(info, "solve")
    if failed:
        raise LinAlgError(
            f"torch.linalg.solve: {failed[0]}The solver failed because the input matrix is singular."
        )
    return X


@api("linalg", out=EXACT, judge="first")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """The solution, and for each matrix the position of the first zero pivot (0: none). Nothing is raised.

    >>> import flambeau as torch
    >>> torch.linalg.solve_ex(torch.eye(2), torch.ones(2)).result
    tensor([1., 1.])
    """
    X, info = _solve(A, B, left)
    failed = failure(info, "solve_ex") if check_errors else None
    if failed:
        raise LinAlgError(
            f"torch.linalg.solve_ex: {failed[0]}The solver failed because the input matrix is singular."
        )
    return return_types.TYPES["linalg_solve_ex"](X, info)


# --- triangular systems -------------------------------------------------------------------------------------


def _triangular_geometry(operands: Any, attributes: Any) -> Geometry:
    a, b = operands
    return by_columns(solved_shape(a, b), a.dtype, a.device)


@operator("linalg_solve_triangular", _triangular_geometry, price=prices.matrices)
def SOLVE_TRIANGULAR(m: Any, A: Any, B: Any, upper: bool, unitriangular: bool) -> Any:
    return factorizations.solve_triangular(A, B, upper, unitriangular)


@SOLVE_TRIANGULAR.derivative("A", "B", keeps="A output")
def _(ctx: Any, grad: Tensor, A: Tensor, X: Tensor) -> Any:
    upper, unit = ctx.attributes
    to_b = record(SOLVE_TRIANGULAR, (adjoint(A), grad), (not upper, unit))
    to_a = None
    if ctx.needs[0]:
        full = -(to_b @ adjoint(X))
        offset = int(unit)
        to_a = full.triu(offset) if upper else full.tril(-offset)
    return to_a, to_b


@api("linalg", out=Out("expected scalar type {Result} but found {Out}"), judge="first")
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """X with A X = B (or X A = B) for triangular matrices A.

    >>> import flambeau as torch
    >>> A = torch.tensor([[1., 1.], [0., 2.]])
    >>> torch.linalg.solve_triangular(A, torch.tensor([[2.], [2.]]), upper=True)
    tensor([[1.],
            [1.]])
    """
    name = "linalg.solve_triangular"
    require_square(A, name, kernel="triangular_solve_cpu", integers_too=True)
    require_same_type(A, B, name)
    if B.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    require_fitting(A, B, left, name)
    if left:
        return record_pair(SOLVE_TRIANGULAR, A, B, (upper, unitriangular))
    X: Tensor = record(
        SOLVE_TRIANGULAR, (A.transpose(-2, -1), B.transpose(-2, -1)), (not upper, unitriangular)
    )
    return X.transpose(-2, -1)


@api("torch", "Tensor", out=EXACT, judge="first")
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """Deprecated: see ``linalg.solve_triangular``, whose arguments come in the other order.

    >>> import flambeau as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.triangular_solve(torch.ones(2, 1), torch.tensor([[2.0, 0.0], [0.0, 4.0]])).solution
    tensor([[0.5000],
            [0.2500]])
    """
    warn(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be removed "
        "in a future PyTorch release.")
    for name, x in (("b", input), ("A", A)):
        if x.ndim < 2:
            raise RuntimeError(f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but "
                               f"it has {x.ndim} dimensions instead")
    require_square(A, "triangular_solve", kernel="triangular_solve_cpu", integers_too=True)
    require_type_of_matrix(input, A)
    require_rows_of_matrix(input, A, "triangular_solve")
    matrix = A.transpose(-2, -1) if transpose else A
    X = record_pair(SOLVE_TRIANGULAR, matrix, input, (upper is not transpose, unitriangular))
    return return_types.TYPES["triangular_solve"](X, A.mT.clone(memory_format=layouts.contiguous_format).mT)


# --- least squares ------------------------------------------------------------------------------------------

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _lstsq_geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    a, b = operands
    batch, k = a.shape[:-2], b.shape[-1]
    low = min(a.shape[-2:])
    return (
        by_columns((*batch, a.shape[-1], k), a.dtype, a.device),
        contiguous(batch, dtypes.int64, a.device),
        contiguous((*batch, low), a.dtype.to_real(), a.device),
    )


@operator("linalg_lstsq", _lstsq_geometry, non_differentiable_outputs=(1, 2))
def LSTSQ(m: Any, A: Any, B: Any, rcond: float | None, driver: str) -> Any:
    batch, k, n = A.shape[:-2], B.shape[-1], A.shape[-1]
    if driver in ("gels", "gelsy") and lapack.has("gelsy", A):
        return factorizations.least_squares(A, B, rcond)
    a, b = A.reshape(prod(batch), *A.shape[-2:]), B.reshape(prod(batch), *B.shape[-2:])
    real = A.real.dtype
    X, ranks = np.zeros((len(a), n, k), A.dtype), np.zeros(len(a), np.int64)
    values = np.zeros((len(a), min(A.shape[-2:])), real)
    if rcond is None:  # NumPy would take float64's precision, in which it computes
        rcond = float(np.finfo(real).eps) * max(A.shape[-2:])
    for i in range(len(a)):
        X[i], _, ranks[i], values[i] = np.linalg.lstsq(a[i], b[i], rcond)
    return X.reshape(*batch, n, k), ranks.reshape(batch), values.reshape(*batch, values.shape[1])


@LSTSQ.derivative("A", "B", keeps="A B", holds="output")
def _(ctx: Any, grads: Any, A: Tensor, B: Tensor) -> Any:
    """Through the pseudoinverse: X = A^+ B."""
    if grads[0] is None:
        return None, None
    P = record(PINV, (A,), (None, None, False))
    to_b = adjoint(P) @ grads[0]
    to_a = pinv_gradient(A, P, grads[0] @ adjoint(B)) if ctx.needs[0] else None
    return to_a, to_b


def _of_full_rank(ranks: Tensor, columns: int) -> bool:
    """Whether every matrix is: others have no residuals."""
    return bool((look(ranks, "linalg_lstsq") == columns).all())


@api("linalg", out=True)
def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The least-squares solution of A X = B: (..., M, N) and (..., M, K) give (..., N, K).

    >>> import flambeau as torch
    >>> torch.linalg.lstsq(torch.tensor([[1.], [1.]]), torch.tensor([[1.], [3.]])).solution.round(decimals=4)
    tensor([[2.]])
    """
    name = "torch.linalg.lstsq"
    require_matrix(input, "linalg.lstsq", "input")
    if b.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension")
    if not 0 <= input.ndim - b.ndim <= 1:
        raise RuntimeError(f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - "
                           "other.dim()) <= 1")
    if driver is not None and driver not in _DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if input.dtype is not b.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype "
            f"{dtypes.SCALAR_NAMES[input.dtype]} and other's dtype {dtypes.SCALAR_NAMES[b.dtype]}"
        )
    vector = _is_vector(input, b) and b.ndim == input.ndim - 1
    B = b.unsqueeze(-1) if vector else b
    if input.shape[-2] != B.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size(-{1 if vector else 2})")
    batch = np.broadcast_shapes(input.shape[:-2], B.shape[:-2])
    A = input.expand(*batch, *input.shape[-2:])
    B = B.expand(*batch, *B.shape[-2:])
    chosen = driver or "gelsy"
    X, rank, values = record(LSTSQ, (A, B), (rcond, chosen))
    over = input.shape[-2] > input.shape[-1] and chosen != "gelsy" \
        and (chosen == "gels" or _of_full_rank(rank, input.shape[-1]))
    none = input.new_zeros(0, dtype=input.dtype.to_real())
    residuals = (
        real_part((A @ X - B).abs().square()).sum(-2) if over else real_part(X).reshape(-1).narrow(0, 0, 0)
    )
    return return_types.TYPES["linalg_lstsq"](
        X.squeeze(-1) if vector else X,
        residuals,
        rank if chosen != "gels" else rank.new_zeros(0),
        values if chosen in ("gelsd", "gelss") else none,
    )


# --- tensors as matrices ------------------------------------------------------------------------------------


@api("linalg", out=True, judge="first")
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of a tensor as a linear map from its last dimensions to its first ``ind``.

    >>> import flambeau as torch
    >>> torch.linalg.tensorinv(2 * torch.eye(6).reshape(2, 3, 6), ind=2).shape
    torch.Size([6, 2, 3])
    """
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, last = A.shape[:ind], A.shape[ind:]
    if prod(first) != prod(last):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but "
            f"got {prod(last)} != {prod(first)}"
        )
    return inv(A.reshape(prod(first), prod(last))).reshape(*last, *first)


@api("linalg", out=True)
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """X with tensordot(A, X) = B.

    >>> import flambeau as torch
    >>> torch.linalg.tensorsolve(2 * torch.eye(6).reshape(2, 3, 6), torch.ones(2, 3))
    tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000])
    """
    if dims is not None:
        moved = [d % A.ndim for d in dims]
        A = A.permute([d for d in range(A.ndim) if d not in moved] + moved)
    rest = A.shape[B.ndim :]
    if prod(rest) != prod(A.shape[: B.ndim]) or prod(rest) != B.numel():
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {prod(rest)} != {prod(A.shape[: B.ndim])}"
        )
    return solve(A.reshape(-1, prod(rest)), B.reshape(-1)).reshape(rest)
