"""What a checkpoint may name: an unpickler that calls nothing but the functions of an explicit list."""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

from .. import _utils, devices, dtypes
from ..size import Size
from ..tensor import Tensor
from .names import StorageType, find, public_name

_SAFE: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "Counter"): Counter,
    ("collections", "defaultdict"): defaultdict,
    ("builtins", "set"): set, ("__builtin__", "set"): set,
    ("builtins", "frozenset"): frozenset, ("__builtin__", "frozenset"): frozenset,
    ("builtins", "bytearray"): bytearray, ("__builtin__", "bytearray"): bytearray,
    ("builtins", "complex"): complex, ("__builtin__", "complex"): complex,
    ("builtins", "slice"): slice, ("builtins", "list"): list, ("builtins", "dict"): dict, ("builtins", "int"): int,
    ("builtins", "float"): float, ("builtins", "str"): str, ("builtins", "bool"): bool, ("builtins", "tuple"): tuple,
    ("torch", "Size"): Size, ("torch", "device"): devices.device, ("torch", "Tensor"): Tensor,
    **{("torch._utils", name): getattr(_utils, name) for name in (
        "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter",
        "_rebuild_parameter_with_state", "_rebuild_meta_tensor_no_storage")},
    **{("torch", d.name): d for d in dtypes.ALL},
}
_added: dict[tuple[str, str], Any] = {}


def _key(item: Any) -> tuple[tuple[str, str], Any]:
    if isinstance(item, tuple):
        target, path = item
        module, _, name = path.rpartition(".")
        return (module, name), target
    return public_name(item, None), item


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let ``load(weights_only=True)`` use these classes and functions."""
    _added.update(map(_key, safe_globals))


def get_safe_globals() -> list[Any]:
    """What ``add_safe_globals`` added."""
    return list(_added.values())


def clear_safe_globals() -> None:
    """Take back what ``add_safe_globals`` added."""
    _added.clear()


class safe_globals:
    """``add_safe_globals`` inside."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self.before = dict(_added)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc: object) -> None:
        _added.clear()
        _added.update(self.before)


class UnsafeGlobal(pickle.UnpicklingError):
    """A pickle names something that is not on the list."""


class RestrictedUnpickler(pickle._Unpickler):  # type: ignore[misc,name-defined]
    """An unpickler that finds only safe globals and sets state only on plain objects.

    The pure-Python unpickler is used because its BUILD, which could write attributes of classes, can be restricted.
    """

    def __init__(self, file: Any, load_storage: Callable[[Any], Any]) -> None:
        super().__init__(file, encoding="utf-8")
        self.load_storage = load_storage

    def find_class(self, module: str, name: str) -> Any:
        """A safe global, or ``UnsafeGlobal``."""
        key = (module, name)
        if key in _SAFE:
            return _SAFE[key]
        if key in _added:
            return _added[key]
        if module in ("torch", "torch.storage") and name.endswith("Storage"):
            found = find(module, name)
            if isinstance(found, StorageType):
                return found
        raise UnsafeGlobal(f"Unsupported global: GLOBAL {module}.{name} was not an allowed global by default. Please use "
                           f"`torch.serialization.add_safe_globals([{name}])` or the `torch.serialization.safe_globals"
                           f"([{name}])` context manager to allowlist this global if you trust this class/function.")

    def persistent_load(self, saved_id: Any) -> Any:
        """The storage that an id names."""
        return self.load_storage(saved_id)

    def _build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if isinstance(target, (OrderedDict, Counter, defaultdict)):
            target.__dict__.update(state)
        elif type(target) in _added.values():
            if hasattr(type(target), "__setstate__"):
                target.__setstate__(state)
            else:
                target.__dict__.update(state)
        else:
            raise UnsafeGlobal(f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                               f"but got {type(target)}")

    def _refuse(self) -> None:
        raise UnsafeGlobal("Unsupported operand: an opcode that names extensions or old-style instances")

    dispatch = dict(pickle._Unpickler.dispatch)  # type: ignore[attr-defined]
    dispatch[pickle.BUILD[0]] = _build
    for _code in (pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.INST, pickle.OBJ):
        dispatch[_code[0]] = _refuse
