"""Filling the top-level namespace: dtypes, operators and the small functions that belong nowhere else."""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any

from . import _checks, dtypes, environment, layouts, symbolic
from ._assert import _assert, _assert_async
from .amp import switches
from .config import settings
from .control_flow import cond, while_loop
from .dtypes import dtype
from .jit import DeviceObjType, Future, ScriptFunction, ScriptModule, TensorType, fork, wait
from .operators import foreach
from .operators.arguments import type_in_words
from .operators.registry import place_all, publish_in
from .streams import Event, Stream
from .tensor import Tensor
from .tensor.construct import legacy_new
from .tensor.printing import set_printoptions
from .tensor.storage_types import STORAGES
from .tensor.typename import typename


def is_tensor(obj: Any) -> bool:
    """Whether something is a tensor.

    >>> import flambeau as torch
    >>> torch.is_tensor(torch.ones(1)), torch.is_tensor([1.])
    (True, False)
    """
    return isinstance(obj, Tensor)


def get_num_threads() -> int:
    """How many threads a native kernel may use: ``OMP_NUM_THREADS``, or as many as there are cores.

    >>> import flambeau as torch
    >>> torch.get_num_threads() > 0
    True
    """
    return settings.threads


def set_num_threads(num: int) -> None:
    """Set how many threads a native kernel may use (NumPy's own are set before the start).

    >>> import flambeau as torch
    >>> torch.set_num_threads(torch.get_num_threads())
    >>> torch.get_num_threads() > 0
    True
    """
    if not isinstance(num, int):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    settings.threads = num


def get_num_interop_threads() -> int:
    """How many operators may run side by side.

    >>> import flambeau as torch
    >>> torch.get_num_interop_threads() >= 1
    True
    """
    return 1


def set_num_interop_threads(num: int) -> None:
    """Accepted: operators run in order."""


def set_float32_matmul_precision(precision: str) -> None:
    """Accepted: matrix products are computed in full precision."""
    global _precision
    if precision not in ("highest", "high", "medium"):
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
                      "setFloat32MatmulPrecision call has no effect.", UserWarning, stacklevel=2)
        return
    _precision = precision


_precision = "highest"


def get_float32_matmul_precision() -> str:
    """What ``set_float32_matmul_precision`` was given."""
    return _precision


_deterministic = False


_warn_only = False


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Accepted: all algorithms are deterministic."""
    global _deterministic, _warn_only
    if mode.__class__ is not bool:
        raise TypeError("_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not "
                        f"{type_in_words(mode)}")
    _deterministic, _warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """What ``use_deterministic_algorithms`` was given."""
    return _deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether ``use_deterministic_algorithms`` was told only to warn."""
    return _warn_only


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """``use_deterministic_algorithms`` by a number or name: 0 default, 1 warn, 2 error."""
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
    """What ``set_deterministic_debug_mode`` was given, as a number."""
    return (1 if _warn_only else 2) if _deterministic else 0


def set_flush_denormal(mode: bool) -> bool:
    """Whether denormal numbers can be flushed to zero: no."""
    return False


FUNCTIONS: tuple[Any, ...] = (
             *symbolic.FUNCTIONS, *foreach.FUNCTIONS, _assert, _assert_async,
             *_checks.FUNCTIONS, *switches.FUNCTIONS, *environment.FUNCTIONS, cond, while_loop,
             Stream, TensorType, DeviceObjType, ScriptFunction, ScriptModule, Event,
             fork, wait, Future,
             is_deterministic_algorithms_warn_only_enabled, set_deterministic_debug_mode,
             get_deterministic_debug_mode, set_flush_denormal, is_tensor, typename,
             get_num_threads, set_num_threads, get_num_interop_threads,
             set_num_interop_threads, set_float32_matmul_precision, get_float32_matmul_precision,
             use_deterministic_algorithms, are_deterministic_algorithms_enabled, set_printoptions)

# PyTorch's classes by dtype, such as torch.FloatTensor.
_LEGACY = {"FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16,
           "BFloat16Tensor": dtypes.bfloat16, "LongTensor": dtypes.int64, "IntTensor": dtypes.int32,
           "ShortTensor": dtypes.int16, "CharTensor": dtypes.int8, "ByteTensor": dtypes.uint8,
           "BoolTensor": dtypes.bool_}


class _LegacyType(type):
    """``isinstance(x, torch.FloatTensor)`` asks for the dtype; calling makes a tensor of it."""

    wanted: dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.wanted

    def __call__(cls, *data: Any, **kwargs: Any) -> Any:
        return legacy_new(Tensor, *data, dtype=cls.wanted, **kwargs)


def fill(namespace: dict[str, Any]) -> None:
    """Put the public names into the package's namespace."""
    for d in (*dtypes.ALL, *dtypes.QUANTIZED):
        namespace[d.name] = d
    namespace.update(dtypes.ALIASES)
    publish_in(namespace, "torch")
    place_all("Tensor")
    for function in FUNCTIONS:
        namespace[function.__name__] = function
    for name, d in _LEGACY.items():
        namespace[name] = _LegacyType(name, (), {"wanted": d, "dtype": d})
    for name in ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged",
                 "contiguous_format", "legacy_contiguous_format", "channels_last", "channels_last_3d",
                 "preserve_format", "memory_format",
                 "layout"):
        if hasattr(layouts, name):
            namespace[name] = getattr(layouts, name)
    namespace.update(STORAGES)
    namespace.update(torch=sys.modules[namespace["__name__"]])  # PyTorch has itself inside, too
    namespace.update(inf=float("inf"), nan=float("nan"), pi=3.141592653589793, e=2.718281828459045,
                     newaxis=None)


# Submodules imported when first asked for, so that the start stays quick.
LAZY = frozenset({"_VF", "_custom_ops", "_functorch", "_guards", "_higher_order_ops", "_inductor",
                  "_jit_internal", "_ops", "_subclasses", "_tensor", "_tensor_str", "ao", "distributions",
                  "functional", "futures", "fx", "hub", "masked", "multiprocessing", "onnx", "profiler",
                  "quasirandom", "signal", "testing"})


def missing(name: str) -> Any:
    """A submodule that waits to be imported, or an error about a name that does not exist (yet)."""
    if name in LAZY:
        return importlib.import_module("." + name, __package__)
    if name == "torch":     # PyTorch's package has its own name among its names
        return sys.modules[str(__package__)]
    raise AttributeError(f"flambeau has no torch.{name} yet")
