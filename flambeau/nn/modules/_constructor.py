"""Letting a layer that shares its constructor with others be named in its errors."""

from __future__ import annotations

import types
from typing import Any, TypeVar

T = TypeVar("T", bound=type)


def own_constructor(cls: T) -> T:
    """Give a class a copy of the constructor that it inherits, under its own name.

    Python names the class that a constructor was written in when an argument is missing or unknown; who
    writes ``Conv2d()`` should read of Conv2d and not of the base that all convolutions share.
    """
    inherited: Any = cls.__init__  # type: ignore[misc]
    name = f"{cls.__qualname__}.__init__"
    own = types.FunctionType(
        inherited.__code__.replace(co_qualname=name),
        inherited.__globals__,
        "__init__",
        inherited.__defaults__,
        inherited.__closure__,
    )
    own.__kwdefaults__ = inherited.__kwdefaults__
    own.__annotations__ = inherited.__annotations__
    own.__doc__ = inherited.__doc__
    own.__qualname__ = name
    own.__module__ = cls.__module__
    cls.__init__ = own  # type: ignore[misc]
    return cls
