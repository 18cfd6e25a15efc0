"""Where arrays are not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_LONG = 32              # elements of a row that are worth counting
_LARGE = 1 << 12


def places(array: Array) -> tuple[Array, ...]:
    """The positions of the elements that are not zero, a vector for each dimension (at least one).

    NumPy steps through several dimensions element by element. A flat array of truth values it searches many
    times faster: then rows are repeated as often as they have such elements.
    """
    if array.size >= _LARGE:
        array = _truth(array)
    if array.ndim < 2 or array.shape[-1] < _LONG or array.size < _LARGE:
        return np.nonzero(array if array.ndim else array.reshape(1))
    rows = array.reshape(-1, array.shape[-1])
    flat, counts = np.flatnonzero(rows), np.count_nonzero(rows, axis=1)
    numbers = np.arange(len(rows))
    columns = flat - np.repeat(numbers * rows.shape[1], counts)
    return (*[np.repeat(lead, counts) for lead in np.unravel_index(numbers, array.shape[:-1])], columns)


def _truth(array: Array) -> Array:
    """Which elements are not zero; of 16-bit numbers, with which NumPy is slow, by their bits."""
    if array.dtype.itemsize == 2 and array.dtype.kind not in "iu":
        return (array.view(np.int16) & 0x7FFF) != 0
    return array if array.dtype.kind == "b" else array != 0
