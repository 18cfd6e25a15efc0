"""Marks for NVIDIA's profiler: as in a PyTorch without CUDA, there is none to take them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

__all__ = ["mark", "range", "range_pop", "range_push"]


def _refuse() -> NoReturn:
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


def range_push(msg: str) -> NoReturn:
    """Begin a range inside of those that are open."""
    _refuse()


def range_pop() -> NoReturn:
    """End the innermost range."""
    _refuse()


def mark(msg: str) -> NoReturn:
    """Mark a point in time."""
    _refuse()


@contextmanager
def range(msg: str) -> Iterator[None]:
    """A range for the length of a block."""
    range_push(msg)
    yield
