"""Letting a layer that shares methods with others be named in its errors."""

from __future__ import annotations

import types
from typing import Any, TypeVar

T = TypeVar("T", bound=type)


def own_constructor(cls: T) -> T:
    """Give a class a copy of the constructor that it inherits, under its own name.

    Python names the class that a constructor was written in when an argument is missing or unknown; who
    writes ``Conv2d()`` should read of Conv2d and not of the base that all convolutions share.
    """
    cls.__init__ = _named_after(cls, cls.__init__)  # type: ignore[misc]
    return cls


def own_forward(cls: T) -> T:
    """The same for the `forward` that a class inherits."""
    cls.forward = _named_after(cls, cls.forward)  # type: ignore[attr-defined]
    return cls


def _named_after(cls: Any, inherited: Any) -> Any:
    name = f"{cls.__qualname__}.{inherited.__name__}"
    own = types.FunctionType(
        inherited.__code__.replace(co_qualname=name),
        inherited.__globals__,
        inherited.__name__,
        inherited.__defaults__,
        inherited.__closure__,
    )
    own.__kwdefaults__ = inherited.__kwdefaults__
    own.__annotations__ = inherited.__annotations__
    own.__doc__ = inherited.__doc__
    own.__qualname__ = name
    own.__module__ = cls.__module__
    return own
