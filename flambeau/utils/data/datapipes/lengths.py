"""Lengths of pipes, which depend on those of others."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any


def no_length(pipe: Any) -> TypeError:
    """The error for a pipe whose source has no length."""
    return TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


def length_of(pipe: Any, source: Any) -> int:
    """The length of the source of a pipe."""
    if not isinstance(source, Sized):
        raise no_length(pipe)
    return len(source)


def lengths_of(pipe: Any, sources: Iterable[Any]) -> list[int]:
    """The lengths of several sources."""
    return [length_of(pipe, source) for source in sources]
