"""Reductions in NumPy where NumPy's own would lose accuracy."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .arrays import rounded

Array = np.ndarray[Any, Any]

# What np.sum, np.any, ... call: their checks are half of their time for small arrays.
_add: Any = np.add.reduce
_any: Any = np.logical_or.reduce
_all: Any = np.logical_and.reduce
_largest: Any = np.maximum.reduce
_smallest: Any = np.minimum.reduce

# Rows that are added one after the other; longer sums are sums of such blocks.
_BLOCK = 64


def sum(x: Array, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The sum, with an error that grows slowly with the number of terms.

    NumPy adds pairwise only along contiguous memory; down the rows of a matrix it keeps one running sum for
    each column, whose error in single precision grows with the number of rows. Here such sums are made block
    by block.
    """
    wanted = x.dtype if dtype is None else np.dtype(dtype)
    if wanted.kind not in "fc" or axis is None or x.size < 4 * _BLOCK or x.ndim < 2:
        return _add(x, axis, dtype, None, keepdims)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shape, last = x.shape, x.ndim - 1
    count = prod([shape[d] for d in axes])
    if count <= _BLOCK or len(axes) == x.ndim or (last in axes and shape[last] * _BLOCK >= count):
        return _add(x, axis, dtype, None, keepdims)
    kept = [d for d in range(x.ndim) if d not in axes]
    if last in axes and x.shape[last] > 1:  # pairwise along the last dimension first
        inner = np.sum(x, axis=last, dtype=wanted, keepdims=True)
        return sum(inner, axis, keepdims, wanted)
    rows = x.transpose([*sorted(axes), *kept]).reshape(count, *[x.shape[d] for d in kept])
    result = _blocks(rows, wanted)
    return result.reshape([1 if d in axes else n for d, n in enumerate(x.shape)]) if keepdims else result


def any(x: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether some element is true."""
    return _any(x, axis, None, None, keepdims)


def all(x: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements are true."""
    return _all(x, axis, None, None, keepdims)


def max(x: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest element, NaN if there is one."""
    return _largest(x, axis, None, None, keepdims)


def min(x: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest element, NaN if there is one."""
    return _smallest(x, axis, None, None, keepdims)


def count_of(x: Array, dims: tuple[int, ...], correction: float = 0) -> Any:
    """The number of elements that are reduced, less a correction, at least 0; in the (real) type of x."""
    count = prod([x.shape[d] for d in dims])
    return x.real.dtype.type(count - correction if count > correction else 0)


def without_dims(x: Array, dims: tuple[int, ...]) -> Any:
    """x without dimensions of extent 1."""
    return np.squeeze(x, tuple(dims) if x.ndim else ())


def logsumexp(x: Array, dims: tuple[int, ...], keepdim: bool, narrow: Any = None) -> Any:
    """log(sum(exp(x))), the largest element taken out where it is finite; ``narrow``: each step rounded."""
    if not x.size:
        return np.log(sum(x, axis=dims, keepdims=keepdim))
    peak = np.max(x.real, axis=dims, keepdims=True)
    peak = np.where(np.isfinite(peak), peak, peak.dtype.type(0))
    parts = rounded(np.exp(rounded(x - peak, narrow)), narrow)
    total = rounded(np.log(rounded(sum(parts, axis=dims, keepdims=keepdim), narrow)), narrow)
    return total + (peak if keepdim else peak.reshape(total.shape))


def max_along(x: Array, dim: int) -> tuple[Any, Any]:
    """The largest elements along a dimension and the places of the first ones."""
    places = np.argmax(x, axis=dim, keepdims=True)
    return np.take_along_axis(x, places, axis=dim), places


def min_along(x: Array, dim: int) -> tuple[Any, Any]:
    """The smallest elements along a dimension and the places of the first ones."""
    places = np.argmin(x, axis=dim, keepdims=True)
    return np.take_along_axis(x, places, axis=dim), places


def _blocks(rows: Array, wanted: Any) -> Array:
    """The sum over the first dimension, in blocks of rows."""
    while len(rows) > _BLOCK:
        whole = len(rows) - len(rows) % _BLOCK
        partial = np.sum(rows[:whole].reshape(-1, _BLOCK, *rows.shape[1:]), axis=1, dtype=wanted)
        rest = np.sum(rows[whole:], axis=0, dtype=wanted, keepdims=True)
        rows = np.concatenate((partial, rest)) if whole < len(rows) else partial
    return np.sum(rows, axis=0, dtype=wanted)
