"""Filling the top-level namespace: dtypes, operators and what other modules have for it."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from . import _checks, _execution, dtypes, environment, layouts, symbolic
from ._assert import _assert, _assert_async
from .amp import switches
from .control_flow import cond, while_loop
from .dtypes import dtype
from .jit import DeviceObjType, Future, ScriptFunction, ScriptModule, TensorType, fork, wait
from .operators.declaration.registry import place_all, publish_in
from .operators.optimization import foreach
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


FUNCTIONS: tuple[Any, ...] = (
    *symbolic.FUNCTIONS, *foreach.FUNCTIONS, *_checks.FUNCTIONS, *switches.FUNCTIONS, *environment.FUNCTIONS,
    *_execution.FUNCTIONS, _assert, _assert_async, cond, while_loop, Stream, TensorType, DeviceObjType,
    ScriptFunction, ScriptModule, Event, fork, wait, Future, is_tensor, typename, set_printoptions)

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
                 "preserve_format", "memory_format", "layout"):
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
