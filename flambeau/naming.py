"""Names in messages: Python says where a method was written, programs ask whose method it is."""

from __future__ import annotations

from types import FunctionType
from typing import Any

_PACKAGE = __name__.partition(".")[0]
_IN_C = {"dtype": "dtype", "layout": "layout", "device": "device", "memory_format": "memory_format",
         "Generator": "_C.Generator"}
_IMMUTABLE, _MADE_LATER = 1 << 8, 1 << 9    # Py_TPFLAGS_IMMUTABLETYPE (of C), Py_TPFLAGS_HEAPTYPE


def of_package(definition: Any) -> bool:
    """Whether a class or function was written here, not by a user."""
    return bool(definition.__module__.partition(".")[0] == _PACKAGE)


def shown_type(value: Any) -> str:
    """The name of a value's type where C names it: of types written in C that of their module goes first."""
    cls = type(value)
    if cls.__module__.partition(".")[0] in (_PACKAGE, "torch") and cls.__name__ in _IN_C:
        return f"torch.{_IN_C[cls.__name__]}"
    by_a_statement = cls.__flags__ & (_IMMUTABLE | _MADE_LATER) == _MADE_LATER
    plain = cls.__module__ == "builtins" or by_a_statement
    return cls.__name__ if plain else f"{cls.__module__}.{cls.__name__}"


def own(cls: type, *names: str) -> None:
    """Let a class of the package have inherited methods as its own, under its name."""
    if not of_package(cls):
        return
    for name in names:
        method = getattr(cls, name)
        if name in vars(cls) or not isinstance(method, FunctionType):
            continue
        code, scope = method.__code__, method.__globals__
        copy = FunctionType(code, scope, name, method.__defaults__, method.__closure__)
        copy.__kwdefaults__, copy.__doc__ = method.__kwdefaults__, method.__doc__
        copy.__annotations__, copy.__module__ = method.__annotations__, cls.__module__
        copy.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, copy)


def claim(cls: type) -> None:
    """Let the methods of the classes that ``cls`` is made of bear its name: only it is made of them."""
    for part in cls.__mro__[1:-1]:
        for name, method in vars(part).items():
            if isinstance(method, FunctionType):
                method.__qualname__ = f"{cls.__qualname__}.{name}"


def take(cls: type, part: type) -> None:
    """Let a class have the members of a class that only it is made of as its own, under its name."""
    for name, member in vars(part).items():
        if not name.startswith("__"):
            setattr(cls, name, member)
        if isinstance(member, FunctionType):
            member.__module__, member.__qualname__ = cls.__module__, f"{cls.__qualname__}.{member.__name__}"
