"""Matrix products in NumPy, arranged so that BLAS does the work."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import FLOATING
from ...graph.geometry import Geometry
from . import blas

Array = np.ndarray[Any, Any]
_MANY = 1 << 14     # multiply-adds of integers, for which NumPy has a plain loop


def matmul(a: Array, b: Array) -> Array:
    """``a @ b`` over the last two dimensions; a batch times one matrix is one product.

    NumPy falls back to a loop of its own, many times slower, for matrices that BLAS cannot address (no
    dimension with unit stride): those are copied first. For outer products BLAS takes ten times as long as
    their multiplications do.
    """
    if a.shape[-1] == 1 and a.ndim > 1 and b.ndim > 1:
        return np.multiply(a, b)
    if a.dtype.kind in "iu" and a.size * b.shape[-1] >= _MANY and a.dtype == b.dtype:
        found = _of_integers(a, b)
        if found is not None:
            return found
    a, b = _addressable(a), _addressable(b)
    work = a.size * (b.shape[-1] if b.ndim > 1 else 1)
    if work < blas.PARALLEL:
        return _product(a, b)
    threads = blas.few_threads(work)
    try:
        return _product(a, b)
    finally:
        blas.restore(threads)


def _product(a: Array, b: Array) -> Array:
    if a.ndim > 2 and b.ndim == 2 and a.flags.c_contiguous:
        product: Array = np.matmul(a.reshape(-1, a.shape[-1]) if a.size else a, b)
        return product.reshape(*a.shape[:-1], b.shape[-1])
    return np.matmul(a, b)


def _of_integers(a: Array, b: Array) -> Array | None:
    """The product by way of doubles, for which there is a BLAS, where they hold every sum exactly."""
    bound = max(abs(int(a.max())), abs(int(a.min()))) * max(abs(int(b.max())), abs(int(b.min())))
    if bound * a.shape[-1] >= 1 << 53:
        return None
    exact = matmul(a.astype(np.float64), b.astype(np.float64))
    return exact.astype(np.int64).astype(a.dtype, copy=False)


def _addressable(x: Array) -> Array:
    """x, copied if neither its rows nor its columns are contiguous."""
    if x.ndim < 2 or x.flags.c_contiguous:
        return x
    size = x.itemsize
    rows, columns = x.strides[-2:]
    if (columns == size and rows >= size * x.shape[-1]) or (rows == size and columns >= size * x.shape[-2]):
        return x
    return np.ascontiguousarray(x)


def function_of(a: Geometry, b: Geometry) -> np.ufunc | None:
    """What ``matmul`` of such arrays calls at once; None where something has to be prepared."""
    if a.shape[-1] == 1 and a.ndim == b.ndim == 2:
        return np.multiply
    work = a.numel * (b.shape[-1] if b.ndim > 1 else 1)
    usual = a.dtype.category >= FLOATING and b.dtype is a.dtype and work < blas.PARALLEL \
        and all(g.ndim == 1 or (g.ndim == 2 and (g.is_contiguous or _has_lines(g))) for g in (a, b))
    return np.matmul if usual else None


def _has_lines(g: Geometry) -> bool:
    """Whether BLAS can address a matrix: its rows are contiguous, or its columns."""
    (rows, columns), (step, stride) = g.shape, g.strides
    return (stride == 1 and step >= columns) or (step == 1 and stride >= rows)


def linear(x: Array, weight: Array, bias: Array | None) -> Array:
    """``x @ weight.T + bias``, the bias added in place."""
    if x.ndim == 2 and x.size * len(weight) < blas.PARALLEL and x.dtype.kind == "f" and x.shape[1] > 1 \
            and x.flags.c_contiguous and weight.flags.c_contiguous:
        product = np.matmul(x, weight.T)
    else:
        product = matmul(x, weight.T)
    if bias is not None:
        np.add(product, bias, out=product)
    return product
