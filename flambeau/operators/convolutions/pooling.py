"""Pooling: maxima over windows, with indices, and what all pooling shares.

Note: pooling indices. Maxima come with the position of each in the flattened space, as in PyTorch. The
gradient scatters by these indices, and the gradient of scattering gathers by them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...graph.recent import Recent
from ...tensor import Tensor, record, record_one, record_pair, state
from ..calls.arguments import known, remember
from ..creation.memory_formats import pooled_geometry
from ..declaration.definition import operator
from ..declaration.registry import api, called
from .pooling_checks import (
    check_maximum,
    check_output,
    stride_option,
    window_option,
)

Ints = tuple[int, ...]


def pooled_extents(space: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
                   ceil_mode: bool) -> Ints:
    """Extents of the result; with ``ceil_mode`` a last window may hang over, if it starts inside."""
    extents = []
    for n, k, s, p, d in zip(space, kernel, stride, padding, dilation):
        room = n + 2 * p - d * (k - 1) - 1
        count = -(-room // s) + 1 if ceil_mode else room // s + 1
        if ceil_mode and (count - 1) * s >= n + p:
            count -= 1
        extents.append(count)
    return tuple(extents)


# --- maxima -------------------------------------------------------------------------------------------------

def _max_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    x, extents = operands[0], attributes[4]
    shape = (*x.shape[:x.ndim - len(extents)], *extents)
    dims = len(extents)
    return pooled_geometry(shape, dims, x), pooled_geometry(shape, dims, x, dtypes.int64)


@operator("max_pool", _max_geometry, grad_name="MaxPool2DWithIndicesBackward0")
def MAX_POOL(m: Any, input: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
             extents: Ints) -> Any:
    """Maxima over windows and their positions in the flattened space (..., *space)."""
    return _maxima(input, kernel, stride, padding, dilation, extents)


@operator("max_pool_values", lambda operands, attributes: _max_geometry(operands, attributes)[0],
          grad_name="MaxPool2DWithIndicesBackward0")
def MAX_POOL_VALUES(m: Any, input: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
                    extents: Ints) -> Any:
    """The maxima alone: positions take more memory than they."""
    return _maxima(input, kernel, stride, padding, dilation, extents)[0]


def _maxima(input: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
            extents: Ints) -> tuple[Any, Any]:
    dims = len(kernel)
    space = input.shape[-dims:]
    lead = input.shape[:-dims]
    padded = padded_for_windows(input, space, kernel, stride, padding, dilation, extents)
    best: Any = None
    index: Any = None
    for offsets in np.ndindex(*kernel):
        where = tuple(slice(o * d, o * d + s * (n - 1) + 1, s)
                      for o, d, s, n in zip(offsets, dilation, stride, extents))
        values = padded[(..., *where)]
        position = _positions(offsets, stride, padding, dilation, extents, space)
        if best is None:
            best = values.copy()
            index = np.broadcast_to(position, (*lead, *extents)).copy()
            inside = _inside(offsets, stride, padding, dilation, extents, space)
            valid = np.broadcast_to(inside, index.shape).copy()
            continue
        inside = _inside(offsets, stride, padding, dilation, extents, space)
        better = ((values > best) | (values != values) | ~valid) & inside
        np.copyto(best, values, where=better)
        np.copyto(index, position, where=better)
        valid |= inside
    return best, index


def padded_for_windows(x: Any, space: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
                        extents: Ints) -> Any:
    """x with a border (its content does not matter) into which all windows fit."""
    need = [s * (n - 1) + d * (k - 1) + 1 for s, n, d, k in zip(stride, extents, dilation, kernel)]
    if not any(padding) and all(a <= b for a, b in zip(need, space)):
        return x
    sizes = [max(a, b + 2 * p) for a, b, p in zip(need, space, padding)]
    padded: Any = np.zeros((*x.shape[:x.ndim - len(space)], *sizes), x.dtype)
    padded[(..., *(slice(p, p + n) for p, n in zip(padding, space)))] = x
    return padded


def _axis_coordinates(offsets: Ints, stride: Ints, padding: Ints, dilation: Ints, extents: Ints) -> list[Any]:
    return [np.arange(n) * s + o * d - p
            for n, s, o, d, p in zip(extents, stride, offsets, dilation, padding)]


def _positions(offsets: Ints, stride: Ints, padding: Ints, dilation: Ints, extents: Ints, space: Ints) -> Any:
    total: Any = 0
    for c, n in zip(np.ix_(*_axis_coordinates(offsets, stride, padding, dilation, extents)), space):
        total = total * n + c
    return total


def _inside(offsets: Ints, stride: Ints, padding: Ints, dilation: Ints, extents: Ints, space: Ints) -> Any:
    result: Any = True
    for c, n in zip(np.ix_(*_axis_coordinates(offsets, stride, padding, dilation, extents)), space):
        result = result & (c >= 0) & (c < n)
    return result


def _scatter_geometry(operands: Any, attributes: Any) -> Geometry:
    (grad, indices), (space, dims) = operands, attributes
    return pooled_geometry((*grad.shape[:grad.ndim - dims], *space), dims, indices, grad.dtype)


@operator("pool_scatter", _scatter_geometry, compute=None, grad_name="MaxPool2DWithIndicesBackwardBackward0")
def POOL_SCATTER(m: Any, grad: Any, indices: Any, space: Ints, dims: int) -> Any:
    """Sum of values (..., *extents) at their positions in a flattened (..., *space)."""
    lead = grad.shape[:grad.ndim - dims]
    size, rows = int(np.prod(space)), int(np.prod(lead))
    if not rows:
        return np.zeros((*lead, *space), grad.dtype)
    flat = (indices.reshape(rows, -1) + (np.arange(rows) * size)[:, None]).reshape(-1)
    wide = grad.reshape(-1).astype(np.float64, copy=False)
    return np.bincount(flat, wide, rows * size).reshape(*lead, *space)


def _gathered_geometry(operands: Any, attributes: Any) -> Geometry:
    values, positions = operands
    return contiguous(positions.shape, values.dtype, values.device)


@operator("pool_gather", _gathered_geometry)
def POOL_GATHER(m: Any, input: Any, indices: Any, dims: int) -> Any:
    """Values of (..., *space) at flattened positions (..., *extents)."""
    lead = input.shape[:input.ndim - dims]
    rows = int(np.prod(lead))
    return np.take_along_axis(input.reshape(rows, -1), indices.reshape(rows, -1), 1).reshape(indices.shape)


@MAX_POOL.derivative("input", keeps="output1", formal="input")
def gradient_of_maxima(ctx: Any, grads: Any, indices: Tensor) -> Any:
    """Gradients at the elements that were the largest of their windows."""
    dims = len(ctx.attributes[0])
    if grads[0] is None:
        return None
    return record(POOL_SCATTER, (grads[0], indices), (tuple(ctx.operand_geometry(0).shape[-dims:]), dims))


@MAX_POOL_VALUES.derivative("input", keeps="input", formal="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    _, indices = record(MAX_POOL, (input.detach(),), ctx.attributes)
    dims = len(ctx.attributes[0])
    return record_pair(POOL_SCATTER, grad, indices, (tuple(input.shape[-dims:]), dims))


@POOL_SCATTER.derivative("grad", keeps="indices")
def _(ctx: Any, grad: Tensor, indices: Tensor) -> Tensor:
    return record_pair(POOL_GATHER, grad, indices, (ctx.attributes[1],))


@POOL_GATHER.derivative("input", keeps="indices")
def _(ctx: Any, grad: Tensor, indices: Tensor) -> Tensor:
    dims = ctx.attributes[0]
    return record_pair(POOL_SCATTER, grad, indices, (tuple(ctx.operand_geometry(0).shape[-dims:]), dims))


def _max_pool(x: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
              dims: int, with_indices: bool) -> tuple[Tensor, Tensor | None]:
    kinds = (kernel_size.__class__, stride.__class__, padding.__class__, dilation.__class__,
             ceil_mode.__class__)   # True is no 1
    key = (x._geometry, dims, kernel_size, stride, padding, dilation, ceil_mode, with_indices, kinds,
           dims == 1 and x.requires_grad)
    attributes = known(_fitting, key)
    if attributes is None:
        attributes = remember(
            _fitting, key, _maximum(x, kernel_size, stride, padding, dilation, ceil_mode, dims, with_indices))
    if not with_indices and not (x.requires_grad and state.enabled):
        return record_one(MAX_POOL_VALUES, x, attributes), None
    result: tuple[Tensor, Tensor] = record(MAX_POOL, (x,), attributes)
    return result


# The attributes for operands and options that were found to fit together, of maxima.
_fitting: Recent[Any, tuple[Any, ...]] = Recent(1 << 12)


def _maximum(x: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
             dims: int, with_indices: bool) -> tuple[Any, ...]:
    """The attributes of MAX_POOL, checked."""
    name = f"max_pool{dims}d"
    kernel = window_option(kernel_size, dims, "kernel_size", name)
    steps = stride_option(stride, kernel, name)
    around = window_option(padding, dims, "padding", name)
    gaps = window_option(dilation, dims, "dilation", name)
    check_maximum(x, kernel, steps, around, gaps, ceil_mode, with_indices)
    space = tuple(x.shape[-dims:])
    extents = pooled_extents(space, kernel, steps, around, gaps, ceil_mode)
    check_output(x, space, extents)
    return kernel, steps, around, gaps, extents


def _publish_max_pool(dims: int) -> None:
    name = f"max_pool{dims}d"

    def with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                     ceil_mode: bool = False, return_indices: bool = False) -> tuple[Tensor, Tensor | None]:
        """Maxima over windows, and their positions in the flattened space."""
        return _max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, dims, True)

    @called(f"_max_pool{dims}d")
    def plain(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
              ceil_mode: bool = False, return_indices: bool = False) -> Any:
        """Maxima over windows.

        >>> import flambeau as torch
        >>> torch.nn.functional.max_pool2d(torch.arange(16.).reshape(1, 1, 4, 4), 2)
        tensor([[[[ 5.,  7.],
                  [13., 15.]]]])
        """
        pair = _max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, dims, return_indices)
        return pair if return_indices else pair[0]

    plain.__name__ = name
    with_indices.__name__ = name + "_with_indices"
    api("torch", "nn.functional")(plain)
    api("nn.functional")(with_indices)
    if dims == 1:
        api("torch")(with_indices)


for _dims in (1, 2, 3):
    _publish_max_pool(_dims)
