"""Functions of one uniform or normal value: exponential, geometric, Cauchy and log-normal values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .arithmetic import FLOAT64, Array, exact_exp, exact_log1p, exact_tan, scaled
from .normal import serial_normals
from .state import State, Stream
from .uniform import fill

# All are computed in float64 from float64 uniform values (two outputs each) and then rounded to the type.


def exponential(state: State, shape: tuple[int, ...], rate: float,
                dtype: np.dtype[Any]) -> tuple[Array, State]:
    """Exponential values ``(-1 / rate) log1p(-u)``."""
    stream = Stream(state)
    logarithm: Callable[[Array], Array] = exact_log1p if dtype == FLOAT64 else np.log1p
    factor = -1.0 / rate
    values = fill(stream, shape, dtype, lambda n: factor * logarithm(-stream.doubles(n)))
    return values, stream.close()


def geometric(state: State, shape: tuple[int, ...], p: float, dtype: np.dtype[Any]) -> tuple[Array, State]:
    """Number of tosses up to the first success: ``ceil(log(u) / log1p(-p))``, for integer types too."""
    stream = Stream(state)
    divisor = math.log1p(-p)

    def draw(count: int) -> Array:
        with np.errstate(divide="ignore"):
            waits: Array = np.ceil(np.log(stream.doubles(count)) / divisor)
        return waits

    return fill(stream, shape, dtype, draw), stream.close()


def cauchy(state: State, shape: tuple[int, ...], median: float, sigma: float,
           dtype: np.dtype[Any]) -> tuple[Array, State]:
    """Cauchy values ``tan(pi (u - 1/2)) * sigma + median``, with one rounding."""
    stream = Stream(state)
    tangent: Callable[[Array], Array] = np.tan if dtype != FLOAT64 else exact_tan
    values = fill(stream, shape, dtype,
                  lambda n: scaled(tangent(math.pi * (stream.doubles(n) - 0.5)), sigma, median))
    return values, stream.close()


def log_normal(state: State, shape: tuple[int, ...], mean: float, std: float,
               dtype: np.dtype[Any]) -> tuple[Array, State]:
    """``exp(z * std + mean)``; z are drawn one by one (``serial_normals``) at every size and type."""
    stream = Stream(state)
    power: Callable[[Array], Array] = np.exp if dtype != FLOAT64 else exact_exp
    values = fill(stream, shape, dtype, lambda n: power(scaled(serial_normals(stream, n), std, mean)))
    return values, stream.close()
