"""The error function, its complement and inverse, and the normal distribution function in generated code."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....interpreter import coefficients as shared
from ..emitter import FLOAT32
from ..expressions import coefficients as table
from ..expressions.expression import Expression, bits_of, compare, constant, select
from ..expressions.functions import (
    absolute,
    at_least,
    at_most,
    by_ln2,
    copysign,
    exp,
    fma,
    format_of,
    halved,
    horner,
    in_double,
    log,
    log1p,
    nearest,
    nearest_power,
    odd,
    power_of_two,
    reduced_exp,
    shifted_bits,
    wide,
)

_DENSITY = 1 / math.sqrt(2 * math.pi)


def _erf32(x: Expression) -> Expression:
    """x + x P(x^2) below 1, and 1 - exp(Q(|x|)) up to 4, where it is 1."""
    size = at_most(absolute(x), 4.0)
    near = fma(x, horner(table.ERF32_NEAR, size * size), x)
    r, n = by_ln2(horner(table.ERFC32_LOG, size))
    far = fma(-power_of_two(n, x), reduced_exp(r), 1.0)
    return select(compare("<", size, 1), near, copysign(far, x))


def _normal(x: Expression) -> Expression:
    """The normal distribution function, (1 + erf(x / sqrt(2))) / 2, in double precision."""
    return (erf(x * math.sqrt(0.5)) + 1) * 0.5


def times_normal(x: Expression) -> Expression:
    """x times the normal distribution function of x: max(x, 0) - |x| tail(|x|), the tail as a power of 2.

    In single precision that is x to a unit in the last place of 1. Infinity times a share of zero is not a
    number.
    """
    if x.dtype != FLOAT32:
        return _normal(x) * x
    inside = at_most(absolute(x), table.TAIL_END)
    power = fma(halved(table.TAIL_LOG2, inside), inside, -1.0)
    whole, n = nearest(power, 1.0)
    bits = bits_of(horner(table.EXP2, power - whole), n.dtype) + shifted_bits(n, "shl", 23)
    return fma(-inside, bits_of(bits, FLOAT32), x - select(compare("<", x, 0), x, constant(x, 0.0)))


def normal_slope(x: Expression) -> Expression:
    """The slope of x normal(x): normal(x) + x exp(-x^2 / 2) / sqrt(2 pi), to a unit in the last place of 1.

    Below 0 both terms are exp(-x^2 / 2) times what a polynomial gives; above, the sum is 1 less that of -x.
    """
    if x.dtype != FLOAT32:
        return exp(x * x * -0.5) * x * _DENSITY + _normal(x)
    size = at_most(absolute(x), 13.0)
    square, scale = size * size, -0.5 / math.log(2)
    whole, power = nearest_power(square, scale)
    *terms, first, zeroth = table.GELU_SLOPE    # these cancel: even and odd powers would lose what they share
    polynomial = fma(fma(halved(terms, size), size, first), size, zeroth)
    below = power * horner(table.EXP2, fma(square, scale, -whole)) * polynomial
    below = select(compare("<", size, 13), below, constant(x, 0.0))
    # Infinity times a density of zero is not a number, in PyTorch too.
    return select(compare(">", x, 0), 1 - below, below) + (x - x)


def _near(x: Expression) -> Expression:
    """erf(x) up to 1, in double precision."""
    inside = at_most(absolute(x), 1.0)
    return x * horner(shared.ERF_SMALL, inside * inside * 2 - 1)


def _scaled_tail(size: Expression, terms: Sequence[float] = shared.ERFCX) -> Expression:
    """exp(x^2) (1 - erf(x)) of x that is not negative."""
    return horner(terms, (size - 3.75) / (size + 3.75)) / (size * 2 + 1)


def _tail(size: Expression) -> Expression:
    """1 - erf(x) of x that is not negative; the square is split: its rounding would grow."""
    finite = at_most(size, 30.0)
    head = (finite * 16).intrinsic("rint") / 16
    return _scaled_tail(finite) * (exp(-head * head) * exp(-(finite - head) * (finite + head)))


def erf(x: Expression) -> Expression:
    """The error function."""
    if x.dtype == FLOAT32:
        return _erf32(x)
    format_of(x)
    size = absolute(x)
    return select(compare("<", size, 1), _near(x), copysign(1 - _tail(size), x))


def _erfc_to_single(x: Expression) -> Expression:
    """1 - erf(x) in double precision, exact enough for single."""
    size = at_most(absolute(x), 27.0)
    tail = _scaled_tail(size, shared.ERFCX_SINGLE) * exp(-(x * x))
    inside = at_most(size, 0.5)
    near = x * horner(shared.ERF_SINGLE, inside * inside * 8 - 1)
    return _complement(x, size, near, select(compare("<", size, 27), tail, constant(x, 0.0)))


def _complement(x: Expression, size: Expression, near: Expression, tail: Expression) -> Expression:
    """1 - erf(x), given erf where that is small, and 1 - erf for the size of x."""
    far = select(compare("<", x, 0), 2 - tail, tail)
    found = select(compare("<", size, 0.5), 1 - near, far)
    return select(compare("!=", x, x), x, found)


def erfc(x: Expression) -> Expression:
    """1 - erf(x), accurate where it is small."""
    if x.dtype == FLOAT32:
        return wide(_erfc_to_single)(x)
    format_of(x)
    size = absolute(x)
    return _complement(x, size, _near(x), select(compare("<", size, 27.3), _tail(size), constant(x, 0.0)))


@wide
def _ndtr32(x: Expression) -> Expression:
    return _erfc_to_single(x * -math.sqrt(0.5)) * 0.5


def ndtr(x: Expression) -> Expression:
    """The normal distribution function, accurate where it is small."""
    return _ndtr32(x) if x.dtype == FLOAT32 else erfc(x * -math.sqrt(0.5)) * 0.5


@in_double
def log_ndtr(x: Expression) -> Expression:
    """Its logarithm."""
    below = at_most(x, -1.0)
    z = below * -math.sqrt(0.5)
    far = log(_scaled_tail(at_most(z, 1e300)) * 0.5) - z * z
    near = log1p(erfc(at_least(x, -1.0) * math.sqrt(0.5)) * -0.5)
    return select(compare("<", x, -1), far, near)


def _far(tail: Expression) -> Expression:
    """-ndtri to 1e-9, for a number between 0 and 1/2."""
    w = -log(tail * (1 - tail) * 4)
    near = horner(shared.ERFINV_NEAR, at_most(w, 6.25) * (2 / 6.25) - 1) * (1 - tail * 2) * math.sqrt(2)
    low, high = shared.NDTRI_ENDS
    root = w.intrinsic("sqrt")
    place = (1 / (root + 1) - (low + high) / 2) * (2 / (high - low))
    return select(compare("<", w, 6.25), near, root * horner(shared.NDTRI_FAR, place))


def _with_ends(p: Expression, result: Expression) -> Expression:
    """ndtri where p is not 0, 1 or beyond."""
    end = select(compare("==", p, 0), constant(p, -math.inf), select(
        compare("==", p, 1), constant(p, math.inf), constant(p, math.nan)))
    return select(compare(">", p, 0) & compare("<", p, 1), result, end)


@wide
def _ndtri32(p: Expression) -> Expression:
    z = _far(select(compare("<", p, 0.5), p, 1 - p))
    return _with_ends(p, select(compare("<", p, 0.5), -z, z))


def ndtri(p: Expression) -> Expression:
    """The inverse of ndtr: an estimate, in double precision a step of Newton's method on the logarithm."""
    if p.dtype == FLOAT32:
        return _ndtri32(p)
    format_of(p)
    inside = at_least(select(compare("<", p, 0.5), p, 1 - p), 1e-320)
    z = _far(inside)    # ndtr(-z) = inside
    scaled = _scaled_tail(z * math.sqrt(0.5)) * 0.5
    z = z + (log(scaled) - z * z * 0.5 - log(inside)) * scaled * math.sqrt(2 * math.pi)
    middle = erfinv(p * 2 - 1) * math.sqrt(2)
    return _with_ends(p, select(compare(">", inside, 0.2), middle, select(compare("<", p, 0.5), -z, z)))


