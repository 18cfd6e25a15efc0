"""Convolutions that learn the number of input channels from the first input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ...tensor import Tensor
from ..parameter import UninitializedParameter
from ._constructor import own_constructor
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, _ConvNd
from .lazy import LazyModuleMixin

if TYPE_CHECKING:
    _Base = _ConvNd
else:
    _Base = object

__all__ = [
    "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]  # fmt: skip


class _LazyConvMixin(LazyModuleMixin, _Base):
    """Lets the weight and bias of a convolution wait for the first input."""

    weight: Any
    bias: Any
    _spatial_dims: ClassVar[int]

    def _wait(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        """Put placeholders where the constructor, called for zero channels, left empty parameters."""
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new initial values once the shapes are known."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Take the number of input channels from `input`."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._channels_of(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        outer, inner = self.out_channels, self.in_channels
        if self.transposed:
            outer, inner = inner, outer
        self.weight.materialize((outer, inner // self.groups, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _channels_of(self, input: Tensor) -> int:
        unbatched, batched = self._spatial_dims + 1, self._spatial_dims + 2
        if input.dim() not in (unbatched, batched):
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {batched}D (batched) input to {type(self).__name__}, "
                f"but got input of size: {input.shape}"
            )
        return input.shape[1] if input.dim() == batched else input.shape[0]


class _LazyForwardConv(_LazyConvMixin):
    """The constructor of the lazy convolutions."""

    def __init__(
        self,
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
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype
        )
        self._wait(out_channels, bias, device, dtype)


class _LazyTransposedConv(_LazyConvMixin):
    """The constructor of the lazy transposed convolutions."""

    def __init__(
        self,
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
        super().__init__(
            0,
            0,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            False,
            dilation,
            padding_mode,
            device,
            dtype,
        )
        self._wait(out_channels, bias, device, dtype)


@own_constructor
class LazyConv1d(_LazyForwardConv, Conv1d):
    """A Conv1d whose `in_channels` is learned from the first input (N, C_in, L).

    >>> import flambeau as torch
    >>> torch.nn.LazyConv1d(3, 2)(torch.zeros(1, 2, 4)).shape
    torch.Size([1, 3, 3])
    """

    cls_to_become = Conv1d


@own_constructor
class LazyConv2d(_LazyForwardConv, Conv2d):
    """A Conv2d whose `in_channels` is learned from the first input (N, C_in, H, W).

    >>> import flambeau as torch
    >>> torch.nn.LazyConv2d(3, 2)(torch.zeros(1, 2, 4, 4)).shape
    torch.Size([1, 3, 3, 3])
    """

    cls_to_become = Conv2d


@own_constructor
class LazyConv3d(_LazyForwardConv, Conv3d):
    """A Conv3d whose `in_channels` is learned from the first input (N, C_in, D, H, W).

    >>> import flambeau as torch
    >>> torch.nn.LazyConv3d(3, 2)(torch.zeros(1, 2, 2, 2, 2)).shape
    torch.Size([1, 3, 1, 1, 1])
    """

    cls_to_become = Conv3d


@own_constructor
class LazyConvTranspose1d(_LazyTransposedConv, ConvTranspose1d):
    """A ConvTranspose1d whose `in_channels` is learned from the first input (N, C_in, L).

    >>> import flambeau as torch
    >>> torch.nn.LazyConvTranspose1d(3, 2)(torch.zeros(1, 2, 4)).shape
    torch.Size([1, 3, 5])
    """

    cls_to_become = ConvTranspose1d


@own_constructor
class LazyConvTranspose2d(_LazyTransposedConv, ConvTranspose2d):
    """A ConvTranspose2d whose `in_channels` is learned from the first input (N, C_in, H, W).

    >>> import flambeau as torch
    >>> torch.nn.LazyConvTranspose2d(3, 2)(torch.zeros(1, 2, 4, 4)).shape
    torch.Size([1, 3, 5, 5])
    """

    cls_to_become = ConvTranspose2d


@own_constructor
class LazyConvTranspose3d(_LazyTransposedConv, ConvTranspose3d):
    """A ConvTranspose3d whose `in_channels` is learned from the first input (N, C_in, D, H, W).

    >>> import flambeau as torch
    >>> torch.nn.LazyConvTranspose3d(3, 2)(torch.zeros(1, 2, 2, 2, 2)).shape
    torch.Size([1, 3, 3, 3, 3])
    """

    cls_to_become = ConvTranspose3d
