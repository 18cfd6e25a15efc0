"""Pooling layers over fixed windows: maximum, average, power average, and the inverse of maximum."""

from __future__ import annotations

from typing import Any, ClassVar

from ...tensor import Tensor
from .. import functional as F
from ._constructor import own_constructor
from .adaptive_pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
)
from .fractional_pooling import FractionalMaxPool2d, FractionalMaxPool3d
from .module import Module
from .utils import _ntuple, _single

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d",
    "MaxUnpool3d",
]  # fmt: skip

_Size = int | tuple[int, ...]


class _MaxPoolNd(Module):
    """What the three maximum poolings share."""

    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: _Size,
        stride: _Size | None = None,
        padding: _Size = 0,
        dilation: _Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _window(self) -> tuple[Any, ...]:
        """Return the arguments that follow the input in the functional form."""
        return self.kernel_size, self.stride, self.padding, self.dilation

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Maximum over windows; (N, C, L) -> (N, C, L_out), N may be absent.

    L_out = floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1).

    >>> import flambeau as torch
    >>> torch.nn.MaxPool1d(2)(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    tensor([[[3., 2.]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool1d(
            input, *self._window(), ceil_mode=self.ceil_mode, return_indices=self.return_indices
        )


class MaxPool2d(_MaxPoolNd):
    """Maximum over windows; (N, C, H, W) -> (N, C, H_out, W_out), N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.MaxPool2d(3, stride=2)(torch.zeros(1, 2, 7, 5)).shape
    torch.Size([1, 2, 3, 2])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool2d(
            input, *self._window(), ceil_mode=self.ceil_mode, return_indices=self.return_indices
        )


class MaxPool3d(_MaxPoolNd):
    """Maximum over windows; (N, C, D, H, W) -> (N, C, D_out, H_out, W_out), N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.MaxPool3d(2)(torch.zeros(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Any:
        return F.max_pool3d(
            input, *self._window(), ceil_mode=self.ceil_mode, return_indices=self.return_indices
        )


class _MaxUnpoolNd(Module):
    """What the three inverses of maximum pooling share."""

    _spatial_dims: ClassVar[int]

    def __init__(self, kernel_size: _Size, stride: _Size | None = None, padding: _Size = 0) -> None:
        super().__init__()
        per_dim = _ntuple(self._spatial_dims)
        self.kernel_size = per_dim(kernel_size)
        self.stride = per_dim(stride if stride is not None else kernel_size)
        self.padding = per_dim(padding)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


@own_constructor
class MaxUnpool1d(_MaxUnpoolNd):
    """Put the maxima of MaxPool1d back at their indices, zeros elsewhere; (N, C, L) -> (N, C, L_out).

    >>> import flambeau as torch
    >>> pooled, indices = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[[1.0, 3.0]]]))
    >>> torch.nn.MaxUnpool1d(2)(pooled, indices)
    tensor([[[0., 3.]]])
    """

    _spatial_dims = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


@own_constructor
class MaxUnpool2d(_MaxUnpoolNd):
    """Put the maxima of MaxPool2d back at their indices; (N, C, H, W) -> (N, C, H_out, W_out).

    >>> import flambeau as torch
    >>> pooled, indices = torch.nn.MaxPool2d(2, return_indices=True)(torch.zeros(1, 1, 4, 4))
    >>> torch.nn.MaxUnpool2d(2)(pooled, indices).shape
    torch.Size([1, 1, 4, 4])
    """

    _spatial_dims = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


@own_constructor
class MaxUnpool3d(_MaxUnpoolNd):
    """Put the maxima of MaxPool3d back at their indices; (N, C, D, H, W) -> (N, C, D_out, H_out, W_out).

    >>> import flambeau as torch
    >>> pooled, indices = torch.nn.MaxPool3d(2, return_indices=True)(torch.zeros(1, 1, 2, 2, 2))
    >>> torch.nn.MaxUnpool3d(2)(pooled, indices).shape
    torch.Size([1, 1, 2, 2, 2])
    """

    _spatial_dims = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _AvgPoolNd(Module):
    """What the three average poolings share."""

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """Average over windows; (N, C, L) -> (N, C, L_out), N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.AvgPool1d(2)(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    tensor([[[2., 1.]]])
    """

    def __init__(
        self,
        kernel_size: _Size,
        stride: _Size | None = None,
        padding: _Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class _DividingAvgPoolNd(_AvgPoolNd):
    """An average pooling whose divisor can be set."""

    def __init__(
        self,
        kernel_size: _Size,
        stride: _Size | None = None,
        padding: _Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _options(self) -> tuple[Any, ...]:
        """Return the arguments that follow the input in the functional form."""
        window = (self.kernel_size, self.stride, self.padding)
        return *window, self.ceil_mode, self.count_include_pad, self.divisor_override


@own_constructor
class AvgPool2d(_DividingAvgPoolNd):
    """Average over windows; (N, C, H, W) -> (N, C, H_out, W_out), N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.AvgPool2d(2)(torch.ones(1, 1, 2, 2))
    tensor([[[[1.]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, *self._options())


@own_constructor
class AvgPool3d(_DividingAvgPoolNd):
    """Average over windows; (N, C, D, H, W) -> (N, C, D_out, H_out, W_out), N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.AvgPool3d(2)(torch.ones(1, 1, 2, 2, 2)).flatten()
    tensor([1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, *self._options())


class _LPPoolNd(Module):
    """What the three power-average poolings share: (sum of x^p over the window)^(1/p)."""

    norm_type: float
    ceil_mode: bool

    def __init__(
        self,
        norm_type: float,
        kernel_size: _Size,
        stride: _Size | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def _window(self) -> tuple[Any, ...]:
        return float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """p-norm of each window; (N, C, L) -> (N, C, L_out), N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[[3.0, 4.0]]]))
    tensor([[[5.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, *self._window())


class LPPool2d(_LPPoolNd):
    """p-norm of each window; (N, C, H, W) -> (N, C, H_out, W_out), N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.LPPool2d(1, 2)(torch.ones(1, 1, 2, 2)).flatten()
    tensor([4.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, *self._window())


class LPPool3d(_LPPoolNd):
    """p-norm of each window; (N, C, D, H, W) -> (N, C, D_out, H_out, W_out), N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.LPPool3d(1, 2)(torch.ones(1, 1, 2, 2, 2)).flatten()
    tensor([8.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, *self._window())
