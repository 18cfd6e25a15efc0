"""The logarithm of gamma and its derivative in generated code, computed in double precision.

The formulas are those of the interpreter's ``special.py``, with every branch computed: the loop has none.
"""

from __future__ import annotations

import math

from ....interpreter import coefficients as shared
from ....interpreter.special import DIGAMMA, STIRLING, TRIGAMMA
from ..expressions.expression import Expression, compare, constant, select
from ..expressions.functions import absolute, at_least, at_most, copysign, fma, horner, in_double, log

_SHIFT = 8.0        # asymptotic series are used from here on
_LOG_PI = math.log(math.pi)
# sin(pi r) and cos(pi r), |r| <= 1/2, in (pi r)^2: the next terms are below 1e-17.
_SINE = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(11, -1, -1))
_COSINE = tuple((-1) ** k / math.factorial(2 * k) for k in range(12, -1, -1))


def _scaled(x: Expression, low: float, high: float) -> Expression:
    """Where x lies between two numbers, from -1 to 1; beyond them the nearer one."""
    return (at_most(at_least(x, low), high) - low) * (2 / (high - low)) - 1


def _turn(x: Expression) -> Expression:
    """How far x is from the nearest integer."""
    return x - x.intrinsic("rint")


def _sine(r: Expression) -> Expression:
    """sin(pi r)."""
    angle = r * math.pi
    return angle * horner(_SINE, angle * angle)


def _cosine(r: Expression) -> Expression:
    """cos(pi r)."""
    angle = r * math.pi
    return horner(_COSINE, angle * angle)


def _pole(x: Expression) -> Expression:
    """Whether x is 0 or a negative integer."""
    return compare("<=", x, 0) & compare("==", x.intrinsic("floor"), x)


@in_double
def lgamma(x: Expression) -> Expression:
    """log |gamma(x)|: up to 3 polynomials without the zeros at 1 and 2, then Stirling's series."""
    reflected = compare("<", x, 0.5)
    y = select(reflected, 1 - x, x)
    small = compare("<", y, 3)
    core = select(compare("<", y, 1.5), horner(shared.LGAMMA_LOW, _scaled(y, 0.5, 1.5)),
                  horner(shared.LGAMMA_HIGH, _scaled(y, 1.5, 3)))
    shifts = compare("<", y, _SHIFT)
    s = select(shifts, y + 5, y)
    inverse = 1 / s
    series = fma(inverse, horner(STIRLING, inverse * inverse), 0.5 * math.log(2 * math.pi))
    stirling = (s - 0.5) * log(s) - s + series
    value = select(small, (y - 1) * (y - 2) * core, stirling)
    product = y * (y + 1) * (y + 2) * (y + 3) * (y + 4)
    one = constant(x, 1.0)
    product = select(shifts & ~small, product, one)
    # One logarithm for the product and the sine of the reflection.
    rest = log(product / select(reflected, absolute(_sine(_turn(x))), one))
    value = select(reflected, (rest - value) + _LOG_PI, value - rest)
    value = select(compare("==", absolute(x), math.inf), constant(x, math.inf), value)
    return select(_pole(x), constant(x, math.inf), value + 0.0)


@in_double
def digamma(x: Expression) -> Expression:
    """Its derivative: the asymptotic series, below 8 of x + 8 less the sum of 1 / (x + k) as one quotient."""
    negative = compare("<", x, 0)
    y = select(negative, 1 - x, x)
    product, slope = y, constant(x, 1.0)
    for k in range(1, 8):
        factor = y + k
        slope = fma(slope, factor, product)
        product = product * factor
    shifts = compare("<", y, _SHIFT)
    s = select(shifts, y + _SHIFT, y)
    lost = select(shifts, slope / product, constant(x, 0.0))
    inverse = 1 / s
    square = inverse * inverse
    value = log(s) - inverse * 0.5 - square * horner(DIGAMMA, square) - lost
    r = _turn(x)
    value = select(negative, value - _cosine(r) / _sine(r) * math.pi, value)
    value = select(compare("==", x, math.inf), x, value)
    pole = select(compare("==", x, 0), copysign(constant(x, math.inf), -x), constant(x, math.nan))
    return select(_pole(x), pole, value)


@in_double
def trigamma(x: Expression) -> Expression:
    """The derivative of digamma, in the same way; below 1/2 by reflection."""
    reflected = compare("<", x, 0.5)
    y = select(reflected, 1 - x, x)
    shifts = compare("<", y, _SHIFT)
    lost = constant(x, 0.0)
    for k in range(8):
        inverse = 1 / (y + k)
        lost = fma(inverse, inverse, lost)
    s = select(shifts, y + _SHIFT, y)
    inverse = 1 / s
    square = inverse * inverse
    value = inverse + square * 0.5 + inverse * square * horner(TRIGAMMA, square)
    value = select(shifts, value + lost, value)
    turn = math.pi / _sine(_turn(x))
    return select(reflected, turn * turn - value, value)


__all__ = ["digamma", "lgamma", "trigamma"]
