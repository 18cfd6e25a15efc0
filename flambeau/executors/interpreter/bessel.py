"""Bessel functions of order 0 and 1, modified and not, and Airy's function, in NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import coefficients as table
from .blocks import Array, horner
from .special import in_double

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "spherical_j0",
]


# --- modified, first kind -----------------------------------------------------------------------------------

@in_double
def i0e(x: Array) -> Array:
    """exp(-|x|) I0(x)."""
    size = np.abs(x)
    small = horner(table.I0E_SMALL, np.minimum(size, 8) / 4 - 1)
    return np.where(size <= 8, small, _decaying(table.I0E_LARGE, size, 8))


@in_double
def i1e(x: Array) -> Array:
    """exp(-|x|) I1(x)."""
    size = np.abs(x)
    small = horner(table.I1E_SMALL, np.minimum(size, 8) / 4 - 1) * size
    return np.copysign(np.where(size <= 8, small, _decaying(table.I1E_LARGE, size, 8)), x)


def _decaying(coefficients: Sequence[float], x: Array, start: float) -> Array:
    """A polynomial in 2 start / x - 1, over sqrt(x), for x >= start."""
    far = np.maximum(x, start)
    return horner(coefficients, 2 * start / far - 1) / np.sqrt(far)


@in_double
def i0(x: Array) -> Array:
    """I0(x)."""
    return np.exp(np.abs(x)) * i0e(x)


@in_double
def i1(x: Array) -> Array:
    """I1(x)."""
    return np.exp(np.abs(x)) * i1e(x)


# --- modified, second kind ----------------------------------------------------------------------------------

def _second_kind(x: Array, near: Array, far: Sequence[float], scaled: bool) -> Array:
    """K near 0 and beyond 2; times exp(x) if ``scaled``."""
    growth = np.exp(np.minimum(x, 2))
    decay = 1.0 if scaled else np.exp(-np.maximum(x, 2))
    result = np.where(x <= 2, near * growth if scaled else near, _decaying(far, x, 2) * decay)
    return np.where(x < 0, np.nan, np.where(x == 0, np.inf, result))


def _k0_near(x: Array) -> Array:
    small = np.clip(x, 1e-300, 2)
    return horner(table.K0_SMALL, small * small / 2 - 1) - np.log(small / 2) * i0(small)


def _k1_near(x: Array) -> Array:
    small = np.clip(x, 1e-300, 2)
    return horner(table.K1_SMALL, small * small / 2 - 1) / small + np.log(small / 2) * i1(small)


@in_double
def k0(x: Array) -> Array:
    """K0(x)."""
    return _second_kind(x, _k0_near(x), table.K0E_LARGE, False)


@in_double
def k0e(x: Array) -> Array:
    """exp(x) K0(x)."""
    return _second_kind(x, _k0_near(x), table.K0E_LARGE, True)


@in_double
def k1(x: Array) -> Array:
    """K1(x)."""
    return _second_kind(x, _k1_near(x), table.K1E_LARGE, False)


@in_double
def k1e(x: Array) -> Array:
    """exp(x) K1(x)."""
    return _second_kind(x, _k1_near(x), table.K1E_LARGE, True)


# --- J and Y ------------------------------------------------------------------------------------------------

def _waves(x: Array, order: int) -> tuple[Array, Array]:
    """J and Y for x >= 8, by amplitude and phase."""
    p_of, q_of = (table.P0, table.Q0) if order == 0 else (table.P1, table.Q1)
    far = np.clip(x, 8, 1e300)
    inverse = 8 / far
    t = 2 * inverse * inverse - 1
    p, q = horner(p_of, t), horner(q_of, t) / far
    # cos and sin of x - (2 order + 1) pi / 4 without subtracting: their sums and differences over sqrt(2)
    c, s = np.cos(far), np.sin(far)
    cosine, sine = ((c + s, s - c) if order == 0 else (s - c, -(s + c)))
    scale = 1 / np.sqrt(math.pi * far)
    return scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)


def _near(coefficients: Sequence[float], x: Array) -> Array:
    small = np.minimum(x, 8)
    return horner(coefficients, small * small / 32 - 1)


@in_double
def bessel_j0(x: Array) -> Array:
    """J0(x)."""
    size = np.abs(x)
    return np.where(np.isinf(size), 0, np.where(size < 8, _near(table.J0_SMALL, size), _waves(size, 0)[0]))


@in_double
def bessel_j1(x: Array) -> Array:
    """J1(x)."""
    size = np.abs(x)
    value = np.where(size < 8, _near(table.J1_SMALL, size) * size, _waves(size, 1)[0])
    return np.where(np.isinf(size), 0, np.where(x < 0, -value, value))


@in_double
def bessel_y0(x: Array) -> Array:
    """Y0(x), for x > 0."""
    small = np.clip(x, 1e-300, 8)
    near = _near(table.Y0_SMALL, small) + 2 / math.pi * np.log(small) * bessel_j0(small)
    return _below_zero(x, np.where(x < 8, near, _waves(x, 0)[1]))


@in_double
def bessel_y1(x: Array) -> Array:
    """Y1(x), for x > 0."""
    small = np.clip(x, 1e-300, 8)
    near = _near(table.Y1_SMALL, small) * small + 2 / math.pi * (np.log(small) * bessel_j1(small) - 1 / small)
    return _below_zero(x, np.where(x < 8, near, _waves(x, 1)[1]))


def _below_zero(x: Array, value: Array) -> Array:
    value = np.where(np.isposinf(x), 0, value)
    return np.where(x < 0, np.nan, np.where(x == 0, -np.inf, value)) + 0 * np.where(np.isinf(x), 0, x)


@in_double
def spherical_j0(x: Array) -> Array:
    """sin(x) / x."""
    size = np.abs(x)
    value = np.sin(size) / np.where(size == 0, 1, size)
    return np.where(np.isinf(size), 0, np.where(size < 1e-8, 1, value))


# --- Airy's function ----------------------------------------------------------------------------------------

@in_double
def airy_ai(x: Array) -> Array:
    """Ai(x): polynomials in [-10, 5], decay to the right and waves to the left."""
    right = np.maximum(x, 5)
    zeta = 2 / 3 * right ** 1.5
    decay = horner(table.AIRY_DECAY, 2 * (5 / right) ** 1.5 - 1) * np.exp(-zeta) / right ** 0.25
    left = np.maximum(-x, 10)
    phase = 2 / 3 * left ** 1.5 + math.pi / 4
    t = 2 * (10 / left) ** 3 - 1
    waves = horner(table.AIRY_P, t) * np.sin(phase) + horner(table.AIRY_Q, t) * np.cos(phase) / left ** 1.5
    pieces: list[Any] = [waves / left ** 0.25]
    for coefficients, low in ((table.AIRY_FAR_LEFT, -10), (table.AIRY_LEFT, -5), (table.AIRY_RIGHT, 0)):
        pieces.append(horner(coefficients, np.clip((x - low) / 2.5 - 1, -1, 1)))
    result = np.select([x < -10, x < -5, x < 0, x < 5], pieces, decay)
    return np.where(np.isnan(x), x, np.where(np.isinf(x), 0, result))
