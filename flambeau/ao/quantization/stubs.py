"""Marks in a model: where values are to become quantized, and where to become floats again."""

from __future__ import annotations

from typing import Any

from ...nn import Module
from ...tensor import Tensor


class QuantStub(Module):
    """A mark where quantization begins; until a model is converted it gives its input back.

    >>> import flambeau as torch
    >>> torch.ao.quantization.QuantStub()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(Module):
    """A mark where quantization ends; until a model is converted it gives its input back.

    >>> import flambeau as torch
    >>> torch.ao.quantization.DeQuantStub()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


__all__ = ["DeQuantStub", "QuantStub"]
