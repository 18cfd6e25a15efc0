"""Determinants: det, slogdet, logdet."""

from __future__ import annotations

from typing import Any

from ... import return_types
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record, record_one
from ..calls.out import EXACT
from ..declaration import prices
from ..declaration.definition import operator
from ..declaration.registry import api
from ..reductions.cumulative import products_of_others
from .solve import INV
from .support import adjoint, conj, failure, require_square
from .svd import SVD


def _det_geometry(operands: Any, attributes: Any) -> Geometry:
    g = operands[0]
    return contiguous(g.shape[:-2], g.dtype, g.device)


@operator("linalg_det", _det_geometry, price=prices.matrices)
def DET(m: Any, A: Any) -> Any:
    found = m.linalg.det(A)
    return found if m.all(found) else _unless_spoiled(m, A, found)


def _unless_spoiled(m: Any, A: Any, found: Any) -> Any:
    """Determinants some of which are zero: NaN where the matrix has any, beside which LAPACK sees zeros."""
    return m.where(m.isnan(A).any((-2, -1)), m.nan, found).astype(found.dtype)


@DET.derivative("A", keeps="A output")
def _(ctx: Any, grad: Tensor, A: Tensor, det: Tensor) -> Any:
    """det A^-H; for singular matrices the cofactors, from the singular values."""
    if not A.numel():
        return A.new_zeros(A.shape)
    inverse, info = record(INV, (A,))
    if failure(info, "det") is None:
        return (grad * conj(det))[..., None, None] * adjoint(inverse)
    U, S, Vh = record(SVD, (A,), (False,))
    phase = record_one(DET, U) * record_one(DET, Vh)
    others = products_of_others(S, -1) if A.shape[-1] > 1 else S.new_ones(S.shape)
    return (grad * conj(phase))[..., None, None] * (U * others.unsqueeze(-2).to(U.dtype)) @ Vh


def _slogdet_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    sign = _det_geometry(operands, attributes)
    return sign, contiguous(sign.shape, sign.dtype.to_real(), sign.device)


@operator("linalg_slogdet", _slogdet_geometry, price=prices.matrices)
def SLOGDET(m: Any, A: Any) -> Any:
    sign, log = m.linalg.slogdet(A)
    if m.all(sign):
        return sign, log
    return sign, _unless_spoiled(m, A, log)


@SLOGDET.derivative("A", keeps="A output")
def _(ctx: Any, grads: Any, A: Tensor, sign: Tensor) -> Any:
    to_sign, to_log = grads
    scale = to_log
    if A.is_complex() and to_sign is not None:
        turned = (conj(to_sign) * sign).imag * -1j
        scale = turned if to_log is None else turned + to_log
    if scale is None:
        return None
    return scale[..., None, None] * adjoint(record(INV, (A,))[0])


@api("linalg", out=EXACT)
def det(A: Tensor) -> Tensor:
    """The determinants of square matrices: (..., N, N) gives (...).

    >>> import flambeau as torch
    >>> torch.linalg.det(torch.tensor([[2., 0.], [0., 3.]]))
    tensor(6.)
    """
    require_square(A, "linalg.det", kernel="lu_cpu")
    return record_one(DET, A)


@api("torch", "Tensor", name="det")
def _det(input: Tensor) -> Tensor:
    """See ``linalg.det``.

    >>> import flambeau as torch
    >>> torch.det(torch.tensor([[2., 0.], [0., 3.]]))
    tensor(6.)
    """
    return det(input)


@api("linalg", out=EXACT)
def slogdet(A: Tensor) -> Any:
    """Sign (or phase) and logarithm of the absolute value of determinants.

    >>> import flambeau as torch
    >>> torch.linalg.slogdet(torch.tensor([[-1., 0.], [0., 1.]]))
    torch.return_types.linalg_slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.))
    """
    require_square(A, "linalg.slogdet")
    return return_types.TYPES["linalg_slogdet"](*record(SLOGDET, (A,)))


@api("torch", "Tensor", out=EXACT, name="slogdet")
def _slogdet(input: Tensor) -> Any:
    """See ``linalg.slogdet``.

    >>> import flambeau as torch
    >>> torch.slogdet(torch.tensor([[2., 0.], [0., -4.]])).sign
    tensor(-1.)
    """
    return return_types.TYPES["slogdet"](*slogdet(input))


@api("torch", "Tensor")
def logdet(input: Tensor) -> Tensor:
    """The logarithm of determinants: NaN for negative ones, -inf for zero.

    >>> import flambeau as torch
    >>> torch.logdet(torch.tensor([[1., 0.], [0., 1.]]))
    tensor(0.)
    """
    require_square(input, "logdet")
    sign, logarithm = slogdet(input)
    if input.is_complex():
        return logarithm + sign.log()
    return logarithm.masked_fill(sign == -1, float("nan"))
