"""Adaptive pooling: the number of windows is given; and unpooling."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ... import dtypes, layouts
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record, record_one
from ..calls.arguments import is_integer, type_in_words
from ..calls.complaints import require
from ..creation.copying import contiguous_copy
from ..creation.memory_formats import contiguous_gradient, gradient_like, pooled_geometry, suggested_format
from ..declaration.definition import arithmetic_dtype, operator
from ..declaration.domain import not_implemented
from ..declaration.registry import api, called
from ..indexing.bounds import check_index
from ..reductions.reduction import MEAN_DIM
from .banded import AVERAGES, Band, band_of, banded_product
from .pooling import Ints, gradient_of_maxima


def _window(i: int, n: int, count: int) -> tuple[int, int]:
    """Window i of ``count`` over n elements: from floor(i n / count) to ceil((i + 1) n / count)."""
    return i * n // count, -(-(i + 1) * n // count)


def _sizes(x: Tensor, output_size: Any, dims: int, name: str) -> Ints:
    single = is_integer(output_size)
    if dims > 1 and (not single or isinstance(output_size, Tensor)) and not isinstance(output_size, bool):
        len(output_size)
    sizes = (output_size,) * dims if single else tuple(output_size)
    if not all(is_integer(n) or (n is None and dims > 1) for n in sizes):
        raise TypeError("output_size must be tuple of ints")
    if dims > 1 and not single and x.ndim <= len(sizes):
        raise ValueError(f"Input dimension should be at least {len(sizes) + 1}")
    maximum = "max" in name
    if len(sizes) != dims:
        if dims == 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(sizes)})")
        raise RuntimeError(f"{name}(): internal error: output_size.size() must be {dims}" if maximum else
                           f"{name}: output_size must be {dims}")
    if x.ndim not in (dims + 1, dims + 2):
        if dims == 1:
            raise RuntimeError(f"Expected 2 to 3 dimensions, but got {x.ndim}-dimensional tensor for "
                               f"argument #1 'self' (while checking arguments for {name})")
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got"
                           f"{':' if maximum else ''} {list(x.shape)}")
    least = min((n for n in sizes if n is not None), default=0)
    if least < 0:
        if maximum:
            shape = [*x.shape[:x.ndim - dims], *sizes]
            raise RuntimeError(f"Trying to create tensor with negative dimension {least}: {shape}")
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received "
                           "{" + ", ".join(map(str, sizes)) + "}")
    return tuple(x.shape[x.ndim - dims + d] if n is None else int(n) for d, n in enumerate(sizes))


@lru_cache(maxsize=256)
def _averages(n: int, count: int) -> Band:
    """The matrix whose column i averages window i."""
    start, end = np.array([_window(i, n, count) for i in range(count)]).T
    rows = start + np.arange(int((end - start).max()))[:, None]
    return band_of(n, rows, np.where(rows < end, 1 / (end - start), 0))


def _is_one(size: Any, dims: int) -> bool:
    """Whether one window is asked for, in integers."""
    if size.__class__ is int:
        return bool(size == 1)
    if size.__class__ is not tuple or len(size) != dims:
        return False
    for n in size:
        if n.__class__ is not int or n != 1:
            return False
    return True


def _adaptive_avg(x: Tensor, output_size: Any, dims: int) -> Tensor:
    if _is_one(output_size, dims):
        g = x._geometry
        if g.numel and g.ndim in (dims + 1, dims + 2) and g.dtype.category == dtypes.FLOATING:
            return record_one(MEAN_DIM, x, (tuple(range(g.ndim - dims, g.ndim)), True, g.dtype))
    name = f"adaptive_avg_pool{dims}d"
    sizes = _sizes(x, output_size, dims, name)
    if any(n == 0 for n in x.shape[1 if dims == 3 else -dims:]):
        raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                           f"input has sizes {list(x.shape)} with dimension {list(x.shape).index(0)} being "
                           "empty")
    if all(n == 1 for n in sizes):
        return x.mean(tuple(range(-dims, 0)), keepdim=True)
    if x.dtype.category != dtypes.FLOATING:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.SCALAR_NAMES[x.dtype]}'")
    if tuple(x.shape[-dims:]) == sizes:
        return gradient_like(x).clone(memory_format=_format(x, dims))
    wide = (gradient_like(x) if dims == 2 else contiguous_gradient(x)).to(arithmetic_dtype(x.dtype))
    for d, count in zip(range(-dims, 0), sizes):
        if wide.shape[d] != count:
            wide = banded_product(wide, d, _averages(wide.shape[d], count), AVERAGES) if count \
                else wide.narrow(d, 0, 0)
    return contiguous_copy(wide.to(x.dtype), _format(x, dims))


def _format(x: Tensor, dims: int) -> Any:
    """The memory format of averages: PyTorch's of volumes are always contiguous."""
    return suggested_format(x._geometry) if dims == 2 else layouts.contiguous_format


