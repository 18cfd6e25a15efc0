"""Tensors joined at once, without recording (Note: known values)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...executors.gather import is_native, spend
from ...graph.geometry import contiguous
from ...graph.operator import Operator
from ...graph.storage import Storage
from ..batching import levels
from ..overrides import modes
from ..recording.record import interceptors
from ..tape import state
from ..tensor import Tensor, fresh
from .chains import native_samples
from .joint import joined
from .known import known_arrays, known_parts, known_rows, known_rows_of, made, private, rows_of
from .waiting import Shared

Array = np.ndarray[Any, Any]

_READ = 250.0       # modelled nanoseconds that native code would save for each tensor

# Where batches are made: in a worker process, memory that the other process sees.
allocate: list[Callable[[int, Any], Array]] = [private]


def stack_tensors(batch: Sequence[Any]) -> Tensor | None:
    """The tensors of a batch stacked; None where that has to be recorded, or is a mistake."""
    stacked = stack_rows(batch)
    if stacked is not None:
        return stacked
    arrays = known_arrays(batch)
    return None if arrays is None else stack_arrays(arrays)


def stack_rows(batch: Sequence[Any]) -> Tensor | None:
    """``stack_tensors`` for elements that lie in order."""
    if is_native():
        if (flat := _placed(batch)) is not None:
            return made(flat, (len(batch), *batch[0]._geometry.shape))
    elif (arrays := _shared_arrays(batch)) is not None and (stacked := stack_arrays(arrays)) is not None:
        return stacked
    rows = known_rows_of(batch)
    if rows is not None:
        return made(rows_of(*rows, allocate[0]), (len(batch), *batch[0].shape))
    if (together := _joined(batch, True)) is not None:
        return together
    flats = known_rows(batch)
    if flats is None:
        return None
    spend(len(batch) * _READ)
    shape = batch[0].shape
    flat = allocate[0](len(flats) * flats[0].size, flats[0].dtype)
    np.concatenate(flats, out=flat)
    return made(flat, (len(flats), *shape))


def _placed(batch: Sequence[Any]) -> Array | None:
    """The elements of tensors of one shape that have values, one after the other, read natively; None where
    they lie in another order.
    """
    first = batch[0]
    if first.__class__ is not Tensor or modes or levels or interceptors:
        return None
    g, samples = first._geometry, native_samples()
    if not g.numel or (places := samples.places([*batch], g.dtype.itemsize)) is None:
        return None
    flat = allocate[0](len(batch) * g.numel, g.dtype.numpy)
    samples.copy(places, flat)
    return flat


def _shared_arrays(batch: Sequence[Any]) -> list[Array] | None:
    """The arrays on which tensors were just made; None for everything else."""
    first = batch[0]
    if first.__class__ is not Tensor or first._storage.__class__ is not Shared \
            or modes or levels or interceptors \
            or {*map(type, batch)} != _PLAIN or True in [x._requires_grad for x in batch]:
        return None
    g, storages = first._storage.geometry, [x._storage for x in batch]
    if {*map(type, storages)} != _SHARED or {x._geometry for x in batch} != {g}:
        return None
    spend(len(batch) * _READ)
    arrays: list[Array] = [x.owner for x in storages]
    return arrays if arrays[0].shape == g.shape and arrays[0].dtype == g.dtype.numpy else None


_PLAIN, _SHARED = {Tensor}, {Shared}


def _joined(batch: Sequence[Any], stacked: bool) -> Tensor | None:
    """Tensors of which some wait, stacked or joined (Note: joint computing); None where they do not wait for
    the same, or are not compared natively.
    """
    if state.at_once is None or modes or levels or interceptors or not is_native():
        return None
    node = joined(batch, allocate[0])
    if node is None:
        return None
    first = batch[0]._geometry
    shape = (len(batch), *first.shape) if stacked else (len(batch) * first.shape[0], *first.shape[1:])
    g = contiguous(shape, first.dtype)
    return fresh(Storage(node, g), g)


def join_tensors(batch: Sequence[Any]) -> Tensor | None:
    """The tensors of a batch joined along their first dimension; None as in ``stack_tensors``."""
    if is_native() and (flat := _placed(batch)) is not None and (shape := tuple(batch[0]._geometry.shape)):
        return made(flat, (len(batch) * shape[0], *shape[1:]))
    rows = known_rows_of(batch)
    if rows is not None and (shape := tuple(batch[0].shape)):
        return made(rows_of(*rows, allocate[0]), (len(batch) * shape[0], *shape[1:]))
    if (together := _joined(batch, False)) is not None:
        return together
    parts = known_parts(batch)
    if parts is None:
        return None
    flats, count = parts
    flat = allocate[0](sum(map(len, flats)), flats[0].dtype)
    np.concatenate(flats, out=flat)
    return made(flat, (count, *batch[0].shape[1:]))


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


def take_rows(table: Array, rows: Array | list[int], shape: Sequence[int]) -> Tensor:
    """The rows of an array at given positions, which are in range, as a tensor of rows of a shape."""
    flat = allocate[0](len(rows) * math.prod(shape), table.dtype)
    out = flat if table.ndim == 1 else flat.reshape(len(rows), *table.shape[1:])
    if table.flags.c_contiguous:
        table.take(rows, 0, out, "clip")    # other modes copy in between
    else:
        out[...] = table[rows]
    return made(flat, (len(rows), *shape))


# What joins the values of tensors, for operators that do (filled where they are defined).
joins: dict[Operator, Callable[[Sequence[Any]], Tensor | None]] = {}


__all__ = ["allocate", "join_tensors", "joins", "stack_arrays", "stack_numbers", "stack_rows",
           "stack_tensors", "take_rows"]
