"""Attributes of tensors that ask in subclasses and inside modes (Note: overrides).

Properties, and the few methods that are no operators, stay as they are in the class of tensors: a subclass
that overrides gets its own, which ask first. While a mode is on, the class of tensors itself has properties
that ask, for programs: what the library reads of its tensors is no call. So plain tensors pay nothing for it.
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any

from ..naming import of_package
from .overrides import asked, disabled, dispatching, modes, on_subclass, overriding, unconverted
from .tensor import Tensor

_PRIVATE = frozenset(("_version", "_backward_hooks", "__reversed__", "__rdiv__"))
_QUIET = frozenset(("as_subclass",))


def _property(plain: property) -> property:
    """A property that asks, and tells of the plain one's ``__get__``, ``__set__`` and ``__delete__``."""
    read, write, remove = plain.__get__, plain.__set__, plain.__delete__

    def fget(self: Any) -> Any:
        return read(self) if disabled[0] else asked(read, [self], (self,), {})

    def fset(self: Any, value: Any) -> None:
        if disabled[0]:
            write(self, value)
        else:
            asked(write, overriding((self, value)), (self, value), {})

    def fdel(self: Any) -> None:
        if disabled[0]:
            remove(self)
        else:
            asked(remove, [self], (self,), {})
    return property(fget, plain.fset and fset, plain.fdel and fdel, plain.__doc__)


def _owner(cls: type, name: str) -> type:
    return next(base for base in cls.__mro__ if name in vars(base))


def _ask(cls: type) -> None:
    """Let a subclass be asked for what it has from the class of tensors."""
    if of_package(cls):
        return
    for name, value in vars(Tensor).items():
        if (name.startswith("_") and name not in _PRIVATE) or name in _QUIET \
                or _owner(cls, name) is not Tensor:
            continue
        if isinstance(value, property):
            setattr(cls, name, _property(value))
        elif isinstance(value, FunctionType) and not hasattr(value, "_dispatches"):
            setattr(cls, name, dispatching(value, value))


class _Watched(property):
    """A property of all tensors while modes are on; the class itself keeps showing the plain one."""

    def __init__(self, plain: property) -> None:
        super().__init__(plain.fget, plain.fset, plain.fdel, plain.__doc__)
        self.plain = plain

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        plain = self.plain
        if instance is None:
            return plain
        if disabled[0] or not modes or _asked_by_library():
            return plain.__get__(instance)
        return asked(plain.__get__, [instance], (instance,), {})

    def __set__(self, instance: Any, value: Any) -> None:
        plain = self.plain
        if plain.fset is None or disabled[0] or not modes or _asked_by_library():
            plain.__set__(instance, value)
        else:
            asked(plain.__set__, [instance], (instance, value), {})

    def __delete__(self, instance: Any) -> None:
        plain = self.plain
        if plain.fdel is None or disabled[0] or not modes or _asked_by_library():
            plain.__delete__(instance)
        else:
            asked(plain.__delete__, [instance], (instance,), {})


def _asked_by_library() -> bool:
    """Whether it is the library that reads or writes the attribute."""
    name: str = sys._getframe(2).f_globals.get("__name__", "")
    return name.startswith(_PACKAGE)


_PACKAGE = __name__.split(".", 1)[0] + "."
_modes_on = 0


def begin_watching() -> None:
    """A mode begins: programs' uses of tensors' attributes are to reach it."""
    global _modes_on
    _modes_on += 1
    if _modes_on == 1:
        for name, value in list(vars(Tensor).items()):
            if type(value) is property and (not name.startswith("_") or name in _PRIVATE):
                setattr(Tensor, name, _Watched(value))


def end_watching() -> None:
    """A mode ends."""
    global _modes_on
    _modes_on -= 1
    if _modes_on == 0:
        for name, value in list(vars(Tensor).items()):
            if isinstance(value, _Watched):
                setattr(Tensor, name, value.plain)


on_subclass.append(_ask)
unconverted.add(vars(Tensor)["grad"].__get__)     # which stays the tensor that was set
