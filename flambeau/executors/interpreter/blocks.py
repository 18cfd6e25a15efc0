"""Formulas of many steps, evaluated block by block so that what lies between the steps stays in the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

try:
    # What ``np.clip`` calls, by way of three functions.
    from numpy._core.umath import clip as clip  # type: ignore[attr-defined,unused-ignore]
except ImportError:     # another NumPy
    clip = np.clip

Array = np.ndarray[Any, Any]

BLOCK = 1 << 15  # elements: 128 KiB of float32


def blockwise(step: Callable[..., None], x: Any, *others: Any) -> Array:
    """The array that ``step(out, x, *others)`` fills, called on blocks of arrays of one shape and type."""
    if x.__class__ is np.ndarray and 0 < x.size <= BLOCK and x.ndim and _alike(x.shape, others):
        out = np.empty(x.shape, x.dtype)
        step(out, x, *others)
        return out
    x = np.asarray(x)
    if x.ndim == 0 and not any(np.ndim(other) for other in others):  # NumPy's scalars cannot be written to
        vectors = [x.reshape(1) if isinstance(x, (np.ndarray, np.generic)) else x for x in others]
        return blockwise(step, x.reshape(1), *vectors).reshape(())
    out = np.empty_like(x)
    arrays = [other for other in others if isinstance(other, np.ndarray) and other.ndim]
    if (
        x.size <= BLOCK
        or not x.flags.c_contiguous
        or not all(a.shape == x.shape and a.flags.c_contiguous for a in arrays)
    ):
        if arrays and not all(a.shape == x.shape for a in arrays):
            x, *others_list = np.broadcast_arrays(x, *others)
            out = np.empty(x.shape, x.dtype)
            others = tuple(others_list)
        step(out, x, *others)
        return out
    flat_out, flat_x = out.reshape(-1), x.reshape(-1)
    flat = [other.reshape(-1) if isinstance(other, np.ndarray) and other.ndim else other for other in others]
    for start in range(0, x.size, BLOCK):
        part = slice(start, start + BLOCK)
        step(
            flat_out[part],
            flat_x[part],
            *[f[part] if isinstance(f, np.ndarray) and f.ndim else f for f in flat],
        )
    return out


def _alike(shape: tuple[int, ...], others: tuple[Any, ...]) -> bool:
    """Whether these are arrays of a shape."""
    for other in others:
        if other.__class__ is not np.ndarray or other.shape != shape:
            return False
    return True


def horner(coefficients: Sequence[float], x: Array, out: Array | None = None) -> Array:
    """The polynomial with these coefficients, highest power first."""
    result: Array = np.multiply(x, x.dtype.type(coefficients[0]), out=out)
    for c in coefficients[1:-1]:
        result += x.dtype.type(c)
        result *= x
    result += x.dtype.type(coefficients[-1])
    return result
