"""Submodules that are there as soon as their package is, and imported when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def submodules(package: str, *names: str) -> Callable[[str], Any]:
    """A package's ``__getattr__``: imports the submodules ``names`` when they are asked for."""
    known = frozenset(names)

    def __getattr__(name: str) -> Any:
        if name in known:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return __getattr__
