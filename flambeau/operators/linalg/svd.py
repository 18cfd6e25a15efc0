"""Singular values: svd, svdvals, pinv, matrix_rank, cond."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import return_types
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record
from ...tensor.batching import by_example
from ...type_info import finfo
from ..calls.out import EXACT
from ..declaration import prices
from ..declaration.definition import operator
from ..declaration.registry import api
from ..interop.looking import look
from .support import (
    LinAlgError,
    accumulate,
    adjoint,
    by_columns,
    identity,
    require_matrix,
    require_square,
    will_differentiate,
)


def _svd_geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    g = operands[0]
    full = attributes[0]
    (n, k), batch = g.shape[-2:], g.shape[:-2]
    low = min(n, k)
    return (
        by_columns((*batch, n, n if full else low), g.dtype, g.device),
        contiguous((*batch, low), g.dtype.to_real(), g.device),
        by_columns((*batch, k if full else low, k), g.dtype, g.device),
    )


@operator("linalg_svd", _svd_geometry)
def SVD(m: Any, A: Any, full_matrices: bool) -> Any:
    return tuple(m.linalg.svd(A, full_matrices=full_matrices))


@SVD.derivative("A", keeps="output output1 output2")
def _(ctx: Any, grads: Any, U: Tensor, S: Tensor, Vh: Tensor) -> Any:
    """U [(skew(U^H gU) / E) S + S (skew(V^H gV) / E) + gS] V^H and what lies outside of the spaces
    (Townsend, 2016)."""
    to_u, to_s, to_vh = grads
    low = S.shape[-1]
    if ctx.attributes[0]:
        U, Vh = U[..., :, :low], Vh[..., :low, :]
        to_u = None if to_u is None else to_u[..., :, :low]
        to_vh = None if to_vh is None else to_vh[..., :low, :]
    if to_u is None and to_vh is None:
        return None if to_s is None else (U * to_s.unsqueeze(-2).to(U.dtype)) @ Vh
    gaps = S.unsqueeze(-2) ** 2 - S.unsqueeze(-1) ** 2
    gaps = gaps + identity(low, S)
    left = None if to_u is None else adjoint(U) @ to_u
    right = None if to_vh is None else adjoint(Vh @ adjoint(to_vh))
    right = None if right is None else adjoint(right)
    inner = accumulate(
        [
            None if left is None else (left - adjoint(left)) / gaps * S.unsqueeze(-2),
            None if right is None else S.unsqueeze(-1) * ((right - adjoint(right)) / gaps),
            None if to_s is None else to_s.to(U.dtype).diag_embed(),
        ]
    )
    if U.is_complex() and left is not None:  # the phase that U and V share
        inner = inner + ((left - adjoint(left)).diagonal(dim1=-2, dim2=-1) / (2 * S)).diag_embed()
    result = U @ inner @ Vh
    if to_u is not None and U.shape[-2] > low:
        scaled = to_u / S.unsqueeze(-2)
        result = result + (scaled - U @ (adjoint(U) @ scaled)) @ Vh
    if to_vh is not None and Vh.shape[-1] > low:
        scaled = to_vh / S.unsqueeze(-1)
        result = result + U @ (scaled - (scaled @ adjoint(Vh)) @ Vh)
    return result


def _values_geometry(operands: Any, attributes: Any) -> Geometry:
    g = operands[0]
    return contiguous((*g.shape[:-2], min(g.shape[-2:])), g.dtype.to_real(), g.device)


@operator("linalg_svdvals", _values_geometry)
def SVDVALS(m: Any, A: Any) -> Any:
    return m.linalg.svd(A, compute_uv=False)


@SVDVALS.derivative("A", keeps="A")
def _(ctx: Any, grad: Tensor, A: Tensor) -> Any:
    """The vectors are computed only now."""
    U, _, Vh = record(SVD, (A,), (False,))
    return (U * grad.unsqueeze(-2).to(U.dtype)) @ Vh


def _checked_svd(A: Tensor, full_matrices: bool) -> Any:
    results = record(SVD, (A,), (full_matrices,))
    _converge(results[1], A)
    return results


def _converge(values: Tensor, A: Tensor) -> Tensor:
    """The singular values of A, once it is known that the iteration converged; a look."""
    try:
        look(values, "svd", only_checks=True)
    except np.linalg.LinAlgError:
        raise _no_convergence(look(A, "svd")) from None
    return values


def _no_convergence(A: Any) -> LinAlgError:
    spoiled = np.flatnonzero(~np.isfinite(A).all((-2, -1)))
    why = "contained non-finite values." if spoiled.size else \
        "is ill-conditioned or has too many repeated singular values (error code: 1)."
    where = f"(Batch element {spoiled[0]}): " if spoiled.size and A.ndim > 2 else ""
    return LinAlgError(f"linalg.svd: {where}The algorithm failed to converge because the input matrix {why}")


@api("linalg", out=EXACT, judge="first")
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """U, S and Vh with A = U diag(S) Vh, singular values in descending order.

    >>> import flambeau as torch
    >>> torch.linalg.svd(torch.tensor([[3., 0.], [0., 2.]])).S
    tensor([3., 2.])
    """
    require_matrix(A, "linalg.svd", kernel="linalg_svd_cpu")
    return return_types.TYPES["linalg_svd"](*_checked_svd(A, full_matrices))


@api("torch", "Tensor", out=EXACT, name="svd", judge="first")
def _svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S and V (not its conjugate transpose): see ``linalg.svd``.

    >>> import flambeau as torch
    >>> torch.svd(torch.tensor([[3., 0.], [0., 4.]])).S
    tensor([4., 3.])
    """
    require_matrix(input, "linalg.svd", kernel="linalg_svd_cpu")
    if not compute_uv:
        n, k = input.shape[-2:]
        batch = input.shape[:-2]
        return return_types.TYPES["svd"](
            input.new_zeros(*batch, n, n), svdvals(input), input.new_zeros(*batch, k, k)
        )
    U, S, Vh = _checked_svd(input, not some)
    return return_types.TYPES["svd"](U, S, adjoint(Vh))


