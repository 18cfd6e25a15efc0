"""``torch.cuda.amp``: the older names of automatic mixed precision."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ...amp import GradScaler as _GradScaler
from ...amp import autocast as _autocast
from ...amp import custom_bwd as _custom_bwd
from ...amp import custom_fwd as _custom_fwd
from ...dtypes import float16
from . import common as common


def _deprecated(name: str, instead: str) -> None:
    warnings.warn(f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{instead}` "
                  "instead.", FutureWarning, stacklevel=3)


class autocast(_autocast):
    """``torch.amp.autocast('cuda')``: without a CUDA device it warns and does nothing."""

    def __init__(self, enabled: bool = True, dtype: Any = float16, cache_enabled: bool = True) -> None:
        _deprecated("autocast", "autocast('cuda', args...)")
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """``torch.amp.GradScaler('cuda')``: without a CUDA device it warns and does nothing."""

    def __init__(self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        _deprecated("GradScaler", "GradScaler('cuda', args...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """``torch.amp.custom_fwd`` for 'cuda'."""
    _deprecated("custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return functools.partial(_custom_fwd, device_type="cuda")(fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """``torch.amp.custom_bwd`` for 'cuda'."""
    _deprecated("custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return functools.partial(_custom_bwd, device_type="cuda")(bwd)


__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
