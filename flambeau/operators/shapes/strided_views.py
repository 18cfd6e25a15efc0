"""Views whose elements may overlap: unfold and as_strided."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...devices import META
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, check_dim, record, view, view_operator
from ...tensor.aliasing.turned import untie
from ...tensor.aliasing.views import makes_any
from ...tensor.batching import BatchedTensor
from ..declaration.definition import operator
from ..declaration.registry import api


def _unfold_rule(g: Geometry, dim: int, size: int, step: int) -> Geometry:
    d = check_dim(dim, g.ndim)
    extent, stride = (g.shape[d], g.strides[d]) if g.ndim else (1, 1)
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > extent:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {extent} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    shape, strides = list(g.shape), list(g.strides)
    if g.ndim:
        shape[d], strides[d] = (extent - size) // step + 1, stride * step
    return g.with_view([*shape, size], [*strides, stride], g.offset)


UNFOLD = view_operator("unfold", _unfold_rule)


@api("Tensor", judge="first")
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of ``size`` elements, ``step`` apart, along a dimension; the windows are the last dimension.

    >>> import flambeau as torch
    >>> torch.arange(5).unfold(0, 3, 2)
    tensor([[0, 1, 2],
            [2, 3, 4]])
    """
    return view(UNFOLD, self, (dimension, size, step))


def _unfold_backward_kernel(m: Any, grad: Any, shape: tuple[int, ...], dim: int, size: int, step: int) -> Any:
    result = m.zeros(shape, grad.dtype)
    if not shape:
        return grad.sum().reshape(())
    along = m.moveaxis(result, dim, -1)
    windows = m.moveaxis(grad, dim, -2)
    count = windows.shape[-2]
    for offset in range(size):  # positions within a window do not overlap between windows
        along[..., offset:offset + (count - 1) * step + 1:step] += windows[..., offset]
    return result


UNFOLD_BACKWARD = operator("unfold_backward", lambda operands, attributes: contiguous(
    attributes[0], operands[0].dtype, operands[0].device))(_unfold_backward_kernel)


@UNFOLD.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    g = ctx.operand_geometry(0)
    dim, size, step = ctx.attributes
    return record(UNFOLD_BACKWARD, (grad,), (g.shape, check_dim(dim, g.ndim), size, step))


@UNFOLD_BACKWARD.derivative("grad")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return view(UNFOLD, grad, ctx.attributes[1:])


# --- as_strided ---------------------------------------------------------------------------------------------


def _as_strided_rule(
    g: Geometry, size: tuple[int, ...], stride: tuple[int, ...], offset: int | None
) -> Geometry:
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError("as_strided: Negative strides are not supported at the moment, got strides: "
                           f"{list(stride)}")
    if any(n < 0 for n in size):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and "
                           f"strides={list(stride)}")
    if offset is not None and offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    return g.with_view(size, stride, g.offset if offset is None else offset)


AS_STRIDED = makes_any(view_operator("as_strided", _as_strided_rule))


@api("torch", "Tensor", judge="first")
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """The view of the storage with any shape, strides and offset.

    >>> import flambeau as torch
    >>> torch.arange(9).as_strided((2, 2), (3, 1), 4)
    tensor([[4, 5],
            [7, 8]])
    """
    size, stride = tuple(size), tuple(stride)
    g = _as_strided_rule(input._geometry, size, stride, storage_offset)
    if input.__class__ is BatchedTensor:
        return view(AS_STRIDED, input, (size, stride, storage_offset))
    held = input._storage.geometry
    itemsize = g.dtype.itemsize
    if g.device is not META and g.numel and g.extent * itemsize > held.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {g.offset}, and "
            f"itemsize {itemsize} requiring a storage size of {g.extent * itemsize} are out of bounds for "
            f"storage of size {held.nbytes}")
    untie(input._storage)
    return view(AS_STRIDED, input, (size, stride, storage_offset))


def places(g: Geometry) -> np.ndarray[Any, Any]:
    """Position in the storage of each element."""
    where = np.full(g.shape, g.offset, np.int64)
    for d in range(g.ndim):
        where += (np.arange(g.shape[d]) * g.strides[d]).reshape([-1 if k == d else 1 for k in range(g.ndim)])
    return where


def _as_strided_backward_kernel(m: Any, grad: Any, whole: Geometry, part: Geometry) -> Any:
    # The gradient of the storage; each element of the input takes an equal share of the place that it reads.
    storage = m.zeros(max(whole.extent, part.extent, 1), grad.dtype)
    m.add.at(storage, places(part).reshape(-1), grad.reshape(-1))
    where = places(whole)
    result = storage[where]
    if not whole.is_dense:
        count = m.zeros(storage.size, np.int64)
        m.add.at(count, where.reshape(-1), 1)
        result = result / count[where]
    return result


AS_STRIDED_BACKWARD = operator("as_strided_backward", lambda operands, attributes: contiguous(
    attributes[0].shape, operands[0].dtype, operands[0].device))(_as_strided_backward_kernel)


@AS_STRIDED.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    g = ctx.operand_geometry(0)
    return record(AS_STRIDED_BACKWARD, (grad,), (g, _as_strided_rule(g, *ctx.attributes)))


@AS_STRIDED_BACKWARD.derivative("grad")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return record(AS_STRIDED_BACKWARD, (grad,), ctx.attributes[::-1])


@api("torch", "Tensor")
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """``input`` with the elements that an ``as_strided`` view shows replaced by ``src``.

    >>> import flambeau as torch
    >>> torch.as_strided_scatter(torch.zeros(2, 2), torch.ones(2), (2,), (3,))
    tensor([[1., 0.],
            [0., 1.]])
    """
    result = input.clone()
    if not input._geometry.is_contiguous:
        result = result.as_strided(input.shape, input.stride(), 0)
    part = result.as_strided(size, stride, storage_offset)
    if part.shape != src.shape:
        raise RuntimeError("expected src to have a size equal to the slice of self. src size = "
                           f"{list(src.shape)}, slice "
                           f"size = {list(part.shape)}")
    part.copy_(src)
    return result


@api("torch", "Tensor", judge="first")
def slice_inverse(self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1) -> Tensor:
    """The tensor ``src`` that a slice was taken of, as a view of the slice's storage.

    >>> import flambeau as torch
    >>> whole = torch.arange(4)
    >>> whole[1:2].slice_inverse(whole, 0, 1, 2)
    tensor([0, 1, 2, 3])
    """
    return as_strided(self, src.shape, src.stride(), src.storage_offset())
