"""A constructor of their own for classes that inherit one from a private base, for the sake of errors."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ...naming import of_package


class OwnConstructor:
    """Mixed into a private base of public classes: each of these gets a copy of its ``__init__``.

    Python's errors for wrong arguments name the function, and users do not know the private base.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        inherited: Any = cls.__init__
        of_users = not of_package(cls)
        if of_users or cls.__name__.startswith("_") or "__init__" in vars(cls) \
                or not isinstance(inherited, FunctionType):
            return
        made: Any = FunctionType(inherited.__code__, inherited.__globals__, inherited.__name__,
                                 inherited.__defaults__, inherited.__closure__)
        made.__kwdefaults__, made.__annotations__ = inherited.__kwdefaults__, inherited.__annotations__
        made.__doc__, made.__qualname__ = inherited.__doc__, f"{cls.__name__}.__init__"
        type.__setattr__(cls, "__init__", made)
