"""The uniform distribution, and the loop over blocks by which the simple kernels fill an array."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .arithmetic import FLOAT32, FLOAT64, Array, is_half, rounded, scaled, scaled32
from .few import FEW, Ahead, few_uniform
from .state import State, Stream

# Outputs are made in blocks that stay in the second-level cache.
BLOCK = 1 << 15


def fill(stream: Stream, shape: tuple[int, ...], dtype: np.dtype[Any], draw: Callable[[int], Array]) -> Array:
    """An array of ``shape`` whose elements are ``draw(count)``, taken block by block in order."""
    count = math.prod(shape)
    if count <= BLOCK:
        return rounded(draw(count), dtype).reshape(shape)
    values = np.empty(count, dtype)
    for start in range(0, count, BLOCK):
        stop = min(start + BLOCK, count)
        values[start:stop] = rounded(draw(stop - start), dtype)
    return values.reshape(shape)


def uniform(state: State, shape: tuple[int, ...], low: float, high: float,
            dtype: np.dtype[Any]) -> tuple[Array, State]:
    """Uniform values of [low, high): ``u * (high - low) + low`` with one rounding.

    * float32: u is the low 24 bits of one output, times 2^-24; low and ``high - low`` are float32 values.
    * float64: u is the low 53 bits of two outputs (high half first), times 2^-53.
    * float16, bfloat16: as float32, then rounded.
    * What rounding lifts to ``high`` becomes ``low``.
    * complex: real and imaginary parts in turn.
    """
    if dtype.kind == "c":
        parts, state = uniform(state, (*shape, 2), low, high, FLOAT32 if dtype.itemsize == 8 else FLOAT64)
        return parts.view(dtype).reshape(shape), state
    count = math.prod(shape)
    if 0 < count <= FEW and (few := few_uniform(ahead := Ahead(state), count, low, high, dtype)) is not None:
        return few.reshape(shape), ahead.after()
    stream = Stream(state)
    if dtype == FLOAT64:
        values = fill(stream, shape, dtype, lambda n: _double(stream.doubles(n), low, high))
    elif is_half(dtype):
        values = fill(stream, shape, dtype, lambda n: _half(stream.floats(n), low, high, dtype))
    elif (low, high) == (0.0, 1.0):
        values = fill(stream, shape, FLOAT32, stream.floats)
    else:
        values = fill(stream, shape, FLOAT32, lambda n: _single(stream.floats(n), low, high))
    return values, stream.close()


def _double(values: Array, low: float, high: float) -> Array:
    if (low, high) == (0.0, 1.0):
        return values
    return _wrapped(scaled(values, high - low, low), low, high)


def _single(values: Array, low: float, high: float) -> Array:
    return _wrapped(scaled32(values, float(np.float32(high) - np.float32(low)), low), low, high)


def _half(values: Array, low: float, high: float, dtype: np.dtype[Any]) -> Array:
    width = float(np.float32(high) - np.float32(low))
    return _wrapped(rounded(scaled32(values, width, low), dtype), low, high)


def _wrapped(values: Array, low: float, high: float) -> Array:
    # The interval is open above: what rounding has lifted to its end is put at its start.
    start, end = rounded(np.array([low, high]), values.dtype)
    at_end = values == end
    if at_end.any():
        values[at_end] = start
    return values
