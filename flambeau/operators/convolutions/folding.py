"""Patches as columns and back (unfold, fold), and rearrangements of pixels and channels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record_one
from ...tensor.dims import extent_of
from ..creation.memory_formats import contiguous_gradient, in_format_of
from ..declaration.definition import arithmetic_dtype, operator
from ..declaration.domain import INTEGER, refuse
from ..declaration.registry import api
from .patches import patches, slices, zero_padded

Ints = tuple[int, ...]


def _pair(value: Any) -> Ints:
    return (value, value) if isinstance(value, int) else tuple(value)


def _require_pairs(**values: Ints) -> None:
    for name, value in values.items():
        if len(value) != 2:
            raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(value)}")


def _blocks(space: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Ints:
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1
                 for n, k, d, p, s in zip(space, kernel, dilation, padding, stride))


def _unfold_geometry(operands: Any, attributes: Any) -> Geometry:
    x = operands[0]
    kernel = attributes[0]
    count = int(np.prod(_blocks(x.shape[2:], *attributes)))
    return contiguous((x.shape[0], x.shape[1] * kernel[0] * kernel[1], count), x.dtype, x.device)


@operator("im2col", _unfold_geometry, compute=lambda operands: arithmetic_dtype(operands[0].dtype))
def UNFOLD(m: Any, input: Any, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    """(N, C, H, W) as columns (N, C * kernel, blocks)."""
    extents = _blocks(input.shape[2:], kernel, dilation, padding, stride)
    return patches(m, zero_padded(m, input, padding), kernel, stride, dilation, extents)


def _fold_geometry(operands: Any, attributes: Any) -> Geometry:
    x, (space, kernel) = operands[0], attributes[:2]
    return contiguous((x.shape[0], x.shape[1] // (kernel[0] * kernel[1]), *space), x.dtype, x.device)


@operator("col2im", _fold_geometry, compute=lambda operands: arithmetic_dtype(operands[0].dtype))
def FOLD(m: Any, input: Any, space: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    """Columns (N, C * kernel, blocks) summed into (N, C, H, W)."""
    extents = _blocks(space, kernel, dilation, padding, stride)
    channels = input.shape[1] // (kernel[0] * kernel[1])
    columns = input.reshape(input.shape[0], channels, *kernel, *extents)
    padded = m.zeros((input.shape[0], channels, *(n + 2 * p for n, p in zip(space, padding))), input.dtype)
    for offsets in np.ndindex(*kernel):
        padded[(slice(None), slice(None), *slices(offsets, stride, dilation, extents))] += \
            columns[(slice(None), slice(None), *offsets)]
    return padded[(slice(None), slice(None), *(slice(p, p + n) for n, p in zip(space, padding)))]


refuse(UNFOLD, "im2col_out_cpu", INTEGER, first_only=True)
refuse(FOLD, "col2im_out_cpu", INTEGER, first_only=True)


@UNFOLD.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return record_one(FOLD, grad, (tuple(ctx.operand_geometry(0).shape[2:]), *ctx.attributes))


@FOLD.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return record_one(UNFOLD, grad, ctx.attributes[1:])


def _check_positive(name: str, value: Ints, zero: bool = False) -> None:
    if any(v < 0 if zero else v <= 0 for v in value):
        of = "pad" if name == "padding" else name
        bound = "non-negative" if zero else "greater than zero"
        raise RuntimeError(f"{name}{' size' * (name == 'kernel')} should be {bound}, but got "
                           f"{of}_height: {value[0]} {of}_width: {value[-1]}")


@api("nn.functional", judge="first")
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Sliding blocks of (N, C, H, W) as columns (N, C * kernel, blocks).

    >>> import flambeau as torch
    >>> torch.nn.functional.unfold(torch.ones(1, 1, 3, 3), 2).shape
    torch.Size([1, 4, 4])
    """
    kernel, gaps, around, steps = _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride)
    _require_pairs(kernel_size=kernel, dilation=gaps, padding=around, stride=steps)
    for name, value in (("kernel", kernel), ("dilation", gaps), ("stride", steps)):
        _check_positive(name, value)
    _check_positive("padding", around, True)
    extent_of(input.shape, 1)
    extent_of(input.shape, 2)
    if input.ndim not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other "
                           f"non-zero dimensions for input, but got: {list(input.shape)}")
    extents = _blocks(tuple(input.shape[-2:]), kernel, gaps, around, steps)
    if any(n < 1 for n in extents):
        raise RuntimeError(f"Given input with spatial size ({', '.join(map(str, input.shape[-2:]))}), "
                           f"kernel_size=({kernel[0]}, {kernel[1]}), dilation=({gaps[0]}, {gaps[1]}), "
                           f"padding=({around[0]}, {around[1]}), calculated shape of the array of "
                           f"sliding blocks as ({extents[0]}, {extents[1]}), but its components must be "
                           "at least one.")
    batched = input if input.ndim == 4 else input.unsqueeze(0)
    result = record_one(UNFOLD, batched, (kernel, gaps, around, steps))
    return result if input.ndim == 4 else result.squeeze(0)


