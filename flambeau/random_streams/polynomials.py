"""log, sine and cosine in float32 as the Cephes library's polynomials with fused multiply-adds.

PyTorch's vectorised normals use these (they differ from the C library's in the last bit), on AVX2 and
AVX-512 alike. Every value below is a float32 number held in float64, where products are exact; one rounding
follows each fused step. Reference: S. Moshier, Cephes Mathematical Library, ``logf`` and ``sinf``.
"""

from __future__ import annotations

import numpy as np

from .arithmetic import FLOAT32, FLOAT64, Array


def _floats(*values: float) -> tuple[float, ...]:
    return tuple(float(np.float32(v)) for v in values)


LOG = _floats(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
              -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
SINE = _floats(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COSINE = _floats(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
LOG2_LOW, LOG2_HIGH, SQRT_HALF = _floats(-2.12194440e-4, 0.693359375, 0.707106781186547524)
FOUR_OVER_PI, *PI_OVER_4 = _floats(1.27323954473516, 0.78515625, 2.4187564849853515625e-4,
                                    3.77489497744594108e-8)


def _single(values: Array) -> Array:
    """Round to float32, stay in float64."""
    return values.astype(FLOAT32).astype(FLOAT64)


def _horner(x: Array, coefficients: tuple[float, ...]) -> Array:
    y = x * coefficients[0]
    y += coefficients[1]
    y = _single(y)
    for c in coefficients[2:]:
        y *= x
        y += c
        y = _single(y)
    return y


def log(values: Array) -> Array:
    """Natural logarithm of positive float32 values, as float64 holding float32 numbers."""
    mantissa, exponent = np.frexp(values.astype(FLOAT64))
    small = mantissa < SQRT_HALF
    x = np.where(small, mantissa + mantissa, mantissa)
    x -= 1.0
    power = exponent.astype(FLOAT64)
    power -= small
    square = _single(x * x)
    y = _horner(x, LOG)
    y *= x
    y = _single(y)
    y *= square
    y += _single(power * LOG2_LOW)
    y = _single(y)
    square *= 0.5
    y -= square
    y = _single(y)
    y += x
    y = _single(y)
    power *= LOG2_HIGH
    y += power
    return _single(y)


def sine_cosine(angles: Array) -> tuple[Array, Array]:
    """Sine and cosine of float32 angles of [0, 8192), as float64 holding float32 numbers."""
    x = angles.astype(FLOAT64)
    octant = _single(x * FOUR_OVER_PI).astype(np.int32)
    octant += 1
    octant &= -2
    turns = octant.astype(FLOAT64)
    for part in PI_OVER_4:  # x - octant * pi / 4, pi in three parts
        x -= turns * part
        x = _single(x)
    square = _single(x * x)
    cosine = _cosine_near_zero(square)
    sine = _sine_near_zero(x, square)
    swapped = (octant & 2) != 0
    sin = np.where(swapped, cosine, sine)
    cos = np.where(swapped, sine, cosine)
    np.negative(sin, out=sin, where=(octant & 4) != 0)
    octant += 2
    np.negative(cos, out=cos, where=(octant & 4) != 0)
    return sin, cos


def _cosine_near_zero(square: Array) -> Array:
    y = _horner(square, COSINE)
    y *= square
    y = _single(y)
    y *= square
    y -= square * 0.5
    y = _single(y)
    y += 1.0
    return _single(y)


def _sine_near_zero(x: Array, square: Array) -> Array:
    y = _horner(square, SINE)
    y *= square
    y = _single(y)
    y *= x
    y += x
    return _single(y)
