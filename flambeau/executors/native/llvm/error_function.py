"""The error function, its complement and inverse, and the normal distribution function in generated code."""

from __future__ import annotations

import math

from ...interpreter import coefficients as shared
from . import coefficients as table
from .emitter import FLOAT32
from .expression import Expression, compare, constant, select
from .functions import (
    absolute,
    at_most,
    by_ln2,
    copysign,
    exp,
    fma,
    format_of,
    horner,
    log,
    odd,
    power_of_two,
    reduced_expm1,
    wide,
)


def _erf32(x: Expression) -> Expression:
    """x + x P(x^2) below 1, and 1 - exp(Q(|x|)) up to 4, where it is 1."""
    size = at_most(absolute(x), 4.0)
    near = fma(x, horner(table.ERF32_NEAR, size * size), x)
    r, n = by_ln2(horner(table.ERFC32_LOG, size))
    far = fma(-power_of_two(n, x), reduced_expm1(r) + 1, 1.0)
    return select(compare("<", size, 1), near, copysign(far, x))


def normal(x: Expression) -> Expression:
    """The normal distribution function, (1 + erf(x / sqrt(2))) / 2, to a unit in the last place of 1."""
    if x.dtype != FLOAT32:
        return (erf(x * math.sqrt(0.5)) + 1) * 0.5
    size = at_most(absolute(x) * math.sqrt(0.5), 4.1)
    r, n = by_ln2(horner(table.ERFC32_RATIO, size) * size)
    tail = power_of_two(n - 1, x) * (reduced_expm1(r) + 1)
    tail = select(compare("<", size, 4.1), tail, constant(x, 0.0))
    return select(compare(">", x, 0), 1 - tail, tail)


def erf(x: Expression) -> Expression:
    """The error function."""
    if x.dtype == FLOAT32:
        return _erf32(x)
    format_of(x)
    size = absolute(x)
    inside = at_most(size, 1.0)
    near = x * horner(shared.ERF_SMALL, inside * inside * 2 - 1)
    finite = at_most(size, 30.0)
    tail = horner(shared.ERFCX, (finite - 3.75) / (finite + 3.75)) / (finite * 2 + 1)
    head = (finite * 16).intrinsic("rint") / 16
    gaussian = exp(-head * head) * exp(-(finite - head) * (finite + head))
    return select(compare("<", size, 1), near, copysign(1 - tail * gaussian, x))


@wide
def erfc(x: Expression) -> Expression:
    """1 - erf(x), accurate where it is small."""
    size = at_most(absolute(x), 27.0)
    tail = horner(shared.ERFCX, (size - 3.75) / (size + 3.75)) / (size * 2 + 1) * exp(-(x * x))
    tail = select(compare("<", size, 27), tail, constant(x, 0.0))
    inside = at_most(size, 1.0)
    near = 1 - x * horner(shared.ERF_SMALL, inside * inside * 2 - 1)
    far = select(compare("<", x, 0), 2 - tail, tail)
    found = select(compare("<", size, 0.5), near, far)
    return select(compare("!=", x, x), x, found)


@odd
def erfinv(x: Expression) -> Expression:
    """The inverse of erf: x times a polynomial of -log(1 - x^2), or of its root where that is large."""
    w = -log((1 - x) * (x + 1))
    near = horner(table.ERFINV_NEAR, at_most(w, 5.0))
    far = horner(table.ERFINV_FAR, w.intrinsic("sqrt"))
    value = x * select(compare("<", w, 5), near, far)
    return select(compare("==", x, 1), constant(x, math.inf), value)
