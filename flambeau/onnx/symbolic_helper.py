"""Decorators of functions that write operators as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def parse_args(*arg_descriptors: str) -> Callable[[F], F]:
    """Say what kinds the arguments are of ("v" a value, "i" a whole number, "f" a number, ...)."""
    def note(function: F) -> F:
        function._arg_descriptors = arg_descriptors  # type: ignore[attr-defined]
        return function
    return note


__all__ = ["parse_args"]
