"""Index bounds: indices that are already values are checked when the operation is recorded.

Those still pending are checked by the kernel, and reported at the look with the line that recorded them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...executors.interpreter.arrays import read
from ...graph.geometry import Geometry
from ...graph.node import Failure
from ...graph.storage import Storage
from ...tensor import Tensor

# The value a storage had, and the limits of its parts (senders and receivers of edges lie in one tensor).
_ranges: WeakKeyDictionary[Storage, tuple[Any, dict[Geometry, tuple[int, int]]]] = WeakKeyDictionary()
_PARTS = 16     # of a storage, whose limits are remembered
_AT_ONCE = 8    # elements, up to which nothing is
_FEW = 24       # up to so many, a list finds its extrema faster than an array


def known_range(index: Tensor) -> tuple[int, int] | None:
    """Smallest and largest value of an index tensor, None while it is pending (or empty)."""
    storage, geometry = index._storage, index._geometry
    node = storage.node
    value = node.value
    if value is None or value.__class__ is Failure or geometry.numel == 0:
        return None
    if geometry.numel <= _AT_ONCE and geometry.numel == value.size and value.dtype is geometry.dtype.numpy:
        values = value.tolist()     # which takes as long as to remember what was found
        return min(values), max(values)
    found = _ranges.get(storage)
    if found is None or found[0] is not node or storage.exposed or len(found[1]) >= _PARTS:
        found = _ranges[storage] = node, {}
    limits = found[1].get(geometry)
    if limits is None:
        limits = found[1][geometry] = limits_of(read(value, geometry))
    return limits


def limits_of(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Smallest and largest of some integers."""
    if array.size <= _FEW:
        values = array.ravel().tolist()
        return min(values), max(values)
    return int(np.minimum.reduce(array, None)), int(np.maximum.reduce(array, None))


def check_index(index: Tensor, low: int, high: int, kind: type[Exception], message: str) -> None:
    """Raise where a known index is not in ``[low, high)``; ``message`` has ``{}`` for the first such one."""
    limits = known_range(index)
    if limits is not None and (limits[0] < low or limits[1] >= high):
        require(read(index._storage.node.value, index._geometry), low, high, kind, message)


def require(array: np.ndarray[Any, Any], low: int, high: int, kind: type[Exception], message: str) -> None:
    """The same check in a kernel."""
    if array.size:
        if low == 0 and array.size > _FEW and array.dtype == np.int64:
            # Of those that are read without a sign the negative ones are the largest.
            if np.maximum.reduce(array.view(np.uint64), None) < high:
                return
        smallest, largest = limits_of(array)
        if smallest < low or largest >= high:
            raise kind(message.format(array[(array < low) | (array >= high)].flat[0]))


OUT_OF_BOUNDS = "index {{}} is out of bounds for dimension {dim} with size {size}"


@lru_cache(maxsize=256)
def out_of_bounds(dim: int, size: int) -> str:
    """PyTorch's message, with a place for the index."""
    return OUT_OF_BOUNDS.format(dim=dim, size=size)
