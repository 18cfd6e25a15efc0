"""Convolutions in one, two and three dimensions, plain and transposed, as matrix products over patches.

Note: convolution. All directions are three operators on tensors (N, C, *space): the forward product, its
gradient by the input (which is also the transposed convolution) and its gradient by the weight. Each one's
derivatives are the other two, so they can be differentiated any number of times. A last attribute ``True``
says that results are channels last, which the input or the weight of the forward product suggested
(Note: memory formats).
"""

from __future__ import annotations

from math import prod
from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry
from ...graph.recent import Recent
from ...tensor import Tensor, record
from ..calls.arguments import known, remember, require_integer
from ..creation.memory_formats import result_geometry, suggests_last
from ..declaration import prices
from ..declaration.definition import operand_dtype, operator
from ..declaration.registry import api
from ..indexing.padding import pad
from ..pointwise.arithmetic import conjugate
from .convolution_checks import (
    check_extents,
    check_operands,
    check_transposed_extents,
    extents_of,
)
from .patches import (
    Ints,
    channels_last,
    channels_second,
    chunk,
    columns_first,
    columns_last,
    has_many_channels,
    inside,
    patches,
    patches_last,
    positions,
    slices,
    zero_padded,
)


def _output_extents(space: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1
                 for n, k, s, p, d in zip(space, kernel, stride, padding, dilation))


def _is_pointwise(kernel: Ints, stride: Ints, padding: Ints) -> bool:
    return all(k == 1 for k in kernel) and all(s == 1 for s in stride) and not any(padding)


# --- kernels ------------------------------------------------------------------------------------------------