@odd
def _erfinv32(x: Expression) -> Expression:
    """x times a polynomial of -log(1 - x^2), or of its root where that is large."""
    w = -log((1 - x) * (x + 1))
    near = horner(table.ERFINV_NEAR, at_most(w, 5.0))
    far = horner(table.ERFINV_FAR, w.intrinsic("sqrt"))
    value = x * select(compare("<", w, 5), near, far)
    return select(compare("==", x, 1), constant(x, math.inf), value)


def _estimate(x: Expression) -> Expression:
    """The inverse of erf to 1e-9."""
    w = -log((1 - x) * (x + 1))
    near = horner(shared.ERFINV_NEAR, at_most(w, 6.25) * (2 / 6.25) - 1)
    root = at_least(at_most(w.intrinsic("sqrt"), 6.1), 2.5)
    far = horner(shared.ERFINV_FAR, (root - 2.5) * (2 / 3.6) - 1)
    return x * select(compare("<", w, 6.25), near, far)


def erfinv(x: Expression) -> Expression:
    """The inverse of erf; in double precision an estimate and a step of Halley's method."""
    if x.dtype == FLOAT32:
        return _erfinv32(x)
    format_of(x)
    size = absolute(x)
    z = _estimate(size)
    wrong = select(compare("<", size, 0.5), _near(z) - size, (1 - size) - _tail(z))
    step = wrong * (math.sqrt(math.pi) / 2) * exp(z * z)
    value = z - step / fma(z, step, 1.0)
    value = select(compare("==", size, 1), constant(x, math.inf), value)
    return copysign(select(compare(">", size, 1), constant(x, math.nan), value), x)
