"""Inverse functions, tangents and lengths in generated code: single precision, computed in double."""

from __future__ import annotations

import math

from ..emitter import FLOAT32, FLOAT64, Unsupported
from ..expressions import coefficients as table
from ..expressions.expression import Expression, compare, constant, convert, select
from ..expressions.functions import (
    Function,
    absolute,
    copysign,
    exp,
    exp2,
    fma,
    horner,
    log,
    log1p,
    odd,
    signed,
    wide,
)
from .circle import quadrant, sine_of

# --- angles -------------------------------------------------------------------------------------------------

def _angle(opposite: Expression, adjacent: Expression) -> Expression:
    """The angle in the first quadrant of a right triangle with two sides, neither negative."""
    steep = compare(">", opposite, adjacent)
    longer, shorter = select(steep, opposite, adjacent), select(steep, adjacent, opposite)
    ratio = shorter / longer
    ratio = select(compare("==", longer, 0), constant(ratio, 0.0), ratio)
    ratio = select(compare("==", shorter, math.inf), constant(ratio, 1.0), ratio)
    square = ratio * ratio
    angle = fma(square * ratio, horner(table.ATAN, square), ratio)
    return select(steep, math.pi / 2 - angle, angle)


@odd
def atan(x: Expression) -> Expression:
    """The inverse tangent."""
    return select(compare("!=", x, x), x, _angle(x, constant(x, 1.0)))


def atan2(y: Expression, x: Expression) -> Expression:
    """The angle of the point (x, y)."""
    if x.dtype != FLOAT32 or y.dtype != FLOAT32:
        raise Unsupported(f"atan2 of {x.dtype}")
    angle = _angle(convert(absolute(y), FLOAT64), convert(absolute(x), FLOAT64))
    left = compare("<", copysign(constant(x, 1.0), x), 0)
    angle = signed(select(left, math.pi - angle, angle), y)
    return select(compare("!=", x, x) | compare("!=", y, y), x + y, angle)


def _beside(x: Expression) -> Expression:
    """sqrt(1 - x^2), NaN beyond 1."""
    return ((1 - x) * (x + 1)).intrinsic("sqrt")


@odd
def asin(x: Expression) -> Expression:
    """The inverse sine."""
    side = _beside(x)
    return select(compare("!=", side, side), side, _angle(x, side))


@wide
def acos(x: Expression) -> Expression:
    """The inverse cosine."""
    side = _beside(x)
    angle = _angle(side, absolute(x))
    angle = select(compare("<", x, 0), math.pi - angle, angle)
    return select(compare("!=", side, side), side, angle)


def tan(x: Expression) -> Expression:
    """The tangent, of arguments of any size."""
    if x.dtype != FLOAT32:
        raise Unsupported(f"tan of {x.dtype}")
    r, n = quadrant(x)
    value = convert(sine_of(r, n) / sine_of(r, n + 1), FLOAT32)
    value = select(compare("<", x, 0), -value, value)
    return select(compare("<", absolute(x), 2.0 ** -13), x, value)


# --- hyperbolic ---------------------------------------------------------------------------------------------

# Note: logarithms near 1. In double precision one is off by 1e-16 there, which is little beside results
# above 2^-16; below, x is the result of odd functions to 1e-10 of it.
_SMALL = 2.0 ** -16


@odd
def asinh(x: Expression) -> Expression:
    """The inverse hyperbolic sine."""
    return select(compare("<", x, _SMALL), x, log((x * x + 1).intrinsic("sqrt") + x))


@wide
def acosh(x: Expression) -> Expression:
    """The inverse hyperbolic cosine."""
    value = log(((x - 1) * (x + 1)).intrinsic("sqrt") + x)
    return select(compare("<", x, 1), constant(x, math.nan), value)


@odd
def atanh(x: Expression) -> Expression:
    """The inverse hyperbolic tangent."""
    return select(compare("<", x, _SMALL), x, log((x + 1) / (1 - x)) * 0.5)


# --- of two operands ----------------------------------------------------------------------------------------

@wide
def _hypot(x: Expression, y: Expression) -> Expression:
    return (x * x + y * y).intrinsic("sqrt")


def _hypot_double(x: Expression, y: Expression) -> Expression:
    """Scaled by a power of two where a square would be beyond the range."""
    one = constant(x, 1.0)
    larger = absolute(select(compare(">", absolute(x), absolute(y)), x, y))
    scale = select(compare(">", larger, 2.0 ** 500), constant(x, 2.0 ** -600), one)
    scale = select(compare("<", larger, 2.0 ** -450), constant(x, 2.0 ** 600), scale)
    a, b = x * scale, y * scale
    return fma(a, a, b * b).intrinsic("sqrt") / scale


def hypot(x: Expression, y: Expression) -> Expression:
    """sqrt(x^2 + y^2); infinite where one is, whatever the other."""
    value = _hypot_double(x, y) if x.dtype == FLOAT64 else _hypot(x, y)
    beyond = compare("==", absolute(x), math.inf) | compare("==", absolute(y), math.inf)
    return select(beyond, constant(x, math.inf), value)


def log_of_sum(x: Expression, y: Expression) -> Expression:
    """log(exp(x) + exp(y))."""
    return _log_of_sum(x, y, exp, 1.0)


def log2_of_sum(x: Expression, y: Expression) -> Expression:
    """log2(2^x + 2^y)."""
    return _log_of_sum(x, y, exp2, 1 / math.log(2))


def _log_of_sum(x: Expression, y: Expression, power: Function, scale: float) -> Expression:
    """The larger one, and what the other adds; ``scale``: logarithms by natural ones."""
    if x.dtype not in (FLOAT32, FLOAT64):
        raise Unsupported(f"log_of_sum of {x.dtype}")
    less = x - y
    larger = select(compare(">", less, 0), x, y)
    value = larger + log1p(power(-absolute(less))) * scale
    value = select(compare("==", x, y), x + scale * math.log(2), value)
    return select(compare("!=", less, less) & compare("!=", x, y), less, value)


__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "hypot", "log2_of_sum", "log_of_sum",
           "tan"]
