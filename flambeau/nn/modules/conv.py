"""Convolution layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from ... import operators as ops
from ...naming import own
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._constructor import own_constructor, own_forward
from .module import Module
from .utils import _ntuple, _reverse_repeat_tuple

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING_WORDS = {"same", "valid"}
_PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Module):
    """What all convolutions share: the geometry, the parameters and their initial values.

    Subclasses state the number of spatial dimensions and call the function that computes them.
    """

    _spatial_dims: ClassVar[int]
    _convolve: Callable[..., Tensor]

    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str | tuple[int, ...]
    dilation: tuple[int, ...]
    transposed: bool
    output_padding: tuple[int, ...]
    groups: int
    padding_mode: str
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._explicit_padding()
        outer, inner = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(ops.empty((outer, inner // groups, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(ops.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    @staticmethod
    def _check(
        in_channels: int,
        out_channels: int,
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        groups: int,
        padding_mode: str,
    ) -> None:
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in _PADDING_WORDS:
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {_PADDING_WORDS}")
            if padding == "same" and any(step != 1 for step in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {_PADDING_MODES}, but got padding_mode='{padding_mode}'"
            )

    def _explicit_padding(self) -> list[int] | tuple[int, ...]:
        """Return the amounts of padding as `F.pad` takes them, for modes other than zeros."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        amounts = [0, 0] * len(self.kernel_size)
        if self.padding == "same":
            for i, (spacing, size) in enumerate(zip(self.dilation, self.kernel_size, strict=True)):
                total = spacing * (size - 1)
                position = 2 * (len(self.kernel_size) - 1 - i)
                amounts[position : position + 2] = [total // 2, total - total // 2]
        return amounts

    def reset_parameters(self) -> None:
        """Draw new initial values, uniform in ±1/sqrt(fan_in)."""
        # With a = sqrt(5), Kaiming's bound sqrt(6 / ((1 + a^2) fan_in)) is 1 / sqrt(fan_in).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        parts = [
            f"{self.in_channels}, {self.out_channels}",
            f"kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        zeros, ones = (0,) * len(self.kernel_size), (1,) * len(self.kernel_size)
        if self.padding != zeros:
            parts.append(f"padding={self.padding}")
        if self.dilation != ones:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != zeros:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _ForwardConv(_ConvNd):
    """A convolution from input to output, of any number of spatial dimensions."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own(cls, "forward")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: str | int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        per_dim = _ntuple(self._spatial_dims)
        super().__init__(
            in_channels,
            out_channels,
            per_dim(kernel_size),
            per_dim(stride),
            padding if isinstance(padding, str) else per_dim(padding),
            per_dim(dilation),
            False,
            per_dim(0),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Convolve with the given weight and bias; for subclasses that compute their own."""
        if self.padding_mode == "zeros":
            return self._convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        no_padding = (0,) * self._spatial_dims
        return self._convolve(padded, weight, bias, self.stride, no_padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


@own_constructor
@own_forward
class Conv1d(_ForwardConv):
    """Convolve (N, C_in, L) -> (N, C_out, L_out); N may be absent.

    L_out = floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1).

    >>> import flambeau as torch
    >>> torch.nn.Conv1d(2, 3, 5, padding="same")(torch.zeros(1, 2, 8)).shape
    torch.Size([1, 3, 8])
    """

    _spatial_dims = 1

    def _convolve(self, *args: Any) -> Tensor:
        return F.conv1d(*args)


@own_constructor
@own_forward
class Conv2d(_ForwardConv):
    """Convolve (N, C_in, H, W) -> (N, C_out, H_out, W_out); N may be absent.

    H_out = floor((H + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1), likewise W_out.

    >>> import flambeau as torch
    >>> torch.nn.Conv2d(2, 3, (3, 5), stride=2)(torch.zeros(1, 2, 9, 9)).shape
    torch.Size([1, 3, 4, 3])
    """

    _spatial_dims = 2

    def _convolve(self, *args: Any) -> Tensor:
        return F.conv2d(*args)


@own_constructor
@own_forward
class Conv3d(_ForwardConv):
    """Convolve (N, C_in, D, H, W) -> (N, C_out, D_out, H_out, W_out); N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.Conv3d(1, 2, 2)(torch.zeros(1, 1, 3, 3, 3)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    _spatial_dims = 3

    def _convolve(self, *args: Any) -> Tensor:
        return F.conv3d(*args)


class _ConvTransposeNd(_ConvNd):
    """The gradient of a convolution with respect to its input, used as a layer."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own(cls, "forward")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0,
        output_padding: int | tuple[int, ...] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | tuple[int, ...] = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        per_dim = _ntuple(self._spatial_dims)
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            per_dim(kernel_size),
            per_dim(stride),
            per_dim(padding),
            per_dim(dilation),
            True,
            per_dim(output_padding),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )

    def _output_padding(self, input: Tensor, output_size: list[int] | None) -> tuple[int, ...]:
        """Return the extra rows that make the output as large as asked for.

        Several input sizes of a strided convolution give the same output size; `output_size` picks one.
        """
        dims = self._spatial_dims
        if output_size is None:
            return self.output_padding
        batched = input.dim() == dims + 2
        leading = 2 if batched else 1
        wanted = output_size if isinstance(output_size, tuple) else list(output_size)
        if len(wanted) == leading + dims:
            wanted = wanted[leading:]
        if len(wanted) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or "
                f"{leading + dims} elements (got {len(wanted)})"
            )
        assert isinstance(self.padding, tuple)
        smallest = [
            (input.size(d + leading) - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(dims)
        ]
        largest = [low + self.stride[d] - 1 for d, low in enumerate(smallest)]
        if any(not low <= size <= high for low, size, high in zip(smallest, wanted, largest, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {smallest} to {largest} "
                f"(for an input of {input.size()[2:]})"
            )
        return tuple(size - low for size, low in zip(wanted, smallest, strict=True))

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        return self._convolve(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


@own_constructor
class ConvTranspose1d(_ConvTransposeNd):
    """Upsample (N, C_in, L) -> (N, C_out, L_out); N may be absent.

    L_out = (L - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1.

    >>> import flambeau as torch
    >>> torch.nn.ConvTranspose1d(2, 3, 4, stride=2)(torch.zeros(1, 2, 5)).shape
    torch.Size([1, 3, 12])
    """

    _spatial_dims = 1

    def _convolve(self, *args: Any) -> Tensor:
        return F.conv_transpose1d(*args)


@own_constructor
class ConvTranspose2d(_ConvTransposeNd):
    """Upsample (N, C_in, H, W) -> (N, C_out, H_out, W_out); N may be absent.

    >>> import flambeau as torch
    >>> up = torch.nn.ConvTranspose2d(2, 3, 3, stride=2)
    >>> up(torch.zeros(1, 2, 4, 4), output_size=[10, 10]).shape
    torch.Size([1, 3, 10, 10])
    """

    _spatial_dims = 2

    def _convolve(self, *args: Any) -> Tensor:
        return F.conv_transpose2d(*args)


@own_constructor
class ConvTranspose3d(_ConvTransposeNd):
    """Upsample (N, C_in, D, H, W) -> (N, C_out, D_out, H_out, W_out); N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.ConvTranspose3d(1, 2, 2)(torch.zeros(1, 1, 3, 3, 3)).shape
    torch.Size([1, 2, 4, 4, 4])
    """

    _spatial_dims = 3

    def _convolve(self, *args: Any) -> Tensor:
        return F.conv_transpose3d(*args)
