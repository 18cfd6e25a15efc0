"""What the operands and options of convolutions must fulfil, and PyTorch's words where they do not."""

from __future__ import annotations

from typing import Any

from ...dtypes import BOOL, COMPLEX, SCALAR_NAMES, bfloat16, bool_, c_name, float32
from ...tensor import Tensor
from ..calls.arguments import integers
from ..calls.extents import type_name

Ints = tuple[int, ...]


def extents_of(value: Any, dims: int, name: str) -> Ints:
    """A stride, padding or dilation for each dimension."""
    found = integers(value, dims)
    if len(found) != dims:
        raise RuntimeError(f"expected {name} to be a single integer value or a list of {dims} values to "
                           f"match the convolution dimensions, but got {name}={list(found)}")
    return found


def check_operands(x: Tensor, weight: Tensor, bias: Any, dims: int, name: str, transposed: bool) -> bool:
    """Check ranks and the bias's type; whether there is no batch dimension."""
    if not transposed and bias is not None and bias.dtype is not x.dtype:
        raise RuntimeError(f"Input type ({c_name(x.dtype)}) and bias type ({c_name(bias.dtype)}) should be "
                           "the same")
    if x.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but "
                           f"got input of size: {list(x.shape)}")
    if weight.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    return x.ndim == dims + 1


def _check_options(stride: Ints, padding: Ints, dilation: Ints, groups: int) -> None:
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(d < 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")
    if any(d == 0 for d in dilation):
        raise RuntimeError("non-positive dilation is not supported")


def _check_ranks(x: Tensor, weight: Tensor) -> None:
    if weight.ndim != x.ndim:
        raise RuntimeError(f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight "
                           f"{list(weight.shape)}, but got {x.ndim}-dimensional input of size "
                           f"{list(x.shape)} instead")


def _check_groups(weight: Tensor, groups: int) -> None:
    if weight.shape[0] < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, "
                           f"but got weight of size {list(weight.shape)} instead")
    if weight.shape[0] % groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be divisible by {groups} at dimension "
                           f"0, but got weight of size [{list(weight.shape)}] instead")


def _check_bias(weight: Tensor, bias: Any, count: int, given: str) -> None:
    if bias is not None and tuple(bias.shape) != (count,):
        raise RuntimeError(f"Given {given}weight of size {list(weight.shape)}, expected bias to be "
                           f"1-dimensional with {count} elements, but got bias of size {list(bias.shape)} "
                           "instead")


def _check_kernel(space: tuple[int, ...]) -> None:
    if 0 in space:
        given = f" kernel_height: {1 if len(space) == 1 else space[0]} kernel_width: {space[-1]}" \
            if len(space) < 3 else f": {' x '.join(map(str, space))} (TxHxW)"
        raise RuntimeError(f"kernel size should be greater than zero, but got{given}")


def check_extents(x: Tensor, weight: Tensor, bias: Any, stride: Ints, padding: Ints, dilation: Ints,
                  groups: int) -> None:
    """Check a convolution of x (N, C, *space) that has passed ``check_operands``."""
    _check_options(stride, padding, dilation, groups)
    _check_ranks(x, weight)
    _check_groups(weight, groups)
    channels = weight.shape[1] * groups
    if x.shape[1] != channels:
        raise RuntimeError(f"Given groups={groups}, weight of size {list(weight.shape)}, expected "
                           f"input{list(x.shape)} to have {channels} channels, but got {x.shape[1]} channels "
                           "instead")
    _check_bias(weight, bias, weight.shape[0], "")
    have = [n + 2 * p for n, p in zip(x.shape[2:], padding)]
    need = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilation)]
    if any(h < n for h, n in zip(have, need)):
        raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(map(str, have))}). "
                           f"Kernel size: ({' x '.join(map(str, need))}). Kernel size can't be greater than "
                           "actual input size")
    _refuse_empty_space(x)
    if x.dtype is not weight.dtype or x.dtype is bool_:
        raise _mixed_types(x, weight, groups, "slow_conv2d_cpu", (BOOL,))
    _check_kernel(weight.shape[2:])


def _refuse_empty_space(x: Tensor) -> None:
    if 0 in x.shape[2:] and x.shape[0] and x.shape[1]:
        line = [1] if x.ndim == 3 else []
        raise RuntimeError("Only zero batch or zero channel inputs are supported, but got input shape: "
                           f"{[*x.shape[:2], *line, *x.shape[2:]]}")