@api("torch", "nn.functional")
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Averages of (N, C, L) over ``output_size`` windows.

    >>> import flambeau as torch
    >>> torch.nn.functional.adaptive_avg_pool1d(torch.tensor([[1., 2., 3.]]), 2)
    tensor([[1.5000, 2.5000]])
    """
    return _adaptive_avg(input, output_size, 1)


@api("nn.functional")
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Averages of (N, C, H, W) over a grid of windows.

    >>> import flambeau as torch
    >>> torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 8, 5, 7), (1, 1)).shape
    torch.Size([1, 8, 1, 1])
    """
    return _adaptive_avg(input, output_size, 2)


@api("nn.functional")
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Averages of (N, C, D, H, W) over a grid of windows.

    >>> import flambeau as torch
    >>> torch.nn.functional.adaptive_avg_pool3d(torch.ones(1, 8, 5, 7, 3), 2).shape
    torch.Size([1, 8, 2, 2, 2])
    """
    return _adaptive_avg(input, output_size, 3)


def _adaptive_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    x, (sizes,) = operands[0], attributes
    shape = (*x.shape[:x.ndim - len(sizes)], *sizes)
    if len(sizes) == 3:
        return contiguous(shape, x.dtype, x.device), contiguous(shape, dtypes.int64, x.device)
    return pooled_geometry(shape, len(sizes), x), pooled_geometry(shape, len(sizes), x, dtypes.int64)


@operator("adaptive_max_pool", _adaptive_geometry, grad_name="AdaptiveMaxPool2DBackward0")
def ADAPTIVE_MAX_POOL(m: Any, input: Any, sizes: Ints) -> Any:
    """Maxima over a grid of windows of (..., *space) and their positions in the flattened space."""
    dims = len(sizes)
    space, lead = input.shape[-dims:], input.shape[:-dims]
    values = m.empty((*lead, *sizes), input.dtype)
    indices = m.empty((*lead, *sizes), np.int64)
    positions = np.arange(int(np.prod(space))).reshape(space)
    for place in np.ndindex(*sizes):
        part = tuple(slice(*_window(i, n, count)) for i, n, count in zip(place, space, sizes))
        window = input[(..., *part)]
        flat = window.reshape(*lead, math.prod(window.shape[-dims:]))
        best = flat.argmax(-1)
        values[(..., *place)] = np.take_along_axis(flat, best[..., None], -1)[..., 0]
        indices[(..., *place)] = positions[part].reshape(-1)[best]
    return values, indices


ADAPTIVE_MAX_POOL.derivative("input", keeps="output1", formal="input")(gradient_of_maxima)


def _publish_adaptive_max(dims: int) -> None:
    name = f"adaptive_max_pool{dims}d"

    def with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> tuple[Tensor, Tensor]:
        """Maxima over a grid of windows, and their positions in the flattened space."""
        sizes = _sizes(input, output_size, dims, name)
        if any(n == 0 for n in input.shape[1:]):
            raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, "
                               f"but input has sizes {list(input.shape)} with dimension "
                               f"{list(input.shape).index(0)} being empty")
        if input.dtype.category != dtypes.FLOATING:
            kernel = "adaptive_max_pool3d_cpu" if dims == 3 else "adaptive_max_pool2d"
            raise not_implemented(kernel, input.dtype)
        result: tuple[Tensor, Tensor] = record(ADAPTIVE_MAX_POOL, (input,), (sizes,))
        return result

    @called(f"_adaptive_max_pool{dims}d")
    def plain(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        """Maxima over a grid of windows.

        >>> import flambeau as torch
        >>> torch.nn.functional.adaptive_max_pool2d(torch.ones(1, 8, 5, 7), (1, 1)).shape
        torch.Size([1, 8, 1, 1])
        """
        pair = with_indices(input, output_size)
        return pair if return_indices else pair[0]

    plain.__name__, with_indices.__name__ = name, name + "_with_indices"
    api("nn.functional")(plain)
    api("nn.functional")(with_indices)
    if dims == 1:
        api("torch", name=name)(with_indices)


for _dims in (1, 2, 3):
    _publish_adaptive_max(_dims)


# --- unpooling ----------------------------------------------------------------------------------------------

def _unpooled_space(x: Tensor, kernel: Any, steps: Any, around: Any, output_size: Any) -> Any:
    """The extents that the pooled tensor had: those asked for, which must be near those that follow."""
    space = []
    for d, k in enumerate(kernel):
        space.append((x.shape[d - len(kernel)] - 1) * steps[d] + k - 2 * around[d])
    if output_size is None:
        return space
    dims = len(kernel)
    if len(output_size) not in (dims, dims + 2):
        raise ValueError(f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it "
                         f"has a length of '{len(output_size)}'")
    wanted = output_size[-dims:]
    for d, (n, want) in enumerate(zip(space, wanted)):
        if not n - steps[d] < want < n + steps[d]:
            raise ValueError(f'invalid output_size "{wanted}" (dim {d} must be between {n - steps[d]} and '
                             f"{n + steps[d]})")
    return wanted


def _require_extents(shape: list[int], dims: int) -> None:
    """Only the first dimension may be empty, which PyTorch takes for that of the samples."""
    if 0 in shape[1:]:
        raise RuntimeError(f"max_unpooling{max(dims, 2)}d_forward_out_cpu(): Expected input to have non-zero "
                           f"size for non-batch dimensions, but got {shape} with dimension "
                           f"{shape.index(0, 1)} being empty.")


def _unpool(x: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any,
            dims: int) -> Tensor:
    def each(value: Any) -> Any:
        return tuple(value) if isinstance(value, (tuple, list)) else (value,) * dims
    kernel = each(kernel_size)
    space = _unpooled_space(x, kernel, kernel if stride is None else each(stride), each(padding), output_size)
    if (wrong := next((n for n in space if not is_integer(n)), None)) is not None:
        raise TypeError(f"max_unpool{max(dims, 2)}d(): argument 'output_size' (position 3) must be tuple of "
                        f"ints, but found element of type {type_in_words(wrong)} at pos 0")
    if len(space) != dims:
        named = "two elements (height, width)" if dims < 3 else "three elements (depth, height, width)"
        raise RuntimeError(f"There should be exactly {named} in output_size, but got {len(space)} elements.")
    line = [1] if dims == 1 else []  # a line is a picture of one column
    if not isinstance(indices, Tensor):
        require(f"max_unpool{max(dims, 2)}d", 2, "Tensor", "indices", indices)
    if indices.dtype is not dtypes.int64:
        found = f" but got: {dtypes.SCALAR_NAMES[indices.dtype]}" if dims < 3 else ""
        raise RuntimeError(f"elements in indices should be type int64{found}")
    if x.ndim not in (dims + 1, dims + 2):
        least = max(dims, 2) + 1
        raise RuntimeError(f"Input to max_unpooling{max(dims, 2)}d should be a {least}d or {least + 1}d "
                           f"Tensor, but got a tensor with {x.ndim + len(line)} dimensions.")
    if x.shape != indices.shape:
        raise RuntimeError("Expected shape of indices to be same as that of the input tensor "
                           f"({[*x.shape, *line]}) but got indices tensor with shape: "
                           f"{[*indices.shape, *line]}")
    if x.dtype.category != dtypes.FLOATING:
        raise not_implemented(f"max_unpool{max(dims, 2)}d", x.dtype)
    _require_extents([*x.shape, *line], dims)
    lead, count = x.shape[:x.ndim - dims], math.prod(x.shape[x.ndim - dims:])
    volume = "x".join(map(str, [*space, *line]))
    check_index(indices, 0, int(np.prod(space)), RuntimeError,
                f"Found an invalid max index: {{}} (output volumes are of size {volume})")
    flat, values = x.new_zeros((*lead, int(np.prod(space)))), gradient_like(x)
    flat = flat.scatter(-1, indices.reshape(*lead, count), values.reshape(*lead, count))
    return contiguous_copy(flat.reshape(*lead, *space), _format(x, dims))


@api("nn.functional")
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Tensor:
    """Values put back where ``max_pool1d`` found them, zeros elsewhere.

    >>> import flambeau as torch
    >>> torch.nn.functional.max_unpool1d(torch.tensor([[[3., 4.]]]), torch.tensor([[[1, 3]]]), 2)
    tensor([[[0., 3., 0., 4.]]])
    """
    return _unpool(input, indices, kernel_size, stride, padding, output_size, 1)


@api("nn.functional")
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Tensor:
    """Values put back where ``max_pool2d`` found them, zeros elsewhere.

    >>> import flambeau as torch
    >>> torch.nn.functional.max_unpool2d(torch.tensor([[[[4.]]]]), torch.tensor([[[[3]]]]), 2)
    tensor([[[[0., 0.],
              [0., 4.]]]])
    """
    return _unpool(input, indices, kernel_size, stride, padding, output_size, 2)


@api("nn.functional")
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Tensor:
    """Values put back where ``max_pool3d`` found them, zeros elsewhere.

    >>> import flambeau as torch
    >>> F = torch.nn.functional
    >>> F.max_unpool3d(torch.ones(1, 1, 1, 1, 1), torch.zeros(1, 1, 1, 1, 1).long(), 2).sum()
    tensor(1.)
    """
    return _unpool(input, indices, kernel_size, stride, padding, output_size, 3)