@api("nn.functional")
def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
         stride: Any = 1) -> Tensor:
    """Columns (N, C * kernel, blocks) summed into (N, C, *output_size): the adjoint of ``unfold``.

    >>> import flambeau as torch
    >>> torch.nn.functional.fold(torch.ones(1, 4, 4), (3, 3), (2, 2))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    space, kernel = _pair(output_size), _pair(kernel_size)
    gaps, around, steps = _pair(dilation), _pair(padding), _pair(stride)
    _require_pairs(output_size=space, kernel_size=kernel, dilation=gaps, padding=around, stride=steps)
    for name, value in (("kernel", kernel), ("dilation", gaps), ("stride", steps)):
        _check_positive(name, value)
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError("Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
                           f"non-zero dimensions for input, but got: {list(input.shape)}")
    if input.shape[-2] % (kernel[0] * kernel[1]):
        raise RuntimeError("Expected size of input's dimension 1 to be divisible by the product of "
                           f"kernel_size, but got input.size(1)={input.shape[-2]} and "
                           f"kernel_size=({kernel[0]}, {kernel[1]}).")
    extents = _blocks(space, kernel, gaps, around, steps)
    if input.shape[-1] != extents[0] * extents[1] or min(extents) < 1:
        raise RuntimeError(f"Given output_size=({space[0]}, {space[1]}), kernel_size=({kernel[0]}, "
                           f"{kernel[1]}), dilation=({gaps[0]}, {gaps[1]}), padding=({around[0]}, "
                           f"{around[1]}), stride=({steps[0]}, {steps[1]}), expected size of input's "
                           f"dimension 2 to match the calculated number of sliding blocks {extents[0]} * "
                           f"{extents[1]} = {extents[0] * extents[1]}, but got "
                           f"input.size(2)={input.shape[-1]}.")
    batched = input if input.ndim == 3 else input.unsqueeze(0)
    result = record_one(FOLD, batched, (space, kernel, gaps, around, steps))
    return result if input.ndim == 3 else result.squeeze(0)


@api("torch", "nn.functional", judge="first")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C r^2, H, W) as (..., C, H r, W r) (Shi et al. 2016).

    >>> import flambeau as torch
    >>> torch.nn.functional.pixel_shuffle(torch.arange(4.).reshape(1, 4, 1, 1), 2)
    tensor([[[[0., 1.],
              [2., 3.]]]])
    """
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError("pixel_shuffle expects input to have at least 3 dimensions, but got input with "
                           f"{input.ndim} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    channels, height, width = input.shape[-3:]
    if channels % (r * r):
        raise RuntimeError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the "
                           f"square of upscale_factor, but input.size(-3)={channels} is not divisible by "
                           f"{r * r}")
    lead = input.shape[:-3]
    n = len(lead)
    parts = contiguous_gradient(input).reshape(*lead, channels // (r * r), r, r, height, width)
    moved = parts.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return in_format_of(moved.reshape(*lead, channels // (r * r), height * r, width * r), input._geometry)


@api("torch", "nn.functional", judge="first")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H r, W r) as (..., C r^2, H, W).

    >>> import flambeau as torch
    >>> torch.nn.functional.pixel_unshuffle(torch.arange(4.).reshape(1, 1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.])
    """
    r = downscale_factor
    if input.ndim < 3:
        raise RuntimeError("pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
                           f"{input.ndim} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    channels, height, width = input.shape[-3:]
    for d, n, name in ((-2, height, "height"), (-1, width, "width")):
        if n % r:
            raise RuntimeError(f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                               f"input.size({d})={n} is not divisible by {r}")
    lead = input.shape[:-3]
    n = len(lead)
    parts = input.reshape(*lead, channels, height // r, r, width // r, r)
    moved = parts.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return in_format_of(moved.reshape(*lead, channels * r * r, height // r, width // r), input._geometry)


@api("torch", "nn.functional", aliases=("native_channel_shuffle",), judge="first")
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels (N, C, *) of g groups interleaved (Zhang et al. 2018).

    >>> import flambeau as torch
    >>> torch.nn.functional.channel_shuffle(torch.arange(4.).reshape(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    if input.ndim < 3:
        raise RuntimeError("channel_shuffle expects input with > 2 dims, but got input with sizes "
                           f"{list(input.shape)}")
    if groups <= 0:
        raise RuntimeError("Number of groups to divide channels in must be positive. Value of "
                           f"groups:{groups}")
    batch, channels = input.shape[:2]
    if channels % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {channels} channels and "
                           f"{groups} groups.")
    if not input.numel():
        return input.clone()
    parts = input.reshape(batch, groups, channels // groups, -1)
    return in_format_of(parts.transpose(1, 2).reshape(input.shape), input._geometry)
