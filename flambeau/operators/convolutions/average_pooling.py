"""Pooling: averages and power means over windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.geometry import Geometry, contiguous
from ...graph.recent import Recent
from ...tensor import Tensor, record, record_one
from ..calls.arguments import known, remember
from ..calls.out import EXACT
from ..creation.memory_formats import pooled_geometry, result_geometry, suggests_last
from ..declaration.definition import operand_dtype, operator
from ..declaration.registry import api
from .pooling import Ints, padded_for_windows, pooled_extents
from .pooling_checks import check_average, check_output, stride_option, window_option

# The attributes for operands and options that were found to fit together.
_fitting: Recent[Any, tuple[Any, ...]] = Recent(1 << 12)


def _window_counts(space: Ints, kernel: Ints, stride: Ints, padding: Ints, extents: Ints, include_pad: bool,
                   divisor: int | None) -> Any:
    """What each window's sum is divided by."""
    if divisor is not None:
        return float(divisor)
    total: Any = 1
    axes = []
    for n, k, s, p, count in zip(space, kernel, stride, padding, extents):
        start = np.arange(count) * s - p
        end = np.minimum(start + k, n + p)
        axes.append(end - start if include_pad else np.minimum(end, n) - np.maximum(start, 0))
    for axis in np.ix_(*axes):
        total = total * axis
    return np.asarray(total, dtype=np.float64)


def _avg_geometry(operands: Any, attributes: Any) -> Geometry:
    x, extents = operands[0], attributes[3]
    shape = (*x.shape[:x.ndim - len(extents)], *extents)
    if len(extents) == 3:   # PyTorch's averages of volumes are always contiguous
        return contiguous(shape, x.dtype, x.device)
    return pooled_geometry(shape, len(extents), x)


@operator("avg_pool", _avg_geometry, compute=operand_dtype, grad_name="AvgPool2DBackward0")
def AVG_POOL(m: Any, input: Any, kernel: Ints, stride: Ints, padding: Ints, extents: Ints, include_pad: bool,
             divisor: int | None) -> Any:
    """Sums over windows of (..., *space) divided by the number of their elements."""
    ones = (1,) * len(kernel)
    space = input.shape[-len(kernel):]
    padded = padded_for_windows(input, space, kernel, stride, padding, ones, extents)
    total = m.zeros((*input.shape[:-len(kernel)], *extents), input.dtype)
    for offsets in np.ndindex(*kernel):
        total += padded[(...,
                         *(slice(o, o + s * (n - 1) + 1, s) for o, s, n in zip(offsets, stride, extents)))]
    counts = _window_counts(space, kernel, stride, padding, extents, include_pad, divisor)
    return total / np.asarray(counts, total.dtype)


def _avg_backward_geometry(operands: Any, attributes: Any) -> Geometry:
    grad = operands[0]
    return result_geometry(attributes[0], len(attributes) > 7, grad.dtype, grad.device)


@operator("avg_pool_backward", _avg_backward_geometry, compute=operand_dtype,
          grad_name="AvgPool2DBackwardBackward0")
def AVG_POOL_BACKWARD(m: Any, grad: Any, shape: Ints, kernel: Ints, stride: Ints, padding: Ints,
                      extents: Ints, include_pad: bool, divisor: int | None, last: bool = False) -> Any:
    """The adjoint: each value spread over its window. ``last``: channels last, as the input was."""
    dims = len(kernel)
    space = shape[-dims:]
    counts = _window_counts(space, kernel, stride, padding, extents, include_pad, divisor)
    share = grad / np.asarray(counts, grad.dtype)
    sizes = [max(s * (n - 1) + k, b + 2 * p)
             for s, n, k, b, p in zip(stride, extents, kernel, space, padding)]
    padded = m.zeros((*shape[:-dims], *sizes), grad.dtype)
    for offsets in np.ndindex(*kernel):
        padded[(...,
                *(slice(o, o + s * (n - 1) + 1, s) for o, s, n in zip(offsets, stride, extents)))] += share
    return padded[(..., *(slice(p, p + n) for p, n in zip(padding, space)))]


