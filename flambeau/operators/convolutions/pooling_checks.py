"""What the operands and options of poolings must fulfil, and PyTorch's words where they do not."""

from __future__ import annotations

from typing import Any

from ...dtypes import BOOL, COMPLEX, FLOATING, INTEGER, LOW_PRECISION, int64
from ...tensor import Tensor
from ..calls.arguments import integers
from ..declaration.domain import not_implemented

Ints = tuple[int, ...]

_WORDS = ("one", "two", "three")


def window_option(value: Any, dims: int, name: str, function: str) -> Ints:
    """A kernel size, stride, padding or dilation for each dimension."""
    found = integers(value, dims)
    if len(found) != dims:
        raise RuntimeError(_wrong_count(len(found), dims, name, function))
    return found


def stride_option(value: Any, kernel: Ints, function: str) -> Ints:
    """The stride, the kernel size where there is none."""
    if value is None or (isinstance(value, (tuple, list)) and not value):
        return kernel
    return window_option(value, len(kernel), "stride", function)


def _wrong_count(count: int, dims: int, name: str, function: str) -> str:
    stride = name == "stride"
    if function == "max_pool1d":
        kinds = "None, an int, list of ints, or" if stride else "an int, list of ints or"
        kinds = kinds if name in ("stride", "kernel_size") else "an int, list of ints, or"
        return f"{function}() {name} must be {kinds} tuple of ints of size 1 but got size {count}"
    if dims == 1:
        return f"{function}() argument '{name}' should contain one int (got {count})"
    either = "" if function == "avg_pool3d" else "either "
    omitted = "omitted, " if stride else ""
    return f"{function}: {name} must {either}be {omitted}a single int, or a tuple of {_WORDS[dims - 1]} ints"


def check_maximum(x: Tensor, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: Any,
                  with_indices: bool) -> None:
    """Check the operand and the window of maxima."""
    if ceil_mode.__class__ is not bool:
        raise TypeError("ceil_mode must be bool")
    dims = len(kernel)
    if dims == 1 and not with_indices and not x.requires_grad:
        _check_line(x, kernel[0], stride[0], padding[0], dilation[0])
        if x.dtype.category != FLOATING:
            raise not_implemented("max_pool1d_impl", x.dtype)
        return
    if dims == 1:
        _check_line_rank(x, "max_pool1d")
    elif x.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    _check_window(kernel, stride, padding, dilation)
    _check_extents(x, dims, "max_pool3d_with_indices_out_cpu_template()")
    if x.dtype.category in (BOOL, COMPLEX):
        raise not_implemented(f"max_pool{max(dims, 2)}d", x.dtype)


def check_average(x: Tensor, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: Any) -> None:
    """Check the operand and the window of averages."""
    if ceil_mode.__class__ is not bool:
        raise TypeError("ceil_mode must be bool")
    dims = len(kernel)
    if dims == 1:
        _check_line_rank(x, "avg_pool1d")
    elif dims == 2:
        x.size(-3)
    elif x.ndim not in (4, 5):
        raise RuntimeError("non-empty 4D or 5D (batch mode) tensor expected for input")
    _check_window(kernel, stride, padding, (1,) * dims)
    _check_extents(x, dims, "avg_pool3d()")
    if x.dtype.category in (BOOL, COMPLEX) or (x.dtype.category == INTEGER and x.dtype is not int64) \
            or (dims == 3 and x.dtype in LOW_PRECISION):
        raise not_implemented("avg_pool3d_out_frame" if dims == 3 else "avg_pool2d", x.dtype)


def _check_line_rank(x: Tensor, name: str) -> None:
    if x.ndim not in (2, 3):
        raise RuntimeError(f"Expected 2 to 3 dimensions, but got {x.ndim}-dimensional tensor for argument #1 "
                           f"'self' (while checking arguments for {name})")


def _check_extents(x: Tensor, dims: int, name: str) -> None:
    """Only the batch may be empty."""
    batched = x.ndim == dims + 2
    if x.ndim in (dims + 1, dims + 2) and 0 not in x.shape[1 if batched else 0:]:
        return
    if dims == 3:
        raise RuntimeError(f"{name}: Expected input's non-batch dimensions to have positive length, but "
                           f"input has a shape of {list(x.shape)} and non-batch dimension 0 has length zero!")
    shape = [*x.shape[:-1], 1, x.shape[-1]] if dims == 1 else list(x.shape)
    raise RuntimeError("Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but "
                       f"got:{shape}")


def _by_axis(letter: str, values: Ints) -> str:
    """kH: 2 kW: 3; a line is a picture of one row."""
    values = (1, *values) if len(values) == 1 else values
    return " ".join(f"{letter}{axis}: {n}" for axis, n in zip("THW"[-len(values):], values))


def _check_window(kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> None:
    if any(s == 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    for p, k, d in zip(padding, kernel, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > int(((k - 1) * d + 1) / 2):      # rounded towards zero
            raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={p}, "
                               f"kernel_size={k} and dilation={d}")
    if any(k <= 0 for k in kernel):
        raise RuntimeError(f"kernel size should be greater than zero, but got {_by_axis('k', kernel)}")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"stride should be greater than zero, but got {_by_axis('d', stride)}")
    if any(d <= 0 for d in dilation):
        shown = _by_axis("dilation", dilation)
        raise RuntimeError(f"dilation should be greater than zero, but got {shown}")


def _check_line(x: Tensor, kernel: int, stride: int, padding: int, dilation: int) -> None:
    """Operand and window in the words of maxima over one dimension."""
    if x.ndim not in (2, 3) or 0 in x.shape[1 if x.ndim == 3 else 0:]:
        raise RuntimeError("max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch "
                           f"size for input, but got:{list(x.shape)}")
    for name, value in (("kernel_size", kernel), ("stride", stride)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {value}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise RuntimeError(f"max_pool1d() padding should be at most half of kernel size, but got "
                           f"padding={padding} and kernel_size={kernel}")
    if dilation <= 0:
        raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")
    room = x.shape[-1] + 2 * padding - dilation * (kernel - 1) - 1
    if room < 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {room // stride + 1}")


def check_output(x: Tensor, space: Ints, extents: Ints) -> None:
    """Whether a window fits."""
    if any(n < 1 for n in extents):
        channels, line = x.shape[-len(space) - 1], "1x" if len(space) == 1 else ""
        raise RuntimeError(f"Given input size: ({channels}x{line}{'x'.join(map(str, space))}). Calculated "
                           f"output size: ({channels}x{line}{'x'.join(map(str, extents))}). Output size is "
                           "too small")
