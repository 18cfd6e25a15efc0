"""Layers between images and the columns of their sliding blocks."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import functional as F
from ._constructor import own_constructor
from .module import Module

__all__ = ["Fold", "Unfold"]


class _SlidingBlocks(Module):
    """What both layers share: the geometry of the blocks."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


@own_constructor
class Unfold(_SlidingBlocks):
    """Extract sliding blocks as columns; (N, C, H, W) -> (N, C kernel_h kernel_w, L).

    >>> import flambeau as torch
    >>> torch.nn.Unfold((2, 3))(torch.zeros(2, 5, 3, 4)).shape
    torch.Size([2, 30, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(_SlidingBlocks):
    """Add sliding blocks up to an image, the transpose of Unfold; (N, C kernel_h kernel_w, L) -> (N, C, H,
    W).

    >>> import flambeau as torch
    >>> torch.nn.Fold((4, 5), (2, 2))(torch.zeros(1, 12, 12)).shape
    torch.Size([1, 3, 4, 5])
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}, {super().extra_repr()}"
