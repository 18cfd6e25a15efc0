"""Fractional max pooling: windows at random places, whose steps average to a fraction (Graham 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from ... import dtypes
from ...tensor import Tensor, composed
from ..calls.arguments import whole
from ..creation.ranges import arange
from ..declaration.domain import not_implemented
from ..declaration.registry import api, called
from ..pointwise.comparison import where
from ..random.random import rand
from ..shapes.joining import cat
from .pooling import Ints

_AXES = ("time", "height", "width")


def _starts(sample: Tensor, space: int, kernel: int, count: int) -> Tensor:
    """First elements of the windows along a dimension, for samples (N, C): (N, C, count)."""
    last = sample.new_full((*sample.shape, 1), space - kernel, dtype=dtypes.int64)
    if count == 1:
        return last
    work = sample.unsqueeze(-1)
    kind = work.dtype.numpy.type
    step = float(kind(space - kernel) / kind(count - 1))
    places = arange(count - 1, dtype=work.dtype, device=work.device)
    first = (work * step).to(dtypes.int64)
    return cat([((places + work) * step).to(dtypes.int64) - first, last], -1)


def _corners(shape: Any, samples: Tensor, kernel: Ints, sizes: Ints) -> Tensor:
    """Where the windows begin in the flattened space: (..., C, prod(sizes))."""
    dims = len(kernel)
    space, lead = shape[-dims:], shape[:-dims]
    batch = samples[: lead[0]] if len(lead) == 2 else samples[0]
    # Samples are given for the last dimension first where there are two, else for the first one first.
    order = (1, 0) if dims == 2 else range(dims)
    position: Any = 0
    for d, (i, n, k, count) in enumerate(zip(order, space, kernel, sizes)):
        start = _starts(batch[..., i], n, k, count)
        position = position * n + start.reshape(*lead, *[count if axis == d else 1 for axis in range(dims)])
    return position.reshape(*lead, prod(sizes))


def _greatest(flat: Tensor, corners: Tensor, shifts: Sequence[int]) -> Tensor:
    """Where the maxima are, of the elements that lie so far behind the corners; NaN counts as greatest."""
    index, best = corners, flat.gather(-1, corners)
    for shift in shifts:
        place = corners + shift
        values = flat.gather(-1, place)
        better = (values > best) | values.isnan()
        best, index = where(better, values, best), where(better, place, index)
    return index


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
    lead, space = x.shape[:-dims], x.shape[-dims:]
    steps = [prod(space[d + 1:]) for d in range(dims)]
    shifts = [sum(i * step for i, step in zip(offsets, steps)) for offsets in product(*map(range, kernel))]
    flat = x.reshape(*lead, prod(space))
    index = _greatest(flat.detach(), _corners(x.shape, samples.detach(), kernel, sizes), shifts[1:])
    values = flat.gather(-1, index).reshape(*lead, *sizes)
    return composed(f"FractionalMaxPool{dims}DBackward0", values, x), index.reshape(values.shape)


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
