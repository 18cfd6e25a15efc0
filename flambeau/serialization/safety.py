"""What a checkpoint may name: an unpickler that calls nothing but the functions of an explicit list."""

from __future__ import annotations

import _compat_pickle
import pickle
import reprlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from .. import _utils, devices
from ..size import Size
from .names import SPECIAL, _get_layout, public_name

_Unpickler: Any = pickle._Unpickler  # written in Python
_MAX_KEY_PARTS = 10_000
_BLOCKED_MODULES = ("sys", "os", "posix", "nt")


def _encode(text: str, encoding: str = "latin1") -> bytes:
    """What stands for ``_codecs.encode``, by which bytes are written in old protocols."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError("_codecs.encode is only allowed with strings and the encoding 'latin1'")
    return text.encode(encoding)


def _bytearray(*arguments: Any) -> bytearray:
    """A bytearray of bytes or text; of a number it would be memory that the file does not hold."""
    if arguments and not isinstance(arguments[0], (bytes, str)):
        raise pickle.UnpicklingError("bytearray is only allowed with bytes or text")
    return bytearray(*arguments)


def _device(*arguments: Any) -> devices.device:
    if not all(type(argument) in (str, int) for argument in arguments):
        raise pickle.UnpicklingError("a device is made of its type and index")
    return devices.device(*arguments)


def _container(kind: Callable[..., Any]) -> Callable[..., Any]:
    def make(*arguments: Any) -> Any:
        for argument in arguments:
            for item in argument:
                check_key(item[0] if kind is OrderedDict and item else item)
        return kind(*arguments)

    return make


# What may be called, by the object that the name in the file stands for.
_REBUILD = (
    "_rebuild_tensor",
    "_rebuild_sparse_tensor",
    "_rebuild_tensor_v2",
    "_rebuild_tensor_v3",
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
    "_rebuild_meta_tensor_no_storage",
)
_CALLS: dict[int, Callable[..., Any]] = {
    id(key): call
    for key, call in {
        OrderedDict: _container(OrderedDict),
        Counter: _container(Counter),
        set: _container(set),
        complex: complex,
        Size: Size,
        bytearray: _bytearray,
        _encode: _encode,
        devices.device: _device,
        _get_layout: _get_layout,
        _utils._rebuild_from_type_v2: _utils._rebuild_from_type_v2,
        **{getattr(_utils, name): getattr(_utils, name) for name in _REBUILD},
    }.items()
}

_SAFE: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "Counter"): Counter,
    ("builtins", "set"): set,
    ("builtins", "bytearray"): bytearray,
    ("builtins", "complex"): complex,
    ("_codecs", "encode"): _encode,
    **{("torch._utils", name): getattr(_utils, name) for name in _REBUILD},
    **{
        name: value
        for name, value in SPECIAL.items()
        if name not in (("torch._C", "Generator"), ("torch", "dtype"), ("torch", "layout"))
    },
}
_added: dict[tuple[str, str], Any] = {}


def _named(item: Any) -> tuple[tuple[str, str], Any]:
    if not isinstance(item, tuple):
        return public_name(item), item
    if len(item) != 2 or not isinstance(item[1], str):
        raise ValueError(f"Expected tuple of 2 items: the class or function, and its full name. Got {item!r}")
    module, _, name = item[1].rpartition(".")
    return (module, name), item[0]


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let ``load(weights_only=True)`` use these classes and functions, or (class, full name) pairs.

    >>> import flambeau as torch
    >>> torch.serialization.add_safe_globals([complex])
    >>> complex in torch.serialization.get_safe_globals()
    True
    >>> torch.serialization.clear_safe_globals()
    """
    _added.update([_named(item) for item in safe_globals])


def get_safe_globals() -> list[Any]:
    """What ``add_safe_globals`` added.

    >>> import flambeau as torch
    >>> torch.serialization.add_safe_globals([complex])
    >>> complex in torch.serialization.get_safe_globals()
    True
    >>> torch.serialization.clear_safe_globals()
    """
    return [item if public_name(item) == name else (item, ".".join(name)) for name, item in _added.items()]


