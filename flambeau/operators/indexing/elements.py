"""Numbers assigned to single elements, ``x[i, j] = 2.5``: written at once where nobody else sees the value.

A loop that fills a tensor element by element would record as many writes, each time to other places.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.look import values_read
from ...graph.geometry import Geometry
from ...graph.node import constant
from ...graph.references import UNHELD
from ...graph.storage import Storage
from ...tensor import Tensor
from ...tensor.aliasing.inplace import is_unshared, writes_few
from ...tensor.aliasing.views import is_plain
from ..creation.creation import FULL
from .subscript_views import is_position

_FRESH = 1 << 16    # elements of a new tensor, whose value is made known for that
_LARGEST = 3.4e38   # of float32, or nearly
_EXACT = 1 << 53


def assign_number(x: Tensor, key: Any, number: int | float) -> bool:
    """Write a number to the element that ``key`` names; false, and nothing done, if that is not so simple."""
    g, storage = x._geometry, x._storage
    place = _place(g, key)
    if place is None or not _fits(number, g.dtype) or not is_plain(x) or storage.size == 1 \
            or g.dtype is not storage.geometry.dtype or not writes_few():
        return False
    if storage.node.value is None:
        _make_known(storage)
    value = storage.node.value
    if value.__class__ is not np.ndarray or storage.__class__ is not Storage:
        return False
    if not storage.exposed:
        if getrefcount(storage.node) > UNHELD or getrefcount(value) > UNHELD + 1 \
                or not value.flags.writeable or not is_unshared(value):
            return False
        storage.node = constant(value)  # what is remembered of a node is not known of this one
    value[place] = number
    storage.version += 1
    values_read[0] += 1
    return True


def known_number(value: Tensor, x: Tensor) -> int | float | None:
    """The number that a known 0-dim tensor assigns to an element of ``x``; None if that is not so simple."""
    g, storage = value._geometry, value._storage
    if g.ndim or g.dtype is not x._geometry.dtype or storage is x._storage or value.requires_grad:
        return None     # before its node is asked for, which may have to be made
    flat = storage.node.value
    if flat.__class__ is not np.ndarray or flat.dtype is not g.dtype.numpy:
        return None
    found: int | float = flat.item(g.offset)
    return found


def _place(g: Geometry, key: Any) -> int | None:
    """Where the element of an integer, or of as many as there are dimensions, lies; None for other keys."""
    items = (key,) if key.__class__ is int or is_position(key) else key
    if items.__class__ is not tuple or len(items) != len(g.shape):
        return None
    place = g.offset
    for item, n, stride in zip(items, g.shape, g.strides):
        if is_position(item):
            item = item.item()
        if item.__class__ is not int or not -n <= item < n:
            return None
        place += (item if item >= 0 else item + n) * stride
    return place


def _fits(number: int | float, dtype: dtypes.dtype) -> bool:
    """Whether the element becomes this number, but for rounding."""
    if number.__class__ is int:
        if dtype is dtypes.float32 or dtype is dtypes.float64 or dtype is dtypes.int64:
            return -_EXACT <= number <= _EXACT
        return False
    return dtype is dtypes.float64 or (dtype is dtypes.float32 and -_LARGEST < number < _LARGEST)


def _make_known(storage: Storage) -> None:
    """Compute the value of a small tensor that has just been made of one number."""
    node = storage.node
    if node.signature is not None and node.signature.operator is FULL and storage.size <= _FRESH:
        storage.node = constant(np.full(storage.size, node.operands[0], storage.geometry.dtype.numpy))
