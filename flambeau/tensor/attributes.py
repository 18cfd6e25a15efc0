"""What lies in a tensor's ``__dict__``: to users only what they have set, not the handle's own fields.

Programs pass ``parameter.__dict__`` on as keyword arguments, and write to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# The handle's own fields.
PRIVATE = frozenset({
    "_storage", "_geometry", "_requires_grad", "_grad_fn", "_output_nr", "_grad", "_base", "_view",
    "_base_version", "_counter", "_hooks", "_accumulate", "_swapped", "_retains_grad", "_conj",
    "_name", "_keep"})


class Handle:
    """Base of tensors: its instances have a dict that ``fields`` gives, whatever ``__dict__`` says."""

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


def fields(x: Any) -> dict[str, Any]:
    """All fields of a tensor, the handle's own among them."""
    found: dict[str, Any] = _dict_of(x)
    return found


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