def clear_safe_globals() -> None:
    """Take back what ``add_safe_globals`` added.

    >>> import flambeau as torch
    >>> torch.serialization.add_safe_globals([complex])
    >>> torch.serialization.clear_safe_globals()
    >>> torch.serialization.get_safe_globals()
    []
    """
    _added.clear()


class safe_globals:
    """``add_safe_globals`` for the length of a ``with`` block.

    >>> import flambeau as torch
    >>> with torch.serialization.safe_globals([slice]):
    ...     torch.serialization.get_safe_globals()
    [<class 'slice'>]
    """

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self.before = dict(_added)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc: object) -> None:
        _added.clear()
        _added.update(self.before)


class BlockedGlobal(pickle.UnpicklingError):
    """A pickle names something that may not even be allowed."""


class UnsafeGlobal(pickle.UnpicklingError):
    """A pickle names something that is not on the list."""


def is_safe(module: str, name: str) -> bool:
    """Whether ``load(weights_only=True)`` knows a global."""
    return (module, name) in _SAFE or (module, name) in _added


def canonical(module: str, name: str) -> tuple[str, str]:
    """Python 3's name of a global that old protocols write under Python 2's."""
    renamed: tuple[str, str] | None = _compat_pickle.NAME_MAPPING.get((module, name))
    return renamed or (_compat_pickle.IMPORT_MAPPING.get(module, module), name)


def _is_added(obj: Any) -> bool:
    return any(obj is added for added in _added.values())


def check_key(key: Any) -> None:
    """Refuse keys made of so many nested tuples that hashing them would exhaust the stack, or never end."""
    if not isinstance(key, tuple):
        return
    pending, seen = [key], 0
    while pending:
        seen += 1
        if seen > _MAX_KEY_PARTS:
            raise pickle.UnpicklingError("a dictionary or set has a key made of too many parts")
        part = pending.pop()
        pending.extend(item for item in part if isinstance(item, tuple))


def _unsupported(code: int) -> Callable[[Any], None]:
    """The handler of an opcode that has no place in a checkpoint, as for extensions and buffers."""

    def refuse(unpickler: Any) -> None:
        raise pickle.UnpicklingError(f"Unsupported operand {code}")

    return refuse


