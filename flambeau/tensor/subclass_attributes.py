"""Attributes of tensors that ask in subclasses (Note: overrides).

Properties, and the few methods that are no operators, stay as they are in the class of tensors: a subclass
that overrides gets its own, which ask first. So plain tensors pay nothing for it.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ..naming import of_package
from .overrides import asked, disabled, dispatching, on_subclass, overriding, unconverted
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


on_subclass.append(_ask)
unconverted.add(vars(Tensor)["grad"].__get__)     # which stays the tensor that was set
