"""Reductions in NumPy where NumPy's own would lose accuracy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrays import rounded
from .scatter import grid_positions

Array = np.ndarray[Any, Any]

# What np.sum, np.any, ... call: their checks are half of their time for small arrays.
_add: Any = np.add.reduce
_multiply: Any = np.multiply.reduce
_any: Any = np.logical_or.reduce
_all: Any = np.logical_and.reduce
_largest: Any = np.maximum.reduce
_smallest: Any = np.minimum.reduce

# Rows that are added one after the other; longer sums are sums of such blocks.
_BLOCK = 64

# Fewer numbers are reduced as they come.
_MANY = 4 * _BLOCK

# Rows of up to so many numbers NumPy adds one after the other.
_SHORT = 7


def sum(x: Array, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The sum, with an error that grows slowly with the number of terms.

    NumPy adds pairwise only along contiguous memory; down the rows of a matrix it keeps one running sum for
    each column, whose error in single precision grows with the number of rows. Here such sums are made block
    by block.
    """
    if x.size < _MANY or axis is None or x.ndim < 2 or (axis.__class__ is tuple and len(axis) == x.ndim):
        return _add(x, axis, dtype, None, keepdims)
    if _has_short_rows(x, axis, dtype):
        return _by_columns(np.add, x, keepdims)
    wanted = x.dtype if dtype is None else np.dtype(dtype)
    if wanted.kind not in "fc":
        return _add(x, axis, dtype, None, keepdims)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shape, last = x.shape, x.ndim - 1
    count = math.prod([shape[d] for d in axes])
    if count <= _BLOCK or (last in axes and shape[last] * _BLOCK >= count):
        return _add(x, axis, dtype, None, keepdims)
    kept = [d for d in range(x.ndim) if d not in axes]
    if last in axes and x.shape[last] > 1:  # pairwise along the last dimension first
        inner = _add(x, last, wanted, None, True)
        return sum(inner, axis, keepdims, wanted)
    rows = x.transpose([*sorted(axes), *kept]).reshape(count, *[x.shape[d] for d in kept])
    result = _blocks(rows, wanted)
    return result.reshape([1 if d in axes else n for d, n in enumerate(x.shape)]) if keepdims else result


def prod(x: Array, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The product."""
    if x.size >= _MANY and x.shape[-1] <= _SHORT and _has_short_rows(x, axis, dtype):
        return _by_columns(np.multiply, x, keepdims)
    return _multiply(x, axis, dtype, None, keepdims)


def any(x: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether some element is true."""
    return _any(x, axis, None, None, keepdims)


def all(x: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements are true."""
    return _all(x, axis, None, None, keepdims)


def max(x: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest element, NaN if there is one."""
    if x.size >= _MANY and x.shape[-1] <= _SHORT and _has_short_rows(x, axis, x.dtype):
        return _by_columns(np.maximum, x, keepdims)
    return _largest(x, axis, None, None, keepdims)


def min(x: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest element, NaN if there is one."""
    if x.size >= _MANY and x.shape[-1] <= _SHORT and _has_short_rows(x, axis, x.dtype):
        return _by_columns(np.minimum, x, keepdims)
    return _smallest(x, axis, None, None, keepdims)


def count_of(x: Array, dims: tuple[int, ...], correction: float = 0) -> Any:
    """The number of elements that are reduced, less a correction, at least 0; in the (real) type of x."""
    count = math.prod([x.shape[d] for d in dims])
    kind = x.dtype if x.dtype.kind != "c" else x.real.dtype
    return kind.type(count - correction if count > correction else 0)


def without_dims(x: Array, dims: tuple[int, ...]) -> Any:
    """x without dimensions of extent 1."""
    return np.squeeze(x, tuple(dims) if x.ndim else ())


def logsumexp(x: Array, dims: tuple[int, ...], keepdim: bool, narrow: Any = None) -> Any:
    """log(sum(exp(x))), the largest element taken out where it is finite; ``narrow``: each step rounded."""
    if not x.size:
        return np.log(sum(x, axis=dims, keepdims=keepdim))
    peak = _largest(x if x.dtype.kind != "c" else x.real, dims, None, None, True)
    peak = np.where(np.isfinite(peak), peak, peak.dtype.type(0))
    parts = rounded(np.exp(rounded(x - peak, narrow)), narrow)
    total = rounded(np.log(rounded(sum(parts, axis=dims, keepdims=keepdim), narrow)), narrow)
    return total + (peak if keepdim else peak.reshape(total.shape))


def max_along(x: Array, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The largest elements along a dimension and the places of the first ones."""
    return _with_places(x, x.argmax(dim, keepdims=keepdim), dim, keepdim)


def min_along(x: Array, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The smallest elements along a dimension and the places of the first ones."""
    return _with_places(x, x.argmin(dim, keepdims=keepdim), dim, keepdim)


def _with_places(x: Array, places: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    if x.ndim == 1 and not keepdim:
        return x[places], places
    shape = x.shape
    if x.ndim == 2 and not keepdim:
        rows, width = shape
        where = places + np.arange(0, rows * width, width) if dim else places * width + np.arange(width)
    else:
        grid = places if keepdim else places.reshape(*shape[:dim], 1, *shape[dim + 1:])
        where = grid_positions(grid, shape, dim).reshape(places.shape)
    return x.reshape(-1).take(where), places


def _has_short_rows(x: Array, axis: Any, dtype: Any) -> bool:
    """Whether these are many reductions of few numbers: NumPy's time goes into what lies between the rows."""
    last = x.ndim - 1
    if (axis != (last,) and axis != last) or not 1 < x.shape[-1] <= _SHORT:
        return False
    own = x.dtype
    if own.kind not in "fiu" or own.itemsize < 4:
        return False
    return dtype == own if dtype is not None else own.kind == "f" or own.itemsize == 8   # else sums are wider


def _by_columns(function: np.ufunc, x: Array, keepdims: bool) -> Array:
    """The rows' reduction, one column after the other, as NumPy combines so few."""
    total: Array = function(x[..., 0], x[..., 1])
    for i in range(2, x.shape[-1]):
        function(total, x[..., i], out=total)
    return total[..., None] if keepdims else total


def _blocks(rows: Array, wanted: Any) -> Array:
    """The sum over the first dimension, in blocks of rows."""
    while len(rows) > _BLOCK:
        whole = len(rows) - len(rows) % _BLOCK
        partial = _add(rows[:whole].reshape(-1, _BLOCK, *rows.shape[1:]), 1, wanted)
        rest = _add(rows[whole:], 0, wanted, None, True)
        rows = np.concatenate((partial, rest)) if whole < len(rows) else partial
    return _add(rows, 0, wanted)
