"""What lies in a tensor's ``__dict__``: to users only what they have set, not the handle's own fields.

Programs pass ``parameter.__dict__`` on as keyword arguments, and write to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# The handle's own fields: those that each operator reads, and others.
HOT = ("_storage", "_geometry", "_requires_grad", "_grad_fn", "_counter", "_base", "_view", "_base_version")
PRIVATE = frozenset({
    *HOT, "_output_nr", "_grad", "_hooks", "_accumulate", "_swapped", "_retains_grad", "_conj", "_name",
    "_keep"})


class Handle:
    """Base of tensors: its instances have a dict that ``fields`` gives, whatever ``__dict__`` says.

    Note: hot fields. Those that each operator reads lie in slots, which Python reaches in the fewest steps. A
    slot has no default: who makes a tensor sets ``_storage``, ``_geometry``, ``_requires_grad``,
    ``_grad_fn``, ``_counter`` and ``_base``, and of a view (what has a ``_base``) the rest. ``blank`` does,
    and what is hot does it itself.
    """

    __slots__ = (*HOT, "__dict__", "__weakref__")

    if TYPE_CHECKING:  # methods are attached by the operators
        def __getattr__(self, name: str) -> Any: ...
        __add__: Any
        __radd__: Any
        __sub__: Any
        __rsub__: Any
        __mul__: Any
        __rmul__: Any
        __truediv__: Any
        __rtruediv__: Any
        __floordiv__: Any
        __mod__: Any
        __matmul__: Any
        __pow__: Any
        __neg__: Any
        __and__: Any
        __or__: Any
        __invert__: Any
        __lt__: Any
        __le__: Any
        __gt__: Any
        __ge__: Any
        __getitem__: Any
        __setitem__: Any

        def __eq__(self, other: Any) -> Any: ...
        def __ne__(self, other: Any) -> Any: ...


_dict_of = vars(Handle)["__dict__"].__get__
_slots: Any = [vars(Handle)[name] for name in HOT]
_defaults: Any = [(vars(Handle)[name], value) for name, value in (
    ("_requires_grad", False), ("_grad_fn", None), ("_counter", None), ("_base", None), ("_view", None),
    ("_base_version", 0))]
_new = object.__new__


def blank(cls: Any) -> Any:
    """A tensor of a class, which lacks its storage and geometry and has no history (Note: hot fields)."""
    out = _new(cls)
    for slot, value in _defaults:
        slot.__set__(out, value)
    return out


def fields(x: Any) -> dict[str, Any]:
    """What lies in a tensor's own dict, the handle's other fields among it."""
    found: dict[str, Any] = _dict_of(x)
    return found


def become(x: Any, slots: list[Any], members: dict[str, Any]) -> None:
    """Let a tensor have these fields (``contents``)."""
    for slot, value in zip(_slots, slots):
        if value is not _ABSENT:
            slot.__set__(x, value)
    own = _dict_of(x)
    own.clear()
    own.update(members)


def contents(x: Any) -> tuple[list[Any], dict[str, Any]]:
    """All fields of a tensor, the hot ones and the others."""
    return [_value(slot, x) for slot in _slots], _dict_of(x).copy()


def _value(slot: Any, x: Any) -> Any:
    try:
        return slot.__get__(x)
    except AttributeError:
        return _ABSENT


_ABSENT = object()


class Extras(dict[str, Any]):
    """What users have set on a tensor; what is changed in it is changed on the tensor."""

    __slots__ = ("_all",)

    def __init__(self, x: Any) -> None:
        self._all = _dict_of(x)
        super().__init__({name: value for name, value in self._all.items() if name not in PRIVATE})

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._all[name] = value

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        del self._all[name]

    def update(self, *args: Any, **kwargs: Any) -> None:
        """As a dict's."""
        super().update(*args, **kwargs)
        self._all.update(*args, **kwargs)

    def clear(self) -> None:
        """As a dict's."""
        for name in list(self):
            del self[name]

    def pop(self, name: str, *default: Any) -> Any:
        """As a dict's."""
        if name in self:
            del self._all[name]
        return super().pop(name, *default)

    def setdefault(self, name: str, default: Any = None) -> Any:
        """As a dict's."""
        if name not in self:
            self[name] = default
        return self[name]


def _replace(x: Any, value: dict[str, Any]) -> None:
    extras = Extras(x)
    extras.clear()
    extras.update(value)


attributes = property(Extras, _replace)     # what ``__dict__`` of tensors is


def settle(cls: type) -> None:
    """Let a class of tensors that inherits from others, too, say of ``__dict__`` what tensors say.

    A base of its own is put first: a class cannot be given a ``__dict__`` once it is made.
    """
    says = next(vars(kind)["__dict__"] for kind in cls.__mro__ if "__dict__" in vars(kind))
    if says is not attributes:
        cls.__bases__ = (type("Attributed", (Handle,), {"__dict__": attributes}), *cls.__bases__)


__all__ = ["PRIVATE", "Extras", "Handle", "attributes", "fields", "settle"]
