"""Coin tosses: the Bernoulli distribution and the slopes of a randomised leaky ReLU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import FLOAT32, FLOAT64, Array
from .state import State, Stream
from .uniform import BLOCK, fill


def bernoulli(state: State, shape: tuple[int, ...], p: float, dtype: np.dtype[Any]) -> tuple[Array, State]:
    """1 with probability ``p``, else 0: the low 53 bits of two outputs, times 2^-53, are below p.

    The same draws for every type, also where p is 0 or 1.
    """
    stream = Stream(state)
    threshold = np.int64(math.ceil(p * 2.0**53))
    values = fill(stream, shape, dtype, lambda n: stream.random53(n) < threshold)
    return values, stream.close()


def bernoulli_each(state: State, p: Array, dtype: np.dtype[Any]) -> tuple[Array, State]:
    """1 with the probability that stands at the element's place in ``p`` (in the output's shape), else 0.

    float64 probabilities: as ``bernoulli``. float32, float16, bfloat16 ones: the low 24 bits of one output,
    times 2^-24, are below p.
    """
    stream = Stream(state)
    flat = p.reshape(-1)
    wide = flat.dtype == FLOAT64
    flat = flat if wide else flat.astype(FLOAT32, copy=False)
    values = np.empty(flat.size, dtype)
    for start in range(0, flat.size, BLOCK):
        chosen = flat[start:start + BLOCK]
        drawn = stream.doubles(chosen.size) if wide else stream.floats(chosen.size)
        values[start:start + BLOCK] = drawn < chosen
    return values.reshape(p.shape), stream.close()


def rrelu_slopes(state: State, values: Array, lower: float, upper: float) -> tuple[Array, State]:
    """The slopes of a training ``rrelu(values, lower, upper)``: one where a value is positive, else uniform.

    Only elements that are not positive draw: two outputs each, for ``u * (upper - lower) + lower`` in
    float64, then rounded. The slopes of bfloat16 values are float32: ``rrelu`` multiplies before it rounds.
    """
    stream = Stream(state)
    dtype = FLOAT64 if values.dtype == FLOAT64 else FLOAT32
    slopes = np.ones(values.shape, dtype)
    negative = values <= 0
    drawn = stream.doubles(int(np.count_nonzero(negative)))
    start, end = np.array([lower, upper], dtype).astype(FLOAT64)
    slopes[negative] = drawn * (end - start) + start
    return slopes, stream.close()
