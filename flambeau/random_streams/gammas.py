"""The gamma and the Dirichlet distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import Array
from .readers import Reader
from .state import State, Stream

THIRD = float(np.float32(1.0 / 3.0))


def standard_gamma(state: State, shapes: Array) -> tuple[Array, State]:
    """Gamma values of rate one with the shape parameters ``shapes``, in its type; one by one, in order.

    Computed in float64, except ``a + 1``, ``1 / a`` and ``a - 1/3`` of a shape a, which are of the type.
    Nothing below the type's least normal number is returned, and that number where a is negative.
    """
    drawn, state = _gammas(state, shapes)
    return np.fmax(drawn.astype(shapes.dtype), np.finfo(shapes.dtype).tiny), state


def dirichlet(state: State, concentrations: Array) -> tuple[Array, State]:
    """Dirichlet values (..., K) with ``concentrations`` (..., K): gamma values, divided by their sum over K.

    All in float64, rounded at the end and kept inside the open interval from 0 to 1.
    """
    drawn, state = standard_gamma(state, concentrations.astype(np.float64))
    return shares_of(drawn, concentrations.dtype), state


def shares_of(drawn: Array, dtype: np.dtype[Any]) -> Array:
    """Float64 gamma values (..., K) as shares of their sum over K, of a type."""
    shares = (drawn / drawn.sum(-1, keepdims=True)).astype(dtype)
    one = dtype.type(1)
    return np.clip(shares, np.finfo(dtype).tiny, np.nextafter(one, -one))


def _gammas(state: State, shapes: Array) -> tuple[Array, State]:
    stream = Stream(state)
    reader = Reader(stream, 4 * shapes.size)
    one = shapes.dtype.type(1)
    flat = shapes.reshape(-1)
    boosted = flat < 1
    with np.errstate(divide="ignore"):
        exponents = np.where(boosted, one / flat, 0).astype(np.float64).tolist()
    reduced = (np.where(boosted, flat + one, flat) - shapes.dtype.type(THIRD)).astype(np.float64).tolist()
    drawn = [_gamma(reader, e, d) for e, d in zip(exponents, reduced, strict=True)]
    reader.finish()
    return np.array(drawn, np.float64).reshape(shapes.shape), stream.close()


def _gamma(reader: Reader, exponent: float, d: float) -> float:
    """Squeeze and rejection after Marsaglia and Tsang (2000), with ``d = a - 1/3``.

    A shape below one is drawn one greater; the result is scaled by a uniform value, taken first, to the
    power 1 / a. A try takes normal values until ``1 + c z`` is positive, then a uniform value.
    """
    if exponent == math.inf:  # a shape of zero
        return 0.0
    scale = 1.0
    if exponent:
        boost = 1.0 - reader.uniform()
        scale = math.pow(boost, exponent) if d > 0.0 else math.nan
    c = 1.0 / math.sqrt(9.0 * d) if d > 0.0 else math.nan
    while True:
        x = reader.normal()
        y = 1.0 + c * x
        if y <= 0.0:
            continue
        v = y * y * y
        u = 1.0 - reader.uniform()
        square = x * x
        if u < 1.0 - 0.0331 * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v
