"""The switches under ``autocast``: ``torch.is_autocast_enabled``, ``torch.set_autocast_dtype`` and kin."""

from __future__ import annotations

import warnings
from typing import Any

from ..devices import device
from ..dtypes import bfloat16, dtype, float16
from ..tensor.recording import casting

# The lower type of each type of device that has one.
_DEFAULTS = {"cpu": bfloat16, "cuda": float16, "mps": float16, "xpu": float16, "hpu": bfloat16,
             "mtia": float16, "maia": bfloat16, "ipu": float16, "xla": bfloat16, "privateuseone": float16}


def _type_of(function: str, device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise TypeError(f"{function}(): argument 'device_type' (position 1) must be str, not "
                        f"{type(device_type).__name__}")
    return device(device_type).type


def is_autocast_available(device_type: str) -> bool:
    """Whether there is an autocast for a type of device, present or not.

    >>> import flambeau as torch
    >>> torch.amp.is_autocast_available("cpu"), torch.amp.is_autocast_available("meta")
    (True, False)
    """
    return _type_of("_is_autocast_available", device_type) in _DEFAULTS


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on here for a type of device.

    >>> import flambeau as torch
    >>> with torch.autocast("cpu"):
    ...     torch.is_autocast_enabled("cpu")
    True
    """
    return casting.state.enabled.get(_type_of("is_autocast_enabled", device_type), False)


def set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
    """Switch autocast: ``set_autocast_enabled(device_type, enabled)``, or for 'cuda' ``(enabled)``.

    >>> import flambeau as torch
    >>> torch.set_autocast_enabled("cpu", True); torch.is_autocast_enabled("cpu")
    True
    >>> torch.set_autocast_enabled("cpu", False)
    """
    names = ("device_type", "enabled") if len(args) + len(kwargs) > 1 else ("enabled",)
    found = dict(zip(names, args)) | kwargs
    if "enabled" not in found or len(found) > 2:
        given = ", ".join(type(x).__name__ for x in args)
        raise TypeError("set_autocast_enabled() received an invalid combination of arguments - got "
                        f"({given}), but expected one of:\n * (str device_type, bool enabled)\n"
                        " * (bool enabled)\n")
    enabled = found["enabled"]
    if not isinstance(enabled, bool):
        raise TypeError(f"set_autocast_enabled(): argument 'enabled' (position {len(found)}) must be bool, "
                        f"not {type(enabled).__name__}")
    casting.state.enabled[_type_of("set_autocast_enabled", found.get("device_type", "cuda"))] = enabled
    casting.refresh()


def get_autocast_dtype(device_type: str) -> dtype:
    """The lower type of a type of device.

    >>> import flambeau as torch
    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    kind = _type_of("get_autocast_dtype", device_type)
    if kind not in _DEFAULTS:
        raise RuntimeError("unsupported scalarType")
    return casting.state.dtype.get(kind, _DEFAULTS[kind])


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the lower type of a type of device.

    >>> import flambeau as torch
    >>> torch.set_autocast_dtype("cpu", torch.float16); torch.get_autocast_dtype("cpu")
    torch.float16
    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    kind = _type_of("set_autocast_dtype", device_type)
    if not hasattr(dtype, "is_floating_point"):
        raise TypeError("set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not "
                        f"{type(dtype).__name__}")
    casting.state.dtype[kind] = dtype
    casting.refresh()


def is_autocast_cache_enabled() -> bool:
    """Whether casts of weights are kept until the outermost autocast ends.

    >>> import flambeau as torch
    >>> with torch.autocast("cpu", cache_enabled=False):
    ...     torch.is_autocast_cache_enabled()
    False
    """
    return casting.state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Switch the keeping of cast weights.

    >>> import flambeau as torch
    >>> torch.set_autocast_cache_enabled(True)
    >>> torch.is_autocast_cache_enabled()
    True
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    casting.state.cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Forget the weights that were cast."""
    casting.state.cache.clear()


def autocast_increment_nesting() -> int:
    """Enter one more autocast; returns how many there are.

    >>> import flambeau as torch
    >>> torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
    (1, 0)
    """
    casting.state.nesting += 1
    return casting.state.nesting


def autocast_decrement_nesting() -> int:
    """Leave an autocast; returns how many are left."""
    casting.state.nesting -= 1
    return casting.state.nesting


# --- older names, one for each type of device ---------------------------------------------------------------


def _older(name: str, instead: str) -> None:
    warnings.warn(f"torch.{name}() is deprecated. Please use torch.{instead} instead.", DeprecationWarning,
                  stacklevel=3)


def is_autocast_cpu_enabled() -> bool:
    """Deprecated: ``is_autocast_enabled("cpu")``."""
    _older("is_autocast_cpu_enabled", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def is_autocast_ipu_enabled() -> bool:
    """Deprecated: ``is_autocast_enabled("ipu")``."""
    _older("is_autocast_ipu_enabled", "is_autocast_enabled('ipu')")
    return is_autocast_enabled("ipu")


def is_autocast_xla_enabled() -> bool:
    """Deprecated: ``is_autocast_enabled("xla")``."""
    _older("is_autocast_xla_enabled", "is_autocast_enabled('xla')")
    return is_autocast_enabled("xla")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Deprecated: ``set_autocast_enabled("cpu", enabled)``."""
    _older("set_autocast_cpu_enabled", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def set_autocast_ipu_enabled(enabled: bool) -> None:
    """Deprecated: ``set_autocast_enabled("ipu", enabled)``."""
    _older("set_autocast_ipu_enabled", "set_autocast_enabled('ipu', enabled)")
    set_autocast_enabled("ipu", enabled)


def set_autocast_xla_enabled(enabled: bool) -> None:
    """Deprecated: ``set_autocast_enabled("xla", enabled)``."""
    _older("set_autocast_xla_enabled", "set_autocast_enabled('xla', enabled)")
    set_autocast_enabled("xla", enabled)


def get_autocast_cpu_dtype() -> dtype:
    """Deprecated: ``get_autocast_dtype("cpu")``."""
    _older("get_autocast_cpu_dtype", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> dtype:
    """Deprecated: ``get_autocast_dtype("cuda")``."""
    _older("get_autocast_gpu_dtype", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def get_autocast_ipu_dtype() -> dtype:
    """Deprecated: ``get_autocast_dtype("ipu")``."""
    _older("get_autocast_ipu_dtype", "get_autocast_dtype('ipu')")
    return get_autocast_dtype("ipu")


def get_autocast_xla_dtype() -> dtype:
    """Deprecated: ``get_autocast_dtype("xla")``."""
    _older("get_autocast_xla_dtype", "get_autocast_dtype('xla')")
    return get_autocast_dtype("xla")


def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """Deprecated: ``set_autocast_dtype("cpu", dtype)``."""
    _older("set_autocast_cpu_dtype", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: dtype) -> None:
    """Deprecated: ``set_autocast_dtype("cuda", dtype)``."""
    _older("set_autocast_gpu_dtype", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


def set_autocast_ipu_dtype(dtype: dtype) -> None:
    """Deprecated: ``set_autocast_dtype("ipu", dtype)``."""
    _older("set_autocast_ipu_dtype", "set_autocast_dtype('ipu', dtype)")
    set_autocast_dtype("ipu", dtype)


def set_autocast_xla_dtype(dtype: dtype) -> None:
    """Deprecated: ``set_autocast_dtype("xla", dtype)``."""
    _older("set_autocast_xla_dtype", "set_autocast_dtype('xla', dtype)")
    set_autocast_dtype("xla", dtype)


FUNCTIONS = (
    is_autocast_enabled, set_autocast_enabled, get_autocast_dtype, set_autocast_dtype,
    is_autocast_cache_enabled, set_autocast_cache_enabled, clear_autocast_cache, autocast_increment_nesting,
    autocast_decrement_nesting, is_autocast_cpu_enabled, is_autocast_ipu_enabled, is_autocast_xla_enabled,
    set_autocast_cpu_enabled, set_autocast_ipu_enabled, set_autocast_xla_enabled, get_autocast_cpu_dtype,
    get_autocast_gpu_dtype, get_autocast_ipu_dtype, get_autocast_xla_dtype, set_autocast_cpu_dtype,
    set_autocast_gpu_dtype, set_autocast_ipu_dtype, set_autocast_xla_dtype)