@api("linalg", out=EXACT, judge="first")
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values in descending order: (..., N, M) gives (..., min(N, M)).

    >>> import flambeau as torch
    >>> torch.linalg.svdvals(torch.tensor([[3., 0.], [0., 2.]]))
    tensor([3., 2.])
    """
    require_matrix(A, "linalg.svd", kernel="linalg_svd_cpu")
    return _checked_svd(A, False)[1] if will_differentiate(A) else _converge(record(SVDVALS, (A,)), A)


# --- pseudoinverse ------------------------------------------------------------------------------------------


def _pinv_geometry(operands: Any, attributes: Any) -> Geometry:
    g = operands[0]
    return contiguous((*g.shape[:-2], g.shape[-1], g.shape[-2]), g.dtype, g.device)


@operator("linalg_pinv", _pinv_geometry, price=prices.pseudoinverses)
def PINV(m: Any, A: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if not A.size:
        return m.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype)
    if hermitian:
        values, vectors = m.linalg.eigh(A)
        u, size, vh = vectors, m.abs(values), m.conj(m.swapaxes(vectors, -1, -2))
    else:
        try:
            u, values, vh = m.linalg.svd(A, full_matrices=False)
        except np.linalg.LinAlgError:
            raise _no_convergence(A) from None
        size = values
    cut = _cutoff(m, size, A.shape, A.dtype, atol, rtol)
    factors = m.where(size > cut, 1 / m.where(size > cut, values, 1), 0).astype(values.dtype)
    return m.matmul(m.conj(m.swapaxes(vh, -1, -2)) * factors[..., None, :], m.conj(m.swapaxes(u, -1, -2)))


def _cutoff(m: Any, size: Any, shape: Any, numpy_type: Any, atol: Any, rtol: Any) -> Any:
    if rtol is None:
        rtol = m.finfo(numpy_type).eps * max(shape[-2:]) if not (atol is not None and atol > 0) else 0.0
    largest = m.max(size, axis=-1, keepdims=True) if size.shape[-1] else 0
    return m.maximum(atol or 0.0, rtol * largest)


@PINV.derivative("A", keeps="A output")
def _(ctx: Any, grad: Tensor, A: Tensor, P: Tensor) -> Tensor:
    return pinv_gradient(A, P, grad)


def pinv_gradient(A: Tensor, P: Tensor, grad: Tensor) -> Tensor:
    """Golub and Pereyra, 1973: -P^H G P^H + (I - A P) G^H P P^H + P^H P G^H (I - P A)."""
    ph, gh = adjoint(P), adjoint(grad)
    first = ph @ grad @ ph
    second = gh @ P @ ph
    third = ph @ P @ gh
    return -first + (second - A @ (P @ second)) + (third - (third @ P) @ A)


def _tolerance(value: Any) -> Any:
    return float(value) if isinstance(value, Tensor) and value.ndim == 0 else value


@api("linalg", out=True, judge="first")
@by_example
def pinv(
    A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The Moore-Penrose pseudoinverse: (..., N, M) gives (..., M, N).

    >>> import flambeau as torch
    >>> torch.linalg.pinv(torch.tensor([[2., 0.]]))
    tensor([[0.5000],
            [0.0000]])
    """
    require_matrix(A, "linalg.pinv")
    if hermitian:
        require_square(A, "linalg.pinv")
    atol, rtol = _tolerance(atol), _tolerance(rtol if rcond is None else rcond)
    if isinstance(atol, Tensor) or isinstance(rtol, Tensor):
        return _pinv_by_matrix(A, atol, rtol, hermitian)
    return record(PINV, (A,), (atol, rtol, hermitian))


def _pinv_by_matrix(A: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    """With a tolerance for each matrix of the batch."""
    if not A.numel():
        return adjoint(A).clone()
    if hermitian:   # the lower triangle alone is read
        A = A.tril() + adjoint(A.tril(-1))
    U, S, Vh = svd(A, full_matrices=False)
    factors = S.reciprocal().masked_fill(S <= tensor_cutoff(A, S, atol, rtol), 0)
    return (adjoint(Vh) * factors.unsqueeze(-2)) @ adjoint(U)


def tensor_cutoff(A: Tensor, S: Tensor, atol: Any, rtol: Any) -> Tensor:
    """Up to which singular values S (..., K) of A (..., M, N) count as zero: (..., 1)."""
    largest = S.amax(-1, True) if S.shape[-1] else S.new_zeros((*S.shape[:-1], 1))
    if rtol is None:
        default = finfo(A.dtype.to_real()).eps * max(A.shape[-2:])
        rtol = S.new_full((), default) if atol is None else (atol <= 0).to(S.dtype) * default
    relative = (rtol.unsqueeze(-1) if isinstance(rtol, Tensor) and rtol.ndim else rtol) * largest
    if atol is None:
        return relative
    absolute = atol.unsqueeze(-1) if isinstance(atol, Tensor) and atol.ndim else atol
    return relative.maximum(absolute) if isinstance(absolute, Tensor) else relative.clamp(min=absolute)


@api("torch", "Tensor", judge="first")
def pinverse(input: Tensor, rcond: Any = 1e-15) -> Tensor:
    """See ``linalg.pinv``.

    >>> import flambeau as torch
    >>> torch.pinverse(torch.tensor([[2., 0.], [0., 4.]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return pinv(input, rcond)
