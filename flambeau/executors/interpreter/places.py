"""Where arrays are not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_LARGE = 1 << 12    # elements, from which on it pays


def places(array: Array) -> tuple[Array, ...]:
    """The positions of the elements that are not zero, a vector for each dimension (at least one).

    NumPy steps through several dimensions element by element. A flat array of truth values it searches many
    times faster: then positions are divided by the extents, from the last one on.
    """
    if array.size >= _LARGE:
        array = _truth(array)
    if array.ndim < 2 or array.size < _LARGE:
        return np.nonzero(array if array.ndim else array.reshape(1))
    rest = np.flatnonzero(array)
    found = []
    for extent in array.shape[:0:-1]:
        whole = rest // extent
        rest -= whole * extent
        found.append(rest)
        rest = whole
    return (rest, *found[::-1])


def _truth(array: Array) -> Array:
    """Which elements are not zero; of 16-bit numbers, with which NumPy is slow, by their bits."""
    if array.dtype.itemsize == 2 and array.dtype.kind not in "iu":
        return (array.view(np.int16) & 0x7FFF) != 0
    return array if array.dtype.kind == "b" else array != 0
