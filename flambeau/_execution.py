"""How the process computes: threads, precision and determinism."""

from __future__ import annotations

import warnings
from typing import Any

from .config import settings
from .operators.calls.arguments import type_in_words
from .tensor.uninitialized import determinism


def get_num_threads() -> int:
    """How many threads a native kernel may use: ``OMP_NUM_THREADS``, or as many as there are cores.

    >>> import flambeau as torch
    >>> torch.get_num_threads() > 0
    True
    """
    return settings.threads


def _require_count(function: str, num: Any) -> None:
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"{function} expects an int, but got {type(num).__name__}")
    if num >= 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if num <= 0:
        raise RuntimeError(f"{function} expects a positive integer")


def set_num_threads(num: int) -> None:
    """Set how many threads a native kernel may use (NumPy's own are set before the start).

    >>> import flambeau as torch
    >>> torch.set_num_threads(torch.get_num_threads())
    >>> torch.get_num_threads() > 0
    True
    """
    _require_count("set_num_threads", num)
    settings.threads = num


def get_num_interop_threads() -> int:
    """How many operators run side by side: one.

    >>> import flambeau as torch
    >>> torch.get_num_interop_threads()
    1
    """
    return 1


def set_num_interop_threads(num: int) -> None:
    """Accepted: operators run in order."""
    _require_count("set_num_interop_threads", num)


def set_float32_matmul_precision(precision: str) -> None:
    """Accepted: matrix products are computed in full precision.

    >>> import flambeau as torch
    >>> torch.set_float32_matmul_precision("high"); torch.get_float32_matmul_precision()
    'high'
    >>> torch.set_float32_matmul_precision("highest")
    """
    global _precision
    if precision not in ("highest", "high", "medium"):
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
                      "setFloat32MatmulPrecision call has no effect.", UserWarning, stacklevel=2)
        return
    _precision = precision


_precision = "highest"


def get_float32_matmul_precision() -> str:
    """What ``set_float32_matmul_precision`` was given.

    >>> import flambeau as torch
    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return _precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """All algorithms are deterministic; what is not initialised is filled (see ``utils.deterministic``).

    >>> import flambeau as torch
    >>> torch.use_deterministic_algorithms(True); torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    if mode.__class__ is not bool:
        raise TypeError("_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not "
                        f"{type_in_words(mode)}")
    if warn_only.__class__ is not bool:
        raise TypeError("_set_deterministic_algorithms(): argument 'warn_only' must be bool, not "
                        f"{type_in_words(warn_only)}")
    determinism.asked, determinism.warns_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """What ``use_deterministic_algorithms`` was given.

    >>> import flambeau as torch
    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return determinism.asked


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether ``use_deterministic_algorithms`` was told only to warn.

    >>> import flambeau as torch
    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return determinism.warns_only


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """``use_deterministic_algorithms`` by a number or name: 0 default, 1 warn, 2 error.

    >>> import flambeau as torch
    >>> torch.set_deterministic_debug_mode("warn"); torch.get_deterministic_debug_mode()
    1
    >>> torch.set_deterministic_debug_mode("default")
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str) and debug_mode not in _DEBUG_MODES:
        raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                           f"{debug_mode}")
    mode = _DEBUG_MODES[debug_mode] if isinstance(debug_mode, str) else debug_mode
    if mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {mode}")
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_deterministic_debug_mode() -> int:
    """What ``set_deterministic_debug_mode`` was given, as a number.

    >>> import flambeau as torch
    >>> torch.get_deterministic_debug_mode()
    0
    """
    return (1 if determinism.warns_only else 2) if determinism.asked else 0


def set_flush_denormal(mode: bool) -> bool:
    """Whether denormal numbers can be flushed to zero: no."""
    return False


FUNCTIONS: tuple[Any, ...] = (
    get_num_threads, set_num_threads, get_num_interop_threads, set_num_interop_threads,
    set_float32_matmul_precision, get_float32_matmul_precision, use_deterministic_algorithms,
    are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode, get_deterministic_debug_mode, set_flush_denormal)
