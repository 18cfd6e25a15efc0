"""Layers that make a vector a probability distribution."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import functional as F
from ._own_constructor import OwnConstructor
from .module import Module


class _AlongDim(OwnConstructor, Module):
    """A layer that works along one dimension."""

    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)


class Softmax(_AlongDim):
    """exp(x_i) / sum_j exp(x_j) along `dim`.

    >>> import flambeau as torch
    >>> torch.nn.Softmax(dim=0)(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(_AlongDim):
    """log of Softmax along `dim`, computed without overflow.

    >>> import flambeau as torch
    >>> torch.nn.LogSoftmax(dim=0)(torch.zeros(2))
    tensor([-0.6931, -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_AlongDim):
    """Softmax of -x along `dim`.

    >>> import flambeau as torch
    >>> torch.nn.Softmin(dim=0)(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax2d(Module):
    """Softmax over the channels at each place; (N, C, H, W) or (C, H, W), shape unchanged.

    >>> import flambeau as torch
    >>> torch.nn.Softmax2d()(torch.zeros(1, 2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)
