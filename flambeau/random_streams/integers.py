"""Uniform integers: ``randint``, ``random_`` with bounds and ``random_`` over a type's whole range."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Array, rounded
from .few import FEW, WIDE, Ahead, few_integers
from .state import State, Stream
from .uniform import fill

_FULL = 1 << 64
# Bits of the significand: every integer up to 2^bits is a value of the type.
SIGNIFICAND_BITS = {FLOAT16: 11, BFLOAT16: 8, FLOAT32: 24, FLOAT64: 53}


def randint(state: State, shape: tuple[int, ...], low: int, high: int,
            dtype: np.dtype[Any]) -> tuple[Array, State]:
    """Integers of [low, high) (``randint``, ``random_(low, high)``), ``low + output mod (high - low)``.

    One output of 32 bits where ``high - low`` is below 2^28, else one of 64 bits (two outputs). The sum is
    made in int64, then converted; for floating types the bounds are first those of ``floating_bounds``.
    ``random_(low, None)`` is ``high = limit_of(dtype)``. For int64 with the least ``low`` that is a width of
    2^64: the 64 bits as they are, with nothing added.
    """
    if dtype in SIGNIFICAND_BITS:
        low, high = floating_bounds(low, high, dtype)
    width = high - low
    count = math.prod(shape)
    if 0 < count <= FEW and (few := few_integers(ahead := Ahead(state), count, low, high, dtype)) is not None:
        return few.reshape(shape), ahead.after()
    stream = Stream(state)

    def narrow(count: int) -> Array:
        values = stream.random32(count)
        if width & (width - 1):
            values %= np.uint32(width)
        else:
            values &= np.uint32(width - 1)      # the same, quicker
        return _converted(values.astype(np.int64) + low if low else values, dtype)

    def wide(count: int) -> Array:
        values = stream.random64(count)
        if width < _FULL:
            values %= np.uint64(width)
            values += np.uint64(low % _FULL)
        return _converted(values.view(np.int64), dtype)

    values = fill(stream, shape, dtype, narrow if width < WIDE else wide)
    return values, stream.close()


def random_full(state: State, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Array, State]:
    """``random_()``: integers up to an integer type's greatest value, or a floating one's 2^significand bits.

    One output of 32 bits, modulo the count of values; for int64 and float64 one of 64 bits (two outputs).
    """
    values_count = limit_of(dtype)
    stream = Stream(state)
    if dtype == FLOAT64 or dtype == np.int64:
        wide = np.uint64(values_count)
        values = fill(stream, shape, dtype,
                      lambda n: _converted((stream.random64(n) % wide).view(np.int64), dtype))
    else:
        narrow = np.uint32(values_count)
        values = fill(stream, shape, dtype,
                      lambda n: _converted((stream.random32(n) % narrow).view(np.int32), dtype))
    return values, stream.close()


def limit_of(dtype: np.dtype[Any]) -> int:
    """One more than the greatest integer that ``random_`` gives without an upper bound."""
    if dtype in SIGNIFICAND_BITS:
        return (1 << SIGNIFICAND_BITS[dtype]) + 1
    return 2 if dtype == np.bool_ else int(np.iinfo(dtype).max) + 1


def floating_bounds(low: int, high: int, dtype: np.dtype[Any]) -> tuple[int, int]:
    """Bounds moved inwards to where the floating type does not round a value out of the interval.

    They change only beyond 2^significand bits, where PyTorch warns: a ``low`` whose successor is rounded
    below it goes to the next value of the type, a ``high`` whose predecessor is rounded up to it to the
    value before.
    """
    successor = _as_integer(low + 1, dtype)
    if successor < low:
        low = successor + _step(low + 1, dtype)
    predecessor = _as_integer(high - 1, dtype)
    if predecessor >= high:
        high = predecessor - _step(high - 1, dtype)
    return low, high


def _as_integer(value: int, dtype: np.dtype[Any]) -> int:
    return int(float(rounded(np.array(value, FLOAT64), dtype)))


def _step(value: int, dtype: np.dtype[Any]) -> int:
    # The distance between neighbours of this magnitude in the type.
    return 1 << max(abs(value).bit_length() - SIGNIFICAND_BITS[dtype], 0)


def _converted(values: Array, dtype: np.dtype[Any]) -> Array:
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        return values.astype(FLOAT32).astype(dtype)
    return values.astype(dtype)
