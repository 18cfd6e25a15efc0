"""Pooling to a given output size, whatever the input's."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .module import Module


class _AdaptiveAvgPoolNd(Module):
    """What the adaptive average poolings share."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Average over L_out windows that cover the input; (N, C, L) -> (N, C, L_out), N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.AdaptiveAvgPool1d(2)(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    tensor([[[2., 1.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average to a given size; (N, C, H, W) -> (N, C, H_out, W_out), None keeps an extent.

    >>> import flambeau as torch
    >>> torch.nn.AdaptiveAvgPool2d((None, 3))(torch.zeros(1, 2, 8, 9)).shape
    torch.Size([1, 2, 8, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average to a given size; (N, C, D, H, W) -> (N, C, D_out, H_out, W_out), None keeps an extent.

    >>> import flambeau as torch
    >>> torch.nn.AdaptiveAvgPool3d(2)(torch.zeros(1, 2, 8, 9, 5)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPoolNd(_AdaptiveAvgPoolNd):
    """What the adaptive maximum poolings share: they can also return where the maxima are."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maximum over L_out windows that cover the input; (N, C, L) -> (N, C, L_out), N may be absent.

    >>> import flambeau as torch
    >>> torch.nn.AdaptiveMaxPool1d(2)(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    tensor([[[3., 2.]]])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maximum to a given size; (N, C, H, W) -> (N, C, H_out, W_out), None keeps an extent.

    >>> import flambeau as torch
    >>> torch.nn.AdaptiveMaxPool2d(3)(torch.zeros(1, 2, 8, 9)).shape
    torch.Size([1, 2, 3, 3])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maximum to a given size; (N, C, D, H, W) -> (N, C, D_out, H_out, W_out), None keeps an extent.

    >>> import flambeau as torch
    >>> torch.nn.AdaptiveMaxPool3d(2)(torch.zeros(1, 2, 8, 9, 5)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)
