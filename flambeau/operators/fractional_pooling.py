"""Fractional max pooling: windows at random places, whose steps average to a fraction (Graham 2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..graph.geometry import contiguous
from ..tensor import Tensor, record
from .arguments import whole
from .definition import operator
from .domain import not_implemented
from .pooling import POOL_SCATTER, Ints
from .random import rand
from .registry import api, called

_AXES = ("time", "height", "width")


def _starts(sample: Any, space: int, kernel: int, count: int) -> Any:
    """First elements of the windows along a dimension, for samples (N, C): (N, C, count)."""
    starts = np.full((*sample.shape, count), space - kernel, np.int64)
    if count > 1:
        work = sample.astype(np.float32) if sample.itemsize < 4 else sample
        step = work.dtype.type(space - kernel) / work.dtype.type(count - 1)
        places = np.arange(count - 1, dtype=work.dtype)
        first = (work[..., None] * step).astype(np.int64)
        starts[..., :-1] = ((places + work[..., None]) * step).astype(np.int64) - first
    return starts


def _geometry(operands: Any, attributes: Any) -> Any:
    x, sizes = operands[0], attributes[1]
    shape = (*x.shape[: x.ndim - len(sizes)], *sizes)
    return contiguous(shape, x.dtype, x.device), contiguous(shape, dtypes.int64, x.device)


def _kernel(m: Any, input: Any, samples: Any, kernel: Ints, sizes: Ints) -> Any:
    """Maxima of windows of (..., C, *space) and their positions in the flattened space."""
    dims = len(kernel)
    space, lead = input.shape[-dims:], input.shape[:-dims]
    flat = input.reshape(*lead, int(np.prod(space)))
    count = int(np.prod(sizes))
    batch = samples[: lead[0]] if len(lead) == 2 else samples[0]
    # Samples are given for the last dimension first where there are two, else for the first one first.
    order = (1, 0) if dims == 2 else range(dims)
    starts = [_starts(batch[..., i], n, k, count) for i, n, k, count in zip(order, space, kernel, sizes)]
    best = np.full((*lead, *sizes), -np.inf, input.dtype)
    index = np.zeros(best.shape, np.int64)
    for place, offsets in enumerate(np.ndindex(*kernel)):
        position: Any = 0
        for d, (start, offset, n) in enumerate(zip(starts, offsets, space)):
            shape = [1] * dims
            shape[d] = sizes[d]
            position = position * n + (start + offset).reshape(*lead, *shape)
        position = np.broadcast_to(position, best.shape)
        values = np.take_along_axis(flat, position.reshape(*lead, count), -1).reshape(best.shape)
        better = (values > best) | (values != values) | (place == 0)
        np.copyto(best, values, where=better)
        np.copyto(index, position, where=better)
    return best, index


_OPERATORS = {
    2: operator("fractional_max_pool2d", _geometry, grad_name="FractionalMaxPool2DBackward0")(_kernel),
    3: operator("fractional_max_pool3d", _geometry, grad_name="FractionalMaxPool3DBackward0")(_kernel),
}


def _gradient(ctx: Any, grads: Any, indices: Tensor) -> Any:
    dims = len(ctx.attributes[0])
    if grads[0] is None:
        return None
    return record(POOL_SCATTER, (grads[0], indices), (tuple(ctx.operand_geometry(0).shape[-dims:]), dims))


for _op in _OPERATORS.values():
    _op.derivative("input", keeps="output1", formal="input")(_gradient)


def _check(x: Tensor, kernel: Ints, sizes: Ints, samples: Tensor, dims: int) -> None:
    name = "fractional_max_pool2d()" if dims == 2 else "fractional_max_pool3d_out()"
    if x.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}: Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(x.shape)}")
    for d in range(x.ndim - dims - 1, x.ndim):
        if x.shape[d] == 0:
            raise RuntimeError(
                f"{name}: Expected input to have non-zero size for non-batch dimensions, but got"
                f"{list(x.shape)} with dimension {d} being empty."
            )
    for k, count, n, axis in zip(kernel, sizes, x.shape[-dims:], _AXES[-dims:]):
        if k <= 0:
            raise RuntimeError(f"{name}: kernel sizes must be greater than zero, but got {k}")
        if count + k - 1 > n:
            raise RuntimeError(f"{name}: pool {axis} {k} too large relative to input {axis} {n}")
    if samples.dtype is not x.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    batch = x.shape[0] if x.ndim == dims + 2 else 1
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != x.shape[-dims - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {samples.shape[2]}.")


def _per_dimension(value: Any, dims: int, name: str, argument: str) -> Ints:
    found = (whole(value),) * dims if isinstance(value, int) else tuple([whole(n) for n in value])
    if len(found) != dims:
        ints = "Ints" if dims == 2 else "three Ints"
        raise RuntimeError(f"{name}: {argument} must either be a single Int or tuple of {ints}")
    return found


def _pool(x: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any, dims: int) -> Any:
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        if len(output_ratio) > dims:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(n * ratio) for n, ratio in zip(x.shape[-dims:], output_ratio)]
    if samples is None:
        if x.ndim <= dims:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], but got "
                f"{-dims - 1})"
            )
        batch = 1 if x.ndim == dims + 1 else x.shape[0]
        samples = rand(batch, x.shape[-dims - 1], dims, dtype=x.dtype, device=x.device)
    kernel = _per_dimension(kernel_size, dims, name, "kernel_size")
    sizes = _per_dimension(output_size, dims, name, "output_size")
    _check(x, kernel, sizes, samples, dims)
    if x.is_complex():
        raise not_implemented(f"{name}_out_frame", x.dtype)
    return record(_OPERATORS[dims], (x, samples), (kernel, sizes))


@api("nn.functional")
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Maxima over random windows of (N, C, H, W), and their positions in the flattened space.

    >>> import flambeau as torch
    >>> pool = torch.nn.functional.fractional_max_pool2d_with_indices
    >>> values, places = pool(torch.rand(1, 1, 6, 6), 2, output_size=3)
    >>> values.shape, places.dtype
    (torch.Size([1, 1, 3, 3]), torch.int64)
    """
    return _pool(input, kernel_size, output_size, output_ratio, _random_samples, 2)


@api("nn.functional", judge="first")
@called("_fractional_max_pool2d")
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Maxima over windows of (N, C, H, W) at random places (Graham 2014), to a given size or ratio.

    >>> import flambeau as torch
    >>> torch.nn.functional.fractional_max_pool2d(torch.ones(1, 1, 5, 5), 2, output_size=3).shape
    torch.Size([1, 1, 3, 3])
    """
    pair = _pool(input, kernel_size, output_size, output_ratio, _random_samples, 2)
    return pair if return_indices else pair[0]


@api("nn.functional")
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Maxima over random windows of (N, C, D, H, W), and their positions in the flattened space.

    >>> import flambeau as torch
    >>> pool = torch.nn.functional.fractional_max_pool3d_with_indices
    >>> pool(torch.rand(1, 1, 6, 6, 6), 2, output_size=3)[0].shape
    torch.Size([1, 1, 3, 3, 3])
    """
    return _pool(input, kernel_size, output_size, output_ratio, _random_samples, 3)


@api("nn.functional", judge="first")
@called("_fractional_max_pool3d")
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """Maxima over windows of (N, C, D, H, W) at random places; the result's size or its ratio is given.

    >>> import flambeau as torch
    >>> torch.nn.functional.fractional_max_pool3d(torch.ones(1, 1, 4, 4, 4), 2, output_size=2).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    pair = _pool(input, kernel_size, output_size, output_ratio, _random_samples, 3)
    return pair if return_indices else pair[0]