def _forward_geometry(operands: Any, attributes: Any) -> Geometry:
    x, weight = operands[:2]
    stride, padding, dilation = attributes[:3]
    extents = _output_extents(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    return result_geometry((x.shape[0], weight.shape[0], *extents), len(attributes) > 4, x.dtype, x.device)


@operator("convolution", _forward_geometry, compute=operand_dtype, price=prices.convolved)
def CONVOLUTION(m: Any, input: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints,
                groups: int, last: bool = False) -> Any:
    """(N, C, *space) and (O, C / groups, *kernel) give (N, O, *extents)."""
    kernel = weight.shape[2:]
    extents = _output_extents(input.shape[2:], kernel, stride, padding, dilation)
    batch, out_channels = input.shape[0], weight.shape[0]
    result = m.empty((batch, out_channels, *extents), input.dtype)
    if result.size == 0:
        return result
    if input.shape[1] == 0:
        result[...] = 0 if bias is None else bias.reshape(-1, *([1] * len(extents)))
        return result
    flat = result.reshape(batch, groups, out_channels // groups, -1)
    matrix = weight.reshape(groups, out_channels // groups, -1)
    padded = zero_padded(m, input, padding)
    step = chunk(prod(weight.shape[1:]) * groups * prod(extents) * input.itemsize, batch)
    for first in range(0, batch, step):
        part = padded[first:first + step]
        columns = part.reshape(*part.shape[:2], -1) if _is_pointwise(kernel, stride, padding) \
            else patches(m, part, kernel, stride, dilation, extents)
        flat[first:first + step] = m.matmul(matrix,
                                            columns.reshape(part.shape[0], groups, matrix.shape[2], -1))
    if bias is not None:
        result += bias.reshape(-1, *([1] * len(extents)))
    return result


def _input_geometry(operands: Any, attributes: Any) -> Geometry:
    grad, weight = operands
    space, groups = attributes[0], attributes[4]
    return result_geometry((grad.shape[0], weight.shape[1] * groups, *space), len(attributes) > 5, grad.dtype,
                           grad.device)


@operator("convolution_input", _input_geometry, compute=operand_dtype, grad_name="ConvolutionBackward0",
          price=prices.convolved)
def CONVOLUTION_INPUT(m: Any, grad: Any, weight: Any, space: Ints, stride: Ints, padding: Ints,
                      dilation: Ints, groups: int, last: bool = False) -> Any:
    """(N, O, *extents) and (O, C / groups, *kernel) give (N, C, *space): the adjoint of the convolution."""
    kernel, extents = weight.shape[2:], grad.shape[2:]
    batch, out_channels, per_group = grad.shape[0], weight.shape[0], weight.shape[1]
    whole = (batch, per_group * groups, *[n + 2 * p for n, p in zip(space, padding)])
    by_channels = has_many_channels(per_group, groups, kernel, extents)
    padded = channels_last(m, whole, grad.dtype) if by_channels else m.zeros(whole, grad.dtype)
    if padded.size == 0 or grad.size == 0:
        return padded[inside(space, padding)]
    flat = grad.reshape(batch, groups, out_channels // groups, -1)
    columns_of = columns_last if by_channels else columns_first
    step = chunk(prod(kernel) * per_group * groups * prod(extents) * grad.itemsize, batch)
    for first in range(0, batch, step):
        columns = columns_of(m, flat[first:first + step], weight, extents)
        part = padded[first:first + step]
        for offsets in positions(kernel):
            part[(slice(None), slice(None), *slices(offsets, stride, dilation, extents))] += \
                columns[(slice(None), slice(None), *offsets)]
    return padded[inside(space, padding)]


def _weight_geometry(operands: Any, attributes: Any) -> Geometry:
    grad, x = operands
    kernel, groups = attributes[0], attributes[4]
    return result_geometry((grad.shape[1], x.shape[1] // groups, *kernel), len(attributes) > 5, grad.dtype,
                           grad.device)


@operator("convolution_weight", _weight_geometry, compute=operand_dtype, grad_name="ConvolutionBackward0",
          price=prices.convolved)
def CONVOLUTION_WEIGHT(m: Any, grad: Any, input: Any, kernel: Ints, stride: Ints, padding: Ints,
                       dilation: Ints, groups: int, last: bool = False) -> Any:
    """(N, O, *extents) and (N, C, *space) give (O, C / groups, *kernel): the gradient by the weight."""
    batch, out_channels = grad.shape[:2]
    extents = grad.shape[2:]
    per_group = input.shape[1] // groups
    rows = per_group * prod(kernel)
    total = m.zeros((groups, out_channels // groups, rows), grad.dtype)
    by_channels = has_many_channels(per_group, groups, kernel, extents)
    if grad.size and input.size:
        padded = zero_padded(m, input, padding, by_channels)
        flat = grad.reshape(batch, groups, out_channels // groups, -1)
        step = chunk(rows * groups * prod(extents) * grad.itemsize, batch)
        for first in range(0, batch, step):
            part = padded[first:first + step]
            if by_channels:
                columns = patches_last(m, part, kernel, stride, dilation, extents)[:, None]
            else:
                columns = patches(m, part, kernel, stride, dilation, extents)
                columns = columns.reshape(part.shape[0], groups, rows, -1).transpose(0, 1, 3, 2)
            total += m.matmul(flat[first:first + step], columns).sum(axis=0)
    if by_channels:
        return channels_second(total.reshape(out_channels, *kernel, per_group))
    return total.reshape(out_channels, per_group, *kernel)


# --- derivatives --------------------------------------------------------------------------------------------

@CONVOLUTION.derivative("input", keeps="weight", formal="input weight")
def _(ctx: Any, grad: Tensor, weight: Tensor) -> Tensor:
    return record(CONVOLUTION_INPUT, (grad, conjugate(weight)),
                  (tuple(ctx.operand_geometry(0).shape[2:]), *ctx.attributes))


@CONVOLUTION.derivative("weight", keeps="input", formal="input weight")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    weight = ctx.operand_geometry(1)    # as which its gradient lies, since leaves ask for that
    last = (True,) if suggests_last(weight) else ()
    return record(CONVOLUTION_WEIGHT, (grad, conjugate(input)),
                  (tuple(weight.shape[2:]), *ctx.attributes[:4], *last))


@CONVOLUTION.derivative("bias", once=True, formal="input weight")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad.sum((0, *range(2, grad.dim())))


@CONVOLUTION_INPUT.derivative("grad", keeps="weight", formal="grad weight")
def _(ctx: Any, grad: Tensor, weight: Tensor) -> Tensor:
    result: Tensor = record(CONVOLUTION, (grad, conjugate(weight), None), ctx.attributes[1:])
    return _with_source(result, ctx.operand_geometry(0).shape)


def _with_source(result: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A convolution without the places that output padding of a whole stride added: they have no source."""
    for d, n in enumerate(shape):
        if result.shape[d] != n:
            result = result.narrow(d, 0, n)
    return result


@CONVOLUTION_INPUT.derivative("weight", keeps="grad", formal="grad weight")
def _(ctx: Any, grad: Tensor, output_grad: Tensor) -> Tensor:
    kernel = tuple(ctx.operand_geometry(1).shape[2:])
    return record(CONVOLUTION_WEIGHT, (conjugate(output_grad), grad), (kernel, *ctx.attributes[1:]))


@CONVOLUTION_WEIGHT.derivative("grad", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return _with_source(record(CONVOLUTION, (conjugate(input), grad, None), ctx.attributes[1:]),
                        ctx.operand_geometry(0).shape)


@CONVOLUTION_WEIGHT.derivative("input", keeps="grad")
def _(ctx: Any, grad: Tensor, output_grad: Tensor) -> Tensor:
    space = tuple(ctx.operand_geometry(1).shape[2:])
    return record(CONVOLUTION_INPUT, (conjugate(output_grad), grad), (space, *ctx.attributes[1:]))


# --- public functions ---------------------------------------------------------------------------------------

def _last(x: Tensor, weight: Tensor, groups: int) -> tuple[bool, ...]:
    """The attribute that asks for channels last, where an operand suggests it."""
    if not (suggests_last(x._geometry) or suggests_last(weight._geometry)):
        return ()
    if x.ndim == 5:
        small = x.shape[0] == 1 and groups == 1 and min(weight.shape[-2:]) <= 3 and x.numel() <= _SMALL_SPACE
        if small or x._geometry.dtype not in _LAST_IN_SPACE:
            return ()
    return (True,)


# Types of which PyTorch's three-dimensional convolutions know channels last, and elements of one sample up to
# which those without groups and with small kernels do not.
_SMALL_SPACE = 655_360
_LAST_IN_SPACE = (dtypes.float32, dtypes.bfloat16)


def _same_padding(x: Tensor, kernel: Ints, stride: Ints, dilation: Ints) -> tuple[Tensor, Ints]:
    """Padding that keeps the extents; where it is odd, the extra zero goes behind."""
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for k, d in zip(kernel, dilation)]
    if any(t % 2 for t in totals):
        extra = [n for t in reversed(totals) for n in (0, t % 2)]
        x = pad(x, extra)
    return x, tuple(t // 2 for t in totals)


def _convolve(x: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int,
              dims: int, name: str) -> Tensor:
    kinds = groups.__class__, stride.__class__, padding.__class__, dilation.__class__  # True is no 1
    key = (x._geometry, weight._geometry, None if bias is None else bias._geometry, dims, groups, stride,
           padding, dilation, kinds)
    attributes = known(_fitting, key)
    if attributes is not None:
        result: Tensor = record(CONVOLUTION, (x, weight, bias), attributes)
        return result
    require_integer(groups)
    unbatched = check_operands(x, weight, bias, dims, name, False)
    if unbatched:
        x = x.unsqueeze(0)
    inner = weight.ndim - 2
    steps, gaps = extents_of(stride, inner, "stride"), extents_of(dilation, inner, "dilation")
    kernel = tuple(weight.shape[2:])
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        x, around = _same_padding(x, kernel, steps, gaps) if padding == "same" else (x, (0,) * dims)
    else:
        around = extents_of(padding, inner, "padding")
    check_extents(x, weight, bias, steps, around, gaps, groups)
    attributes = (steps, around, gaps, groups, *_last(x, weight, groups))
    if not unbatched and padding != "same":
        remember(_fitting, key, attributes)
    result = record(CONVOLUTION, (x, weight, bias), attributes)
    return result.squeeze(0) if unbatched else result


# The attributes for operands and options that were found to fit together.
_fitting: Recent[Any, tuple[Any, ...]] = Recent(1 << 12)


def _transpose_convolve(x: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, output_padding: Any,
                        groups: int, dilation: Any, dims: int, name: str) -> Tensor:
    unbatched = check_operands(x, weight, bias, dims, name, True)
    if unbatched:
        x = x.unsqueeze(0)
    steps, around = extents_of(stride, dims, "stride"), extents_of(padding, dims, "padding")
    extra, gaps = extents_of(output_padding, dims, "output_padding"), extents_of(dilation, dims, "dilation")
    check_transposed_extents(x, weight, bias, steps, around, extra, gaps, groups)
    space = tuple((n - 1) * s - 2 * p + d * (k - 1) + e + 1
                  for n, s, p, d, k, e in zip(x.shape[2:], steps, around, gaps, weight.shape[2:], extra))
    if any(n <= 0 for n in space):
        raise RuntimeError(f"Given input size per channel: {list(x.shape[2:])}. Calculated output size per "
                           f"channel: {list(space)}. Output size is too small")
    attributes = (space, steps, around, gaps, groups, *_last(x, weight, groups))
    result = record(CONVOLUTION_INPUT, (x, weight), attributes)
    if bias is not None:
        result = result + bias.reshape(-1, *([1] * dims))
    return result.squeeze(0) if unbatched else result


@api("torch", "nn.functional")
def conv1d(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0,
           dilation: Any = 1, groups: int = 1) -> Tensor:
    """Convolution of (N, C, L) with (O, C / groups, K).

    Result: (N, O, (L + 2 padding - dilation (K - 1) - 1) / stride + 1).

    >>> import flambeau as torch
    >>> torch.nn.functional.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2))
    tensor([[[2., 2., 2.]]])
    """
    return _convolve(input, weight, bias, stride, padding, dilation, groups, 1, "conv1d")


@api("torch", "nn.functional")
def conv2d(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0,
           dilation: Any = 1, groups: int = 1) -> Tensor:
    """Convolution of (N, C, H, W) with (O, C / groups, KH, KW).

    >>> import flambeau as torch
    >>> torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _convolve(input, weight, bias, stride, padding, dilation, groups, 2, "conv2d")


@api("torch", "nn.functional")
def conv3d(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0,
           dilation: Any = 1, groups: int = 1) -> Tensor:
    """Convolution of (N, C, D, H, W) with (O, C / groups, KD, KH, KW).

    >>> import flambeau as torch
    >>> torch.nn.functional.conv3d(torch.ones(1, 1, 3, 3, 3), torch.ones(4, 1, 2, 2, 2)).shape
    torch.Size([1, 4, 2, 2, 2])
    """
    return _convolve(input, weight, bias, stride, padding, dilation, groups, 3, "conv3d")


@api("torch", "nn.functional", judge="first")
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0,
                     output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:
    """Transposed convolution of (N, C, L) with (C, O / groups, K).

    >>> import flambeau as torch
    >>> torch.nn.functional.conv_transpose1d(torch.tensor([[[1.0, 2.0]]]), torch.ones(1, 1, 2))
    tensor([[[1., 3., 2.]]])
    """
    return _transpose_convolve(input, weight, bias, stride, padding, output_padding, groups, dilation, 1,
                               "conv_transpose1d")


@api("torch", "nn.functional", judge="first")
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0,
                     output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:
    """Transposed convolution of (N, C, H, W) with (C, O / groups, KH, KW).

    >>> import flambeau as torch
    >>> torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2), stride=2).shape
    torch.Size([1, 1, 4, 4])
    """
    return _transpose_convolve(input, weight, bias, stride, padding, output_padding, groups, dilation, 2,
                               "conv_transpose2d")


@api("torch", "nn.functional", judge="first")
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0,
                     output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:
    """Transposed convolution of (N, C, D, H, W) with (C, O / groups, KD, KH, KW).

    >>> import flambeau as torch
    >>> torch.nn.functional.conv_transpose3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 4, 2, 2, 2)).shape
    torch.Size([1, 4, 3, 3, 3])
    """
    return _transpose_convolve(input, weight, bias, stride, padding, output_padding, groups, dilation, 3,
                               "conv_transpose3d")


@api("torch")
def convolution(input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any,
                transposed: bool, output_padding: Any, groups: int) -> Tensor:
    """Convolution in as many dimensions as the weight has, plain or transposed.

    >>> import flambeau as torch
    >>> x, weight = torch.ones(1, 1, 3), torch.ones(1, 1, 2)
    >>> torch.convolution(x, weight, None, (1,), (0,), (1,), False, (0,), 1)
    tensor([[[2., 2.]]])
    """
    dims = weight.ndim - 2
    if transposed:
        return _transpose_convolve(input, weight, bias, stride, padding, output_padding, groups, dilation,
                                   dims, f"conv_transpose{dims}d")
    return _convolve(input, weight, bias, stride, padding, dilation, groups, dims, f"conv{dims}d")
