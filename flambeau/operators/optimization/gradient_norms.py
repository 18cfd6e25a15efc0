"""The norm of many gradients together, and their scaling by it: one operator each.

What suits them is the usual case, gradients of one floating type, each the whole of its storage. For anything
else ``nn.utils`` has a way from tensor to tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dtypes import float32, float64
from ...graph.geometry import Geometry, contiguous, dense_like
from ...graph.operator import Operator
from ...tensor import Tensor
from ...tensor.aliasing.inplace_many import record_in_place, record_many
from ..linalg.norms import norm_kernel

_EPSILON = 1e-6


def _total_kernel(m: Any, arrays: list[Any], p: float, dtype: Any) -> Any:
    """The norm of the arrays' norms."""
    norms = [norm_kernel(m, x, p, tuple(range(x.ndim)), False, dtype) for x in arrays]
    return norm_kernel(m, m.stack(norms), p, (0,), False, dtype)


def _total_geometry(geometries: Sequence[Geometry], attributes: tuple[Any, ...]) -> Geometry:
    return contiguous((), geometries[0].dtype, geometries[0].device)


def _clip_kernel(m: Any, operands: list[Any]) -> list[Any]:
    """Each gradient times min(1, max_norm / (total + 1e-6)); operands: gradients, total, max_norm."""
    *gradients, total, max_norm = operands
    factor = total.dtype.type(1) / (total + _EPSILON) * max_norm
    factor = m.minimum(factor, 1.0)
    return [x * factor for x in gradients]


def _clip_geometries(geometries: Sequence[Any], attributes: tuple[Any, ...]) -> tuple[Geometry, ...]:
    return tuple([dense_like(g.shape, g, g.dtype) for g in geometries[:-2]])


def _limit_kernel(m: Any, operands: list[Any]) -> list[Any]:
    """Each gradient's values limited to [-limit, limit]; operands: gradients, limit."""
    *gradients, limit = operands
    return [m.minimum(m.maximum(x, -limit), limit) for x in gradients]


def _limit_geometries(geometries: Sequence[Any], attributes: tuple[Any, ...]) -> tuple[Geometry, ...]:
    return tuple([dense_like(g.shape, g, g.dtype) for g in geometries[:-1]])


TOTAL_NORM = Operator("total_norm", _total_kernel, _total_geometry, (), kind="variadic")
CLIP_GRADIENTS = Operator("clip_gradients", _clip_kernel, _clip_geometries, (), kind="variadic")
LIMIT_GRADIENTS = Operator("limit_gradients", _limit_kernel, _limit_geometries, (), kind="variadic")


def suit(gradients: Sequence[Tensor]) -> bool:
    """Whether the operators here are made for these gradients."""
    if not gradients:
        return False
    first = gradients[0]._geometry
    if first.dtype not in (float32, float64):
        return False
    for g in {x._geometry for x in gradients}:
        if g.dtype is not first.dtype or g.device is not first.device or not g.numel or not g.is_dense:
            return False
    return True


def total_norm(gradients: Sequence[Tensor], p: float) -> Tensor:
    """The p-norm of all values of suitable tensors together."""
    return record_many(TOTAL_NORM, (p, gradients[0]._geometry.dtype), gradients)


def clip_gradients(gradients: Sequence[Tensor], total: Tensor, max_norm: float) -> bool:
    """Scale suitable gradients in place so that their norm, ``total``, is at most ``max_norm``.

    False, and nothing is done, where gradients share memory or the norm is of another kind.
    """
    g, first = total._geometry, gradients[0]._geometry
    if not _apart(gradients) or g.ndim or g.dtype is not first.dtype or g.device is not first.device:
        return False
    record_in_place(CLIP_GRADIENTS, (), gradients, (total,), (max_norm,))
    return True


def limit_gradients(gradients: Sequence[Tensor], limit: float) -> bool:
    """Limit suitable gradients' values in place; false, and nothing is done, where they share memory."""
    if not _apart(gradients):
        return False
    record_in_place(LIMIT_GRADIENTS, (), gradients, (), (limit,))
    return True


def _apart(gradients: Sequence[Tensor]) -> bool:
    return len({id(x._storage) for x in gradients}) == len(gradients)
