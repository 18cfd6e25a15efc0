"""Reading and adding at index positions: what gather, scatter and indexing come down to in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_NARROW = 4  # rows shorter than this are added element by element


def wide(x: Array) -> Array:
    """16-bit and 8-bit floats as float32, others as they are: sums are taken in this type."""
    return x.astype(np.float32) if x.dtype.kind not in "biuc" and x.dtype.itemsize <= 2 else x


def add_rows(target: Array, rows: Array, values: Array) -> None:
    """``target[rows[i]] += values[i]`` for (N, W), (K,), (K, W); rows may repeat and are not negative.

    Wide rows are sorted by target, so that each target row is summed once by ``reduceat``.
    """
    if rows.size == 0 or target.shape[1] == 0:
        return
    width = target.shape[1]
    if width < _NARROW:
        for column in range(width):
            np.add.at(target[:, column], rows, values[:, column])
        return
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if len(starts) == len(rows):
        target[rows] += values
    else:
        target[ordered[starts]] += np.add.reduceat(values[order], starts, axis=0, dtype=values.dtype)


def grid_positions(index: Array, shape: tuple[int, ...], dim: int) -> Array:
    """Flat positions in a contiguous array of ``shape`` that ``index`` names along ``dim``, as in gather."""
    step = 1
    where = np.zeros((1,) * index.ndim, np.int64)
    for d in range(index.ndim - 1, -1, -1):
        if d == dim:
            where = where + index * step
        elif index.shape[d] != 1:
            along = [1] * index.ndim
            along[d] = -1
            where = where + (np.arange(index.shape[d]) * step).reshape(along)
        step *= shape[d]
    return np.broadcast_to(where, index.shape)


def row_positions(indices: list[Array], extents: Sequence[int]) -> Array:
    """The flat row that a tuple of (broadcast, possibly negative) indices names."""
    where: Any = 0
    for index, n in zip(indices, extents):
        index = index.astype(np.int64, copy=False)
        where = where * n + np.where(index < 0, index + n, index)
    return where


def add_at(shape: tuple[int, ...], dims: tuple[int, ...], indices: list[Array], values: Array,
           target: Array | None = None) -> Array:
    """``target[..., indices, ...] += values``, indices in ``dims``; zeros of ``shape`` without a target."""
    lead = indices[0].shape
    if any(i.shape != lead for i in indices):
        lead = np.broadcast_shapes(*[i.shape for i in indices])
        indices = [np.broadcast_to(i, lead) for i in indices]
    if len(dims) == len(shape):     # single elements
        result = np.zeros(shape, values.dtype) if target is None else np.array(target, order="C")
        np.add.at(result.reshape(-1), row_positions(indices, shape).reshape(-1), values.reshape(-1))
        return result
    rest = [d for d in range(len(shape)) if d not in dims]
    order = [*dims, *rest]
    adjacent = list(dims) == list(range(dims[0], dims[0] + len(dims)))
    if adjacent and dims[0]:
        values = np.moveaxis(values, range(dims[0], dims[0] + len(lead)), range(len(lead)))
    extents = [shape[d] for d in dims]
    count, width = int(np.prod(extents)), int(np.prod([shape[d] for d in rest]))
    if target is None:
        rows = np.zeros((count, width), values.dtype)
    else:
        rows = np.ascontiguousarray(target.transpose(order)).reshape(count, width)
    where = row_positions(indices, extents)
    add_rows(rows, where.reshape(-1), values.reshape(where.size, width))
    moved = rows.reshape([shape[d] for d in order])
    return moved.transpose(np.argsort(order))