class RestrictedUnpickler(_Unpickler):
    """An unpickler that finds safe globals, calls safe functions and sets the state of plain objects only.

    The pure-Python unpickler is used because its opcodes can be restricted one by one.
    """

    def __init__(self, file: Any, load_storage: Callable[[Any], Any], *, encoding: str = "utf-8") -> None:
        super().__init__(file, encoding=encoding)
        self.load_storage = load_storage
        self.failure: Exception | None = None

    def find_class(self, module: str, name: str) -> Any:
        """A safe global, or an error that names it."""
        key = canonical(module, name)
        if key in _added:
            return _added[key]
        if key in _SAFE:
            return _SAFE[key]
        if key[0].split(".")[0] in _BLOCKED_MODULES:
            raise BlockedGlobal(
                f"Trying to load unsupported GLOBAL {module}.{name} whose module {module} is blocked."
            )
        full = key[1] if key[0] == "builtins" else ".".join(key)
        raise UnsafeGlobal(
            f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{full}])` or the "
            f"`torch.serialization.safe_globals([{full}])` "
            "context manager to allowlist this global if you trust this class/function."
        )

    def persistent_load(self, saved_id: Any) -> Any:
        """The storage that an id names; what goes wrong there is not the pickle's fault."""
        try:
            return self.load_storage(saved_id)
        except Exception as error:
            self.failure = error
            raise

    def _reduce(self) -> None:
        arguments = self.stack.pop()
        function = self.stack[-1]
        self.stack[-1] = self._callable(function)(*arguments)

    def _callable(self, function: Any) -> Callable[..., Any]:
        if _is_added(function):
            return function
        known = _CALLS.get(id(function))
        if known is None:
            raise pickle.UnpicklingError(
                f"Trying to call reduce for unrecognized function {reprlib.repr(function)}"
            )
        return known

    def _new(self) -> None:
        arguments = self.stack.pop()
        cls = self.stack.pop()
        self._make_new(cls, arguments, {})

    def _new_with_keywords(self) -> None:
        keywords, arguments, cls = self.stack.pop(), self.stack.pop(), self.stack.pop()
        self._make_new(cls, arguments, keywords)

    def _make_new(self, cls: Any, arguments: Any, keywords: Any) -> None:
        if isinstance(cls, type) and _is_added(cls):
            self.append(cls.__new__(cls, *arguments, **keywords))
        elif cls in (OrderedDict, Counter) and not arguments and not keywords:
            self.append(cls())
        else:
            raise pickle.UnpicklingError(
                f"Trying to create new object for unrecognized class {reprlib.repr(cls)}"
            )

    def _build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if type(target) in (OrderedDict, Counter):
            target.__dict__.update(state)
        elif _is_added(type(target)):
            _set_state(target, state)
        else:
            raise pickle.UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                f"`add_safe_globals`, but got {type(target)}"
            )

    def _set_item(self) -> None:
        check_key(self.stack[-2])
        self._plain_container(self.stack[-3], dict)
        _Unpickler.load_setitem(self)

    def _set_items(self) -> None:
        for key in self.stack[::2]:
            check_key(key)
        self._plain_container(self.metastack[-1][-1], dict)
        _Unpickler.load_setitems(self)

    def _dict(self) -> None:
        for key in self.stack[::2]:
            check_key(key)
        _Unpickler.load_dict(self)

    def _add_items(self) -> None:
        for key in self.stack:
            check_key(key)
        self._plain_container(self.metastack[-1][-1], set)
        _Unpickler.load_additems(self)

    def _frozen_set(self) -> None:
        for key in self.stack:
            check_key(key)
        _Unpickler.load_frozenset(self)

    def _append(self) -> None:
        self._plain_container(self.stack[-2], list)
        _Unpickler.load_append(self)

    def _append_all(self) -> None:
        self._plain_container(self.metastack[-1][-1], list)
        _Unpickler.load_appends(self)

    @staticmethod
    def _plain_container(target: Any, kind: type) -> None:
        """Items are added to lists, dictionaries and sets only: of other objects it would call methods."""
        if not isinstance(target, kind) and not _is_added(type(target)):
            raise pickle.UnpicklingError(
                f"items can be added to a {kind.__name__} only, but got {type(target)}"
            )

    def _byte_array(self) -> None:
        size = int.from_bytes(self.read(8), "little")
        data = self.read(size)
        if len(data) != size:
            raise pickle.UnpicklingError("pickle data was truncated")
        self.append(bytearray(data))

    dispatch: dict[int, Callable[[Any], None]] = {code: _unsupported(code) for code in range(256)}
    dispatch.update(_Unpickler.dispatch)
    for _code, _handler in (
        (pickle.REDUCE, _reduce),
        (pickle.NEWOBJ, _new),
        (pickle.NEWOBJ_EX, _new_with_keywords),
        (pickle.BUILD, _build),
        (pickle.SETITEM, _set_item),
        (pickle.SETITEMS, _set_items),
        (pickle.DICT, _dict),
        (pickle.ADDITEMS, _add_items),
        (pickle.FROZENSET, _frozen_set),
        (pickle.APPEND, _append),
        (pickle.APPENDS, _append_all),
        (pickle.BYTEARRAY8, _byte_array),
    ):
        dispatch[_code[0]] = _handler
    for _code in (
        pickle.EXT1,
        pickle.EXT2,
        pickle.EXT4,
        pickle.INST,
        pickle.OBJ,
        pickle.NEXT_BUFFER,
        pickle.READONLY_BUFFER,
    ):
        dispatch[_code[0]] = _unsupported(_code[0])
    del _code, _handler


def _set_state(target: Any, state: Any) -> None:
    """What BUILD does to an object of a class that the user allowed."""
    if hasattr(type(target), "__setstate__"):
        target.__setstate__(state)
        return
    plain, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if plain:
        target.__dict__.update(plain)
    for name, value in (slots or {}).items():
        setattr(target, name, value)
