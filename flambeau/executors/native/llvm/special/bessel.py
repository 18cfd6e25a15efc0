"""Bessel functions of order 0 and 1, modified and not, in generated code: single precision, in double.

Formulas and coefficients are those of the interpreter (``interpreter/bessel.py``); both sides of a choice are
computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....interpreter import coefficients as table
from ..emitter import FLOAT32, FLOAT64, Unsupported
from ..expressions.expression import Expression, compare, constant, convert, select
from ..expressions.functions import absolute, at_least, at_most, exp, horner, log, odd, wide
from .circle import quadrant, sine_of

# --- modified -----------------------------------------------------------------------------------------------


def _decaying(coefficients: Sequence[float], x: Expression, start: float) -> Expression:
    """A polynomial in 2 start / x - 1, over sqrt(x), for x >= start."""
    far = at_least(x, start)
    return horner(coefficients, 2 * start / far - 1) / far.intrinsic("sqrt")


def _scaled_first(size: Expression, order: int) -> Expression:
    """exp(-x) I(x) of x that is not negative."""
    small, large = ((table.I0E_SMALL, table.I0E_LARGE), (table.I1E_SMALL, table.I1E_LARGE))[order]
    near = horner(small, at_most(size, 8) * 0.25 - 1)
    return select(compare("<=", size, 8), near * size if order else near, _decaying(large, size, 8))


@wide
def i0e(x: Expression) -> Expression:
    """exp(-|x|) I0(x)."""
    return _scaled_first(absolute(x), 0)


@odd
def i1e(x: Expression) -> Expression:
    """exp(-|x|) I1(x)."""
    return _scaled_first(x, 1)


@wide
def i0(x: Expression) -> Expression:
    """I0(x)."""
    size = absolute(x)
    return exp(size) * _scaled_first(size, 0)


@odd
def i1(x: Expression) -> Expression:
    """I1(x)."""
    return exp(x) * _scaled_first(x, 1)


def _second(x: Expression, order: int, scaled: bool) -> Expression:
    """K near 0 and beyond 2; times exp(x) if ``scaled``."""
    close, far = ((table.K0_SMALL, table.K0E_LARGE), (table.K1_SMALL, table.K1E_LARGE))[order]
    small = at_most(at_least(x, 1e-300), 2)
    steep = log(small * 0.5) * exp(small) * _scaled_first(small, order)
    smooth = horner(close, small * small * 0.5 - 1)
    near = smooth / small + steep if order else smooth - steep
    result = select(compare("<=", x, 2), near * exp(small) if scaled else near,
                    _decaying(far, x, 2) * (1.0 if scaled else exp(-at_least(x, 2))))
    result = select(compare("==", x, 0), constant(x, math.inf), result)
    return select(compare("<", x, 0), constant(x, math.nan), result)


@wide
def k0(x: Expression) -> Expression:
    """K0(x)."""
    return _second(x, 0, False)


@wide
def k0e(x: Expression) -> Expression:
    """exp(x) K0(x)."""
    return _second(x, 0, True)


@wide
def k1(x: Expression) -> Expression:
    """K1(x)."""
    return _second(x, 1, False)


@wide
def k1e(x: Expression) -> Expression:
    """exp(x) K1(x)."""
    return _second(x, 1, True)


# --- J and Y ------------------------------------------------------------------------------------------------

def _single(x: Expression) -> tuple[Expression, Expression]:
    """The magnitude of a number in single precision, and in double."""
    if x.dtype != FLOAT32:
        raise Unsupported(f"a Bessel function of {x.dtype}")
    size = absolute(x)
    return size, convert(size, FLOAT64)


def _turns(size: Expression) -> tuple[Expression, Expression]:
    """Cosine and sine in double precision, of an argument in single."""
    r, n = quadrant(size)
    return sine_of(r, n + 1), sine_of(r, n)


def _wave(size: Expression, wide_size: Expression, order: int, second: bool) -> Expression:
    """J, or Y, beyond 8, by amplitude and phase."""
    p_of, q_of = (table.P0, table.Q0) if order == 0 else (table.P1, table.Q1)
    far = at_least(wide_size, 8)
    inverse = 8 / far
    t = inverse * inverse * 2 - 1
    p, q = horner(p_of, t), horner(q_of, t) / far
    c, s = _turns(size)
    cosine, sine = (c + s, s - c) if order == 0 else (s - c, -(s + c))
    value = p * sine + q * cosine if second else p * cosine - q * sine
    return value / (far * math.pi).intrinsic("sqrt")


def _near(coefficients: Sequence[float], small: Expression) -> Expression:
    return horner(coefficients, small * small * (1 / 32) - 1)


def _first_kind(x: Expression, order: int) -> Expression:
    size, large = _single(x)
    small = at_most(large, 8)
    near = _near(table.J1_SMALL, small) * small if order else _near(table.J0_SMALL, small)
    value = select(compare("<", large, 8), near, _wave(size, large, order, False))
    value = select(compare("==", large, math.inf), constant(value, 0.0), value)
    result = convert(value, FLOAT32)
    return select(compare("<", x, 0), -result, result) if order else result


def _second_kind(x: Expression, order: int) -> Expression:
    size, large = _single(x)
    small = at_most(at_least(large, 1e-300), 8)
    steep = log(small)
    if order:
        first = _near(table.J1_SMALL, small) * small
        near = _near(table.Y1_SMALL, small) * small + (steep * first - 1 / small) * (2 / math.pi)
    else:
        near = _near(table.Y0_SMALL, small) + steep * _near(table.J0_SMALL, small) * (2 / math.pi)
    value = select(compare("<", large, 8), near, _wave(size, large, order, True))
    value = select(compare("==", large, math.inf), constant(value, 0.0), value)
    value = select(compare("==", large, 0), constant(value, -math.inf), value)
    result = convert(value, FLOAT32)
    return select(compare("<", x, 0), constant(x, math.nan), result)


def bessel_j0(x: Expression) -> Expression:
    """J0(x)."""
    return _first_kind(x, 0)


def bessel_j1(x: Expression) -> Expression:
    """J1(x)."""
    return _first_kind(x, 1)


def bessel_y0(x: Expression) -> Expression:
    """Y0(x), for x > 0."""
    return _second_kind(x, 0)


def bessel_y1(x: Expression) -> Expression:
    """Y1(x), for x > 0."""
    return _second_kind(x, 1)


def spherical_j0(x: Expression) -> Expression:
    """sin(x) / x."""
    size, large = _single(x)
    _, sine = _turns(size)
    value = select(compare("<", large, 1e-8), constant(large, 1.0), sine / at_least(large, 1e-300))
    value = select(compare("==", large, math.inf), constant(value, 0.0), value)
    return convert(value, FLOAT32)
