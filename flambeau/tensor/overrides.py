"""``__torch_function__``: subclasses and modes that want to see every call.

The public functions are bare until the first class that overrides ``__torch_function__`` (or the first mode) exists:
then each is wrapped once with a dispatcher (``on_first_override``), so that others pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

on_first_override: list[Callable[[], None]] = []
_active = False


def subclass_defined(cls: type) -> None:
    """Called for every subclass of Tensor."""
    own = cls.__dict__.get("__torch_function__")
    if own is None:
        cls._overrides = cls.__mro__[1]._overrides  # type: ignore[attr-defined]
        if cls.__module__.startswith("flambeau."):
            return
        cls._overrides = True  # type: ignore[attr-defined]
    else:
        cls._overrides = True  # type: ignore[attr-defined]
    activate()


def activate() -> None:
    """Wrap the public functions with the dispatcher, once."""
    global _active
    if not _active:
        _active = True
        for wrap in on_first_override:
            wrap()
