"""``autocast``: choosing lower precision by operator. On absent devices it warns and does nothing."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..dtypes import bfloat16, float16


def is_autocast_available(device_type: str) -> bool:
    """Whether a device can run operators in lower precision."""
    return False


class autocast:
    """Run matrix products in lower precision inside. Also a decorator.

    On ``'cuda'``, which flambeau has not, it warns and does nothing, as PyTorch does on a machine without
    CUDA.
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self.fast_dtype = dtype or (bfloat16 if device_type == "cpu" else float16)
        self.cache_enabled = True if cache_enabled is None else cache_enabled
        self._enabled = enabled
        if enabled and device_type == "cuda":
            warnings.warn("User provided device_type of 'cuda', but CUDA is not available. "
                          "Disabling", stacklevel=2)
            self._enabled = False
        elif enabled:
            raise RuntimeError(f"flambeau has no autocast for device_type '{device_type}' yet")

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)
        return decorated


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """Decorate the forward of a Function that is used under autocast."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    return fwd


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """Decorate the backward of a Function that is used under autocast."""
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd
