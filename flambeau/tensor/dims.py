"""Dimensions as users name them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any


def check_dim(dim: int, ndim: int) -> int:
    """A dimension counted from 0; negative ones count from the end. ``IndexError`` when out of range."""
    extent = ndim or 1
    if dim.__class__ is not int:
        dim = _whole(dim)
    if -extent <= dim < extent:
        return dim + extent if dim < 0 else dim
    if abs(dim) >= 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    raise IndexError(f"Dimension out of range (expected to be in range of [{-extent}, {extent - 1}], but got "
                     f"{dim})")


def extent_of(shape: Sequence[int], dim: int) -> int:
    """The extent of one dimension, of which a tensor without dimensions has none."""
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return shape[check_dim(dim, len(shape))]


def no_dim(function: str, dim: Any) -> TypeError:
    """The error for what is no dimension."""
    return TypeError(f"{function}(): argument 'dim' (position 1) must be int, not {type(dim).__name__}")


def _whole(dim: Any) -> int:
    """What stands for an integer as one; truth values do not."""
    if isinstance(dim, bool):
        raise TypeError("dim must be int, not bool")
    return index(dim)
