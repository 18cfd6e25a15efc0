"""Stacking samples at once, without recording (Note: known values)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....tensor import Tensor
from ....tensor.known import known_arrays, known_rows, made

Array = np.ndarray[Any, Any]


def _private(count: int, dtype: Any) -> Array:
    return np.empty(count, dtype)


# Where batches are made: in a worker process, memory that the other process sees.
allocate: list[Callable[[int, Any], Array]] = [_private]


def stack_tensors(batch: Sequence[Any]) -> Tensor | None:
    """The tensors of a batch stacked; None where that has to be recorded, or is a mistake."""
    flats = known_rows(batch)
    if flats is None:
        arrays = known_arrays(batch)
        return None if arrays is None else stack_arrays(arrays)
    shape = batch[0].shape
    flat = allocate[0](len(flats) * flats[0].size, flats[0].dtype)
    np.concatenate(flats, out=flat)
    return made(flat, (len(flats), *shape))


def stack_arrays(arrays: Sequence[Array]) -> Tensor | None:
    """Arrays stacked as a tensor; None unless they are of one shape and dtype."""
    first = arrays[0]
    shape, dtype = first.shape, first.dtype
    for array in arrays:
        if array.shape != shape or (array.dtype is not dtype and array.dtype != dtype):
            return None
    flat = allocate[0](len(arrays) * first.size, dtype)
    if shape:  # joined along their first dimension, which is quicker than np.stack
        np.concatenate(arrays, out=flat.reshape(-1, *shape[1:]) if first.size else None)
    else:
        flat[:] = arrays
    return made(flat, (len(arrays), *shape))


def stack_numbers(batch: Sequence[Any], kind: type) -> Tensor | None:
    """Python's numbers as a tensor; None unless all are of one kind and in its range."""
    for number in batch:
        if number.__class__ is not kind:
            return None
    try:
        flat = np.array(batch, np.int64 if kind is int else np.float64)
    except OverflowError:
        return None
    return made(flat, flat.shape)


def take_rows(table: Array, rows: Array) -> Tensor:
    """The rows of an array at given positions, which are in range, as a tensor."""
    shape = len(rows), *table.shape[1:]
    flat = allocate[0](len(rows) * (table[:1].size if len(table) else 0), table.dtype)
    np.take(table, rows, 0, flat.reshape(shape), "clip")  # any other mode makes a copy in between
    return made(flat, shape)


__all__ = ["allocate", "stack_arrays", "stack_numbers", "stack_tensors", "take_rows"]
