"""Fast access to parameters and submodules as attributes.

Members live in tables, not in a module's `__dict__`, so `self.weight` would be a failed lookup, an exception
and a call of `__getattr__`: four times the cost of the table itself, in every forward of every layer. Instead
the first registration of a name puts a descriptor for it on the module's class. It changes nothing visible:
it gives way to instance attributes, is not there when asked for on the class, and what it does not find
is looked up behind it, in the other base classes, and then by `__getattr__` as ever.

A class with a `__getattr__` of its own sees every access, as in PyTorch: there the descriptor finds nothing,
and so hides one of a base class.
"""

from __future__ import annotations

from typing import Any


class MemberAccess:
    """Finds the member `name` in the instance's table.

    It is a non-data descriptor, so that instance attributes come first.
    """

    __slots__ = ("name", "table")

    def __init__(self, table: str, name: str) -> None:
        self.table = table
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        try:
            return instance.__dict__[self.table][self.name]
        except (AttributeError, KeyError):
            pass    # on the class itself, or the instance has no such member
        return self.behind(instance, type(instance) if owner is None else owner)

    def behind(self, instance: Any, owner: type) -> Any:
        """What the classes have under the name beside such descriptors; else `__getattr__` is asked next."""
        for base in owner.__mro__:
            found = base.__dict__.get(self.name, self)
            if not isinstance(found, MemberAccess):
                get = getattr(type(found), "__get__", None)
                return found if get is None else get(found, instance, owner)
        raise AttributeError(self.name)


class Unfound(MemberAccess):
    """Leaves the member to the class's own `__getattr__`."""

    __slots__ = ()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.behind(instance, type(instance) if owner is None else owner)


def install(cls: type, table: str, name: str, getattr_of_modules: Any) -> None:
    """Put the descriptor for `name` on `cls`, unless the class has an attribute of that name."""
    if not name.isidentifier():
        return
    there = next((base.__dict__[name] for base in cls.__mro__ if name in base.__dict__), None)
    kind = MemberAccess if cls.__getattr__ is getattr_of_modules else Unfound  # type: ignore[attr-defined]
    if there is None or (there.__class__ is MemberAccess and kind is Unfound):
        setattr(cls, name, kind(table, name))


def installed_on(cls: type) -> set[str]:
    """Return the names of the descriptors on `cls`, for those who list its attributes."""
    return {
        name
        for base in cls.__mro__
        for name, value in base.__dict__.items()
        if isinstance(value, MemberAccess)
    }