@AVG_POOL.derivative("input", once=True, formal="input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    g = ctx.operand_geometry(0)
    last = (True,) if len(ctx.attributes[0]) == 2 and suggests_last(g) else ()
    return record(AVG_POOL_BACKWARD, (grad,), (tuple(g.shape), *ctx.attributes, *last))


@AVG_POOL_BACKWARD.derivative("grad")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return record_one(AVG_POOL, grad, ctx.attributes[1:7])


def _avg_pool(x: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, include_pad: bool,
              divisor: int | None, dims: int) -> Tensor:
    kinds = kernel_size.__class__, stride.__class__, padding.__class__, ceil_mode.__class__  # True is no 1
    key = x._geometry, dims, kernel_size, stride, padding, ceil_mode, include_pad, divisor, kinds
    attributes = known(_fitting, key)
    if attributes is None:
        attributes = remember(
            _fitting, key, _average(x, kernel_size, stride, padding, ceil_mode, include_pad, divisor, dims))
    result: Tensor = record_one(AVG_POOL, x, attributes)
    return result


def _average(x: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, include_pad: bool,
             divisor: int | None, dims: int) -> tuple[Any, ...]:
    """The attributes of AVG_POOL, checked."""
    name = f"avg_pool{dims}d"
    kernel = window_option(kernel_size, dims, "kernel_size", name)
    steps = stride_option(stride, kernel, name)
    around = window_option(padding, dims, "padding", name)
    check_average(x, kernel, steps, around, ceil_mode)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    space = tuple(x.shape[-dims:])
    extents = pooled_extents(space, kernel, steps, around, (1,) * dims, ceil_mode)
    check_output(x, space, extents)
    return kernel, steps, around, extents, bool(include_pad), divisor


@api("torch", "nn.functional", judge="first")
def avg_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
               count_include_pad: bool = True) -> Tensor:
    """Averages over windows of (N, C, L).

    >>> import flambeau as torch
    >>> torch.nn.functional.avg_pool1d(torch.tensor([[1., 2., 3., 4.]]), 2)
    tensor([[1.5000, 3.5000]])
    """
    return _avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1)


@api("nn.functional", out=EXACT, judge="first")
def avg_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """Averages over windows of (N, C, H, W).

    >>> import flambeau as torch
    >>> torch.nn.functional.avg_pool2d(torch.arange(16.).reshape(1, 1, 4, 4), 2)
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
    """
    return _avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 2)


@api("nn.functional", out=EXACT, judge="first")
def avg_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """Averages over windows of (N, C, D, H, W).

    >>> import flambeau as torch
    >>> torch.nn.functional.avg_pool3d(torch.ones(1, 1, 4, 4, 4), 2).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return _avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 3)


@api("nn.functional")
def lp_pool1d(input: Tensor, norm_type: Any, kernel_size: Any, stride: Any = None,
              ceil_mode: bool = False) -> Tensor:
    """(sum of x^p over windows)^(1/p) of (N, C, L).

    >>> import flambeau as torch
    >>> torch.nn.functional.lp_pool1d(torch.tensor([[[3., 4.]]]), 2, 2)
    tensor([[[5.]]])
    """
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 1)


@api("nn.functional")
def lp_pool2d(input: Tensor, norm_type: Any, kernel_size: Any, stride: Any = None,
              ceil_mode: bool = False) -> Tensor:
    """(sum of x^p over windows)^(1/p) of (N, C, H, W).

    >>> import flambeau as torch
    >>> torch.nn.functional.lp_pool2d(torch.ones(1, 1, 4, 4), 2, 2)
    tensor([[[[2., 2.],
              [2., 2.]]]])
    """
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 2)


@api("nn.functional")
def lp_pool3d(input: Tensor, norm_type: Any, kernel_size: Any, stride: Any = None,
              ceil_mode: bool = False) -> Tensor:
    """(sum of x^p over windows)^(1/p) of (N, C, D, H, W).

    >>> import flambeau as torch
    >>> torch.nn.functional.lp_pool3d(torch.ones(1, 1, 4, 4, 4), 2, 2).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 3)


def _lp_pool(x: Tensor, p: Any, kernel_size: Any, stride: Any, ceil_mode: bool, dims: int) -> Tensor:
    average = (avg_pool1d, avg_pool2d, avg_pool3d)[dims - 1]
    mean = average(x.pow(p), kernel_size, stride, 0, ceil_mode)
    count = int(np.prod(window_option(kernel_size, dims, "kernel_size", average.__name__)))
    return (mean.sign() * mean.abs().relu() * count).pow(1.0 / p)
