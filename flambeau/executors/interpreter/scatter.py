"""Reading and adding at index positions: what gather, scatter and indexing come down to in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_EACH = 1 << 16     # elements: more of them are added by rows, since an index for each takes much memory


def wide(x: Array) -> Array:
    """16-bit and 8-bit floats as float32, others as they are: sums are taken in this type."""
    return x.astype(np.float32) if x.dtype.kind not in "biuc" and x.dtype.itemsize <= 2 else x


def take(x: Array, positions: Array, axis: int | None = None) -> Array:
    """``np.take``, which for small arrays takes three times as long as the method that it calls."""
    return x.take(positions, axis)


def take_along_axis(x: Array, indices: Array, axis: int) -> Array:
    """``np.take_along_axis``, quicker on small arrays."""
    if not _names_each(x, indices, axis):
        return np.take_along_axis(x, indices, axis)
    return x.reshape(-1).take(grid_positions(indices, x.shape, axis % x.ndim))


def put_along_axis(x: Array, indices: Array, values: Array, axis: int) -> None:
    """``np.put_along_axis`` on contiguous arrays, quicker on small ones."""
    if not _names_each(x, indices, axis):
        np.put_along_axis(x, indices, values, axis)
    else:
        x.reshape(-1)[grid_positions(indices, x.shape, axis % x.ndim)] = values


def _names_each(x: Array, indices: Array, axis: int) -> bool:
    """Whether indices, not negative in what is chosen by sorting, are few and not broadcast."""
    ours, theirs, axis = x.shape, indices.shape, axis % x.ndim
    return x.size <= _EACH and ours[:axis] == theirs[:axis] and ours[axis + 1:] == theirs[axis + 1:]


def add_rows(target: Array, rows: Array, values: Array) -> None:
    """``target[rows[i]] += values[i]`` for (N, W), (K,), (K, W), one after the other; rows may repeat.

    Elements are added where they lie in the memory of a contiguous target. Many of them are sorted by target,
    so that each target row is summed once by ``reduceat``.
    """
    width = target.shape[1]
    if rows.size == 0 or width == 0:
        return
    if width == 1 or values.size <= _EACH:
        if width > 1:
            rows = np.add.outer(rows * width, np.arange(width)).reshape(-1)
        np.add.at(target.reshape(-1), rows, values.reshape(-1))
        return
    rows = _counted(rows, len(target))
    order = rows.argsort(kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if len(starts) == len(rows):
        target[rows] += values
    else:
        target[ordered[starts]] += np.add.reduceat(values[order], starts, axis=0, dtype=values.dtype)


def grid_positions(index: Array, shape: tuple[int, ...], dim: int) -> Array:
    """Flat positions in a contiguous array of ``shape`` that ``index`` names along ``dim``, as in gather."""
    step, where = prod(shape[dim + 1:]), index
    if step != 1:
        where = index * step
    step = 1
    for d in range(index.ndim - 1, -1, -1):
        n = index.shape[d]
        if d != dim and n != 1:
            along = np.arange(0, n * step, step) if step else np.zeros(n, np.int64)
            where = where + along.reshape(n, *[1] * (index.ndim - 1 - d))
        step *= shape[d]
    return where


def row_positions(indices: list[Array], extents: Sequence[int]) -> Array:
    """The flat row that a tuple of (broadcast, possibly negative) indices names.

    A single index may stay negative, from the end of all rows.
    """
    if len(indices) == 1:
        return indices[0].astype(np.int64, copy=False)
    where: Any = 0
    for index, n in zip(indices, extents):
        where = where * n + _counted(index.astype(np.int64, copy=False), n)
    return where


def _counted(index: Array, extent: int) -> Array:
    """The index counted from the beginning."""
    if not index.size or _smallest(index, None) >= 0:
        return index
    return np.where(index < 0, index + extent, index)


_smallest: Any = np.minimum.reduce


def add_at(shape: tuple[int, ...], dims: tuple[int, ...], indices: list[Array], values: Array,
           target: Array | None = None) -> Array:
    """``target[..., indices, ...] += values``, indices in ``dims``; zeros of ``shape`` without a target.

    Of a contiguous target the elements may be overwritten.
    """
    lead = indices[0].shape
    if len(indices) > 1 and any(i.shape != lead for i in indices):
        lead = np.broadcast_shapes(*[i.shape for i in indices])
        indices = [np.broadcast_to(i, lead) for i in indices]
    first, last = dims[0], dims[-1]
    if first and last - first == len(dims) - 1:
        ahead = range(first, first + len(lead))     # the indices' dimensions come before the others
        values = values.transpose([*ahead, *range(first), *range(first + len(lead), values.ndim)])
    extents = [shape[d] for d in dims]
    rest = [d for d in range(len(shape)) if d not in dims]
    order = [*dims, *rest]
    sorted_already = last == len(dims) - 1
    where = row_positions(indices, extents)
    count, width = prod(extents), prod([shape[d] for d in rest])
    if target is None:
        rows = np.zeros((count, width), values.dtype)
    else:
        ahead_of_rest = target if sorted_already else target.transpose(order)
        rows = np.ascontiguousarray(ahead_of_rest).reshape(count, width)
    add_rows(rows, where.reshape(-1), values.reshape(where.size, width))
    if sorted_already:
        return rows.reshape(shape)
    back = [order.index(d) for d in range(len(shape))]
    return rows.reshape([shape[d] for d in order]).transpose(back)
