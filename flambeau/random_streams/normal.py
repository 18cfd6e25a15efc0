"""The normal distribution by Box and Muller: groups of 16 in large arrays, pair by pair in small ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import FLOAT32, FLOAT64, Array, exact_log, exact_log1p, is_half, rounded, scaled, scaled32
from .polynomials import log, sine_cosine
from .state import State, Stream

_GROUP = 16
# Elements to a step of the loop, which has a dozen temporaries.
_BLOCK = 1 << 15
_TWO_PI_32 = np.float32(2.0 * math.pi)


def normal(state: State, shape: tuple[int, ...], mean: float, std: float, dtype: np.dtype[Any], *,
           contiguous: bool = True) -> tuple[Array, State]:
    """Normal values ``z * std + mean`` (one rounding); z by Box and Muller (1958) from uniform values.

    Fewer than 16 elements, or an output whose memory is not contiguous (``contiguous=False``): see
    ``serial_normals``; computed in float64 whatever the type.

    From 16 elements on, each group of 16 takes 16 uniform values u of the type (float16 and bfloat16: of
    float32): for i < 8, ``r = sqrt(-2 log(1 - u[i]))``, ``t = 2 pi u[i + 8]``; element i is ``r cos t``,
    element i + 8 ``r sin t``. One output to an element, two in float64. Where the count is no multiple of 16
    the **last 16** elements are made anew from 16 further values (the incomplete group's own values are
    drawn and lost; float16 and bfloat16 do not draw them). The kept value of a pair is neither used nor
    changed.

    Complex types: real and imaginary parts in turn, each with ``std / sqrt(2)``.
    """
    if dtype.kind == "c":
        real = FLOAT32 if dtype.itemsize == 8 else FLOAT64
        parts, state = normal(state, (*shape, 2), mean, std / math.sqrt(2.0), real, contiguous=contiguous)
        return parts.view(dtype).reshape(shape), state
    count = math.prod(shape)
    stream = Stream(state)
    if count < _GROUP or not contiguous:
        values = rounded(scaled(serial_normals(stream, count), std, mean), dtype)
    else:
        values = _grouped(stream, count, mean, std, dtype)
    return values.reshape(shape), stream.close()


def serial_normals(stream: Stream, count: int) -> Array:
    """Standard normal values in float64, drawn one by one.

    A pair takes two float64 uniform values u, v (four outputs): ``r = sqrt(-2 log1p(-v))``, ``t = 2 pi u``;
    the first value is ``r cos t``, and ``r sin t`` is kept in the state for the next draw.
    """
    kept = stream.take_normal() if count else None
    missing = count - (kept is not None)
    pairs = (missing + 1) // 2
    uniforms = stream.doubles(2 * pairs)
    radius = np.sqrt(-2.0 * exact_log1p(-uniforms[1::2]))
    angle = (2.0 * math.pi) * uniforms[0::2]
    values = np.empty((pairs, 2))
    np.multiply(radius, np.cos(angle), out=values[:, 0])
    np.multiply(radius, np.sin(angle), out=values[:, 1])
    flat = values.reshape(-1)
    if missing % 2:
        stream.keep_normal(float(flat[-1]))
    flat = flat[:missing]
    return flat if kept is None else np.concatenate(([kept], flat))


def _grouped(stream: Stream, count: int, mean: float, std: float, dtype: np.dtype[Any]) -> Array:
    values = np.empty(count, dtype)
    whole = count - count % _GROUP
    if whole < count and whole < _BLOCK and dtype != FLOAT64:
        # Few values cost as many calls as many do: the last 16 go with the others.
        uniforms = stream.floats(whole)
        if dtype == FLOAT32:
            stream.random32(count - whole)
        together = _groups_of(np.concatenate((uniforms, stream.floats(_GROUP))), mean, std, dtype)
        values[:whole] = together[:whole]
        values[count - _GROUP:] = together[whole:]
        return values
    for start in range(0, whole, _BLOCK):
        stop = min(start + _BLOCK, whole)
        values[start:stop] = _groups(stream, stop - start, mean, std, dtype)
    if whole < count:
        if dtype == FLOAT64:
            stream.random32(2 * (count - whole))
        elif dtype == FLOAT32:
            stream.random32(count - whole)
        values[count - _GROUP:] = _groups(stream, _GROUP, mean, std, dtype)
    return values


def _groups(stream: Stream, count: int, mean: float, std: float, dtype: np.dtype[Any]) -> Array:
    if dtype == FLOAT64:
        return _double_groups(stream.doubles(count).reshape(-1, 2, 8), mean, std).reshape(-1)
    return _groups_of(stream.floats(count), mean, std, dtype)


def _groups_of(uniforms: Array, mean: float, std: float, dtype: np.dtype[Any]) -> Array:
    values = _single_groups(uniforms.reshape(-1, 2, 8), mean, std).reshape(-1)
    return rounded(values, dtype) if is_half(dtype) else values


def _single_groups(uniforms: Array, mean: float, std: float) -> Array:
    radius = log(np.subtract(np.float32(1.0), uniforms[:, 0]))
    radius *= -2.0
    radius = np.sqrt(radius.astype(FLOAT32))
    sin, cos = sine_cosine(_TWO_PI_32 * uniforms[:, 1])
    values = np.empty(uniforms.shape, FLOAT32)
    np.multiply(radius, cos.astype(FLOAT32), out=values[:, 0])
    np.multiply(radius, sin.astype(FLOAT32), out=values[:, 1])
    return values if (mean, std) == (0.0, 1.0) else scaled32(values, std, mean)


def _double_groups(uniforms: Array, mean: float, std: float) -> Array:
    radius = np.sqrt(-2.0 * exact_log(1.0 - uniforms[:, 0]))
    angle = (2.0 * math.pi) * uniforms[:, 1]
    values = np.empty(uniforms.shape)
    np.multiply(radius, np.cos(angle), out=values[:, 0])
    np.multiply(radius, np.sin(angle), out=values[:, 1])
    return scaled(values, std, mean)
