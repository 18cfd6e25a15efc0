"""Reductions: sum, mean and their kin over some or all dimensions."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..graph.geometry import Geometry, contiguous
from ..tensor import Tensor, check_dim, record
from .definition import arithmetic_dtype, operator
from .registry import api


def normalize_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """Dimensions to reduce, sorted and counted from 0; all of them for None and ()."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    dims = [dim] if isinstance(dim, int) else list(dim)
    found = [check_dim(d, ndim) for d in dims]
    if len(set(found)) != len(found):
        repeated = next(d for d in found if found.count(d) > 1)
        raise RuntimeError(f"dim {repeated} appears multiple times in the list of dims")
    return tuple(sorted(found)) if ndim else ()


def reduced_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    """The shape after reducing ``dims``."""
    if keepdim:
        return tuple([1 if d in dims else n for d, n in enumerate(shape)])
    return tuple([n for d, n in enumerate(shape) if d not in dims])


def _sum_geometry(operands: Any, attributes: Any) -> Geometry:
    g = operands[0]
    dims, keepdim, dtype = attributes
    return contiguous(reduced_shape(g.shape, dims, keepdim), dtype, g.device)


def _sum_kernel(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    return m.sum(input, axis=dims, keepdims=keepdim, dtype=arithmetic_dtype(dtype).numpy)


SUM = operator("sum", _sum_geometry)(_sum_kernel)


@SUM.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    dims, keepdim, _ = ctx.attributes
    return spread(grad, dims, keepdim, ctx.operand_geometry(0).shape)


def spread(grad: Tensor, dims: tuple[int, ...], keepdim: bool, shape: Any) -> Tensor:
    """A reduction's gradient, repeated along the reduced dimensions."""
    if not keepdim and len(shape):
        grad = grad.reshape(reduced_shape(shape, dims, True))
    return grad.expand(shape)


@api("torch", "Tensor", out=True)
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over ``dim`` (all dimensions by default); integers are summed as int64.

    >>> import flambeau as torch
    >>> torch.sum(torch.ones(2, 3), 1)
    tensor([3., 3.])
    """
    g = input._geometry
    found = dtype or (dtypes.int64 if g.dtype.category < dtypes.FLOATING else g.dtype)
    if dtype is not None and dtype is not g.dtype and dtype.category >= g.dtype.category:
        input = input.to(dtype)
    return record(SUM, (input,), (normalize_dims(dim, g.ndim), keepdim, found))


@api("Tensor")
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sum over the dimensions along which ``size`` was broadcast to this shape."""
    from .shape import sizes_of
    shape = sizes_of(size)
    g = input._geometry
    if g.shape == shape:
        return input
    lead = g.ndim - len(shape)
    if lead < 0 or any(n != 1 and n != g.shape[lead + d] for d, n in enumerate(shape)):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(g.shape)}}}.")
    dims = tuple(range(lead)) + tuple(lead + d for d, n in enumerate(shape) if n == 1 and g.shape[lead + d] != 1)
    summed: Tensor = record(SUM, (input,), (dims, True, g.dtype))
    return summed.reshape(shape)