def check_transposed_extents(x: Tensor, weight: Tensor, bias: Any, stride: Ints, padding: Ints,
                             output_padding: Ints, dilation: Ints, groups: int) -> None:
    """Check a transposed convolution of x (N, C, *space) that has passed ``check_operands``."""
    _check_options(stride, padding, dilation, groups)
    if any(e < 0 for e in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    _check_ranks(x, weight)
    _check_groups(weight, groups)
    if x.shape[1] != weight.shape[0]:
        raise RuntimeError(f"Given transposed=1, weight of size {list(weight.shape)}, expected "
                           f"input{list(x.shape)} to have {weight.shape[0]} channels, but got {x.shape[1]} "
                           "channels instead")
    _check_bias(weight, bias, weight.shape[1] * groups, "transposed=1, ")
    _refuse_empty_space(x)
    if x.dtype is not weight.dtype or x.dtype is bool_:
        raise _mixed_types(x, weight, groups, "slow_conv_transpose2d_out_cpu", (BOOL, "small"))
    if weight.ndim < 5:
        _check_kernel(weight.shape[2:])
    if 0 in weight.shape[1:]:
        line = [1] if weight.ndim == 3 else []
        wanted = "5D (n_output_plane x n_input_plane x kernel_depth x kernel_height x kernel_width) tensor " \
            "expected for weight" if weight.ndim == 5 else "2D or 4D weight tensor expected"
        raise RuntimeError(f"non-empty {wanted}, but got: {[*weight.shape[:2], *line, *weight.shape[2:]]}")
    if bias is not None and bias.dtype is not x.dtype:
        raise RuntimeError(f"Input type ({_dense_name(x)}) and bias type ({_dense_name(bias)}) should be the "
                           "same or input should be a MKLDNN tensor and bias is a dense tensor")
    if any(e >= max(s, d) for e, s, d in zip(output_padding, stride, dilation)):
        raise RuntimeError("output padding must be smaller than either stride or dilation, but got "
                           + " ".join(_by_axis("output_padding", output_padding) + _by_axis("stride", stride)
                                      + _by_axis("dilation", dilation)))


def _by_axis(name: str, values: Ints) -> list[str]:
    """"name_height: 1", "name_width: 2"; one dimension is a picture of one row."""
    first = {"output_padding": 0}.get(name, 1)
    values = (first, *values) if len(values) == 1 else values
    axes = ("depth", "height", "width")[-len(values):]
    return [f"{name}_{axis}: {value}" for axis, value in zip(axes, values)]


def _mixed_types(x: Tensor, weight: Tensor, groups: int, kernel: str, unknown: tuple[Any, ...]) -> Exception:
    """PyTorch's errors for an input and a weight of different types."""
    name = SCALAR_NAMES[x.dtype]
    small = "small" in unknown and not x.dtype.is_floating_point and x.dtype.itemsize < 8
    if x.dtype.category in unknown or (small and x.dtype.category != COMPLEX):
        return NotImplementedError(f"\"{kernel}\" not implemented for '{name}'")
    if x.dtype.category == COMPLEX or x.dtype is bfloat16 or (x.dtype is float32
                                                              and _is_large(x, weight, groups)):
        also = " or input should be a MKLDNN tensor and weight is a dense tensor"
        return RuntimeError(f"Input type ({_dense_name(x)}) and weight type ({_dense_name(weight)}) should "
                            f"be the same{'' if x.dtype.category == COMPLEX else also}")
    return RuntimeError(f"expected scalar type {name} but found {SCALAR_NAMES[weight.dtype]}")


def _is_large(x: Tensor, weight: Tensor, groups: int) -> bool:
    """Whether PyTorch has a library compute it, which asks for the types in words of its own."""
    large_kernel = weight.ndim > 3 and min(weight.shape[-2:]) > 3
    return x.shape[0] > 1 or groups > 1 or large_kernel or x.shape[:4].numel() > _LARGE


_LARGE = 20480      # elements, of the first two spatial dimensions alone


def _dense_name(x: Tensor) -> str:
    """A tensor's type: older types are called by the name of their class."""
    if x.dtype in (bfloat16, bool_) or x.dtype.category == COMPLEX:
        return f"CPU{SCALAR_NAMES[x.dtype]}Type"
    return type_name(x._geometry)
