"""What observers and fake quantizers derive from: modules that find scales, and that round with them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any

from ... import operators as ops
from ...dtypes import uint8
from ...nn import Module
from ...tensor import Tensor


class ObserverBase(ABC, Module):
    """Watches values in ``forward``; ``calculate_qparams`` gives scale and zero point for them."""

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Take note of x, and give it back."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Scale and zero point for what was seen."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> partial[Any]:
        """A constructor with these arguments, for configurations."""
        return partial(cls, **kwargs)


class FakeQuantizeBase(ABC, Module):
    """Rounds as quantization would, in floating point; both halves can be switched off."""

    fake_quant_enabled: Tensor
    observer_enabled: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", ops.tensor([1], dtype=uint8))
        self.register_buffer("observer_enabled", ops.tensor([1], dtype=uint8))

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Take note of x, and round it."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Scale and zero point for what was seen."""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round, or not."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        """Give values back as they are."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Take note of values, or not."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        """Keep the scale as it is."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> partial[Any]:
        """A constructor with these arguments, for configurations."""
        return partial(cls, **kwargs)


__all__ = ["FakeQuantizeBase", "ObserverBase"]
