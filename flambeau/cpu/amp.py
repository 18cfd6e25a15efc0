"""``torch.cpu.amp``: the older names of automatic mixed precision on the CPU."""

from __future__ import annotations

import warnings
from typing import Any

from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..dtypes import bfloat16


def _deprecated(name: str) -> None:
    warnings.warn(f"`torch.cpu.amp.{name}(args...)` is deprecated. Please use "
                  f"`torch.amp.{name}('cpu', args...)` instead.", FutureWarning, stacklevel=3)


class autocast(_autocast):
    """``torch.amp.autocast('cpu')``."""

    def __init__(self, enabled: bool = True, dtype: Any = bfloat16, cache_enabled: bool = True) -> None:
        _deprecated("autocast")
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """``torch.amp.GradScaler('cpu')``."""

    def __init__(self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        _deprecated("GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


__all__ = ["GradScaler", "autocast"]
