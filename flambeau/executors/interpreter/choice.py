"""where(), rectifiers and bounds without branches: NumPy's where() jumps at every change of a random mask."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .blocks import BLOCK, Array, clip

__all__ = ["between", "bounded", "leaky", "rectify", "where"]

_BITS: dict[int, Any] = {4: np.dtype(np.int32), 8: np.dtype(np.int64)}
_SMALL = 1 << 11    # elements, below which NumPy's where() takes less than a choice by bits


def where(condition: Any, first: Any, second: Any) -> Any:
    """Elements of ``first`` where the condition holds, else of ``second``."""
    size = getattr(condition, "size", 0)
    if size < _SMALL or condition.dtype != np.bool_ or not condition.flags.c_contiguous:
        return np.where(condition, first, second)
    a, b = _prepared(first, second, condition.shape), _prepared(second, first, condition.shape)
    if a is None or b is None or a.dtype != b.dtype:
        return np.where(condition, first, second)
    return _select(condition, a, b)


def _prepared(x: Any, other: Any, shape: tuple[int, ...]) -> Array | None:
    """An array that can be chosen from by its bits (one element for a number); None where it cannot."""
    if isinstance(x, np.ndarray) and x.ndim:
        usable = x.shape == shape and x.flags.c_contiguous
    else:
        if isinstance(other, np.ndarray) and other.ndim and not isinstance(x, (np.ndarray, np.generic)):
            weak = np.result_type(x, other.dtype) == other.dtype
            x = np.asarray(x, other.dtype) if weak else np.asarray(x)
        x, usable = np.asarray(x), True
    return x if usable and x.dtype.kind in "fi" and x.dtype.itemsize in _BITS else None


def _select(condition: Array, a: Array, b: Array) -> Array:
    """b ^ ((a ^ b) & mask), the mask being all ones where the condition holds."""
    bits = _BITS[a.dtype.itemsize]
    out = np.empty(condition.shape, a.dtype)
    flat_out, flags = out.reshape(-1).view(bits), condition.reshape(-1).view(np.int8)
    first, second = a.reshape(-1).view(bits), b.reshape(-1).view(bits)
    zero_first = a.ndim == 0 and not first[0]
    zero_second = b.ndim == 0 and not second[0]
    if zero_first or zero_second:
        return _kept(out, flags ^ 1 if zero_first else flags, second if zero_first else first)
    mask = np.empty(min(BLOCK, flags.size), bits)
    for start in range(0, flags.size, BLOCK):
        part = slice(start, start + BLOCK)
        o, flag = flat_out[part], flags[part]
        m = mask[:flag.size]
        x, y = first if a.ndim == 0 else first[part], second if b.ndim == 0 else second[part]
        np.negative(flag, out=m, dtype=bits, casting="unsafe")
        np.bitwise_xor(x, y, out=o)
        o &= m
        o ^= y
    return out


def _kept(out: Array, flags: Array, bits: Array) -> Array:
    """``out`` with an array's bits where the flags are 1, else 0: those of the product with the flags."""
    flat = out.reshape(-1).view(bits.dtype)
    for start in range(0, flags.size, BLOCK):
        part = slice(start, start + BLOCK)
        flat[part] = flags[part]
        flat[part] *= bits if bits.size == 1 else bits[part]
    return out


def bounded(x: Any, low: Any, high: Any) -> Any:
    """min(max(x, low), high), NaN staying NaN."""
    if x.dtype.kind == "f" and np.ndim(low) == 0 and np.ndim(high) == 0:
        return clip(x, low, high)
    return np.minimum(np.maximum(x, low), high)


def rectify(x: Any) -> Any:
    """max(x, 0)."""
    zero, infinity = _ends(x.dtype)
    return np.maximum(x, zero) if infinity is None else clip(x, zero, infinity)


@cache
def _ends(numpy_type: np.dtype[Any]) -> tuple[Array, Array | None]:
    """Zero and, in NumPy's own floating types, infinity, as arrays: NumPy takes them more quickly."""
    return np.zeros((), numpy_type), np.full((), np.inf, numpy_type) if numpy_type.kind == "f" else None


def leaky(x: Any, slope: Any) -> Any:
    """x where positive, else slope * x."""
    return np.maximum(x, x * slope) if 0 <= slope <= 1 else where(x > 0, x, x * slope)


def between(start: Any, end: Any, weight: Any) -> Any:
    """The point between start and end, found from the nearer one, so that both are met exactly."""
    step = np.subtract(end, start)
    if np.ndim(weight) == 0:
        return start + weight * step if abs(weight) < 0.5 else end - step * (1 - weight)
    return where(np.abs(weight) < 0.5, start + weight * step, end - step * (1 - weight))
