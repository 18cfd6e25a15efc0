"""The incomplete gamma functions in generated code, in double precision, by the interpreter's formulas."""

from __future__ import annotations

import math
from functools import partial

from ..build import Function
from ..emitter import FLOAT32, FLOAT64
from ..expressions.called import called, value
from ..expressions.expression import Expression, compare, constant, convert, select
from ..expressions.functions import absolute, exp, log
from .gamma import lgamma

_TERMS = 2000
_TINY = 1e-300
_EXACT, _SINGLE = 4e-16, 2.0 ** -40     # the last term's share, by the type of the result


def gammainc(a: Expression, x: Expression) -> Expression:
    """The regularised lower incomplete gamma function."""
    return _regularised("gammainc", False, a, x)


def gammaincc(a: Expression, x: Expression) -> Expression:
    """The regularised upper incomplete gamma function."""
    return _regularised("gammaincc", True, a, x)


def _regularised(name: str, upper: bool, a: Expression, x: Expression) -> Expression:
    enough = _SINGLE if a.dtype == FLOAT32 else _EXACT
    wide = [convert(operand, FLOAT64) for operand in (a, x)]
    name = f"{name}_of_{a.dtype}"
    return convert(called(name, partial(_incomplete, upper=upper, enough=enough), *wide), a.dtype)


def _incomplete(f: Function, a: Expression, x: Expression, upper: bool, enough: float) -> Expression:
    """The series of one function up to x = a + 1, beyond it the continued fraction of the other."""
    result = f.variable("double", _ends(a, x, upper).register)
    inside = compare(">", a, 0) & compare(">", x, 0) & compare("<", a, math.inf) & compare("<", x, math.inf)
    with f.when(inside.register):
        factor = exp(a * log(x) - x - lgamma(a))
        near = compare("<", x, a + 1)
        with f.when(near.register):
            lower = _lower_series(f, a, x, enough) * factor
            result.set((1 - lower if upper else lower).register)
        with f.otherwise(near.register):
            rest = _upper_fraction(f, a, x, enough) * factor
            result.set((rest if upper else 1 - rest).register)
    return value(result)


def _ends(a: Expression, x: Expression, upper: bool) -> Expression:
    """Where one of both is 0 or infinite; no number elsewhere."""
    low, high = constant(x, float(upper)), constant(x, float(not upper))
    zero, infinite = compare("==", x, 0), compare("==", x, math.inf)
    found = select(compare("==", a, math.inf) & compare(">=", x, 0) & ~infinite, low, constant(x, math.nan))
    found = select(infinite & compare(">", a, 0) & compare("<", a, math.inf), high, found)
    found = select(compare("==", a, 0) & compare(">", x, 0), high, found)
    return select(zero & compare(">", a, 0), low, found)


def _lower_series(f: Function, a: Expression, x: Expression, enough: float) -> Expression:
    """The sum of x^n / (a (a + 1) ... (a + n))."""
    term = f.variable("double", (1 / a).register)
    total = f.variable("double", term.get())
    n = f.variable("double", a.register)
    with f.forever() as leave:
        following = value(n) + 1
        n.set(following.register)
        term.set((value(term) * (x / following)).register)
        total.set((value(total) + value(term)).register)
        small = compare("<=", value(term), value(total) * (enough / 4))
        leave((small | compare(">", following, a + _TERMS)).register)
    return value(total)


def _upper_fraction(f: Function, a: Expression, x: Expression, enough: float) -> Expression:
    """Legendre's continued fraction by Lentz's method."""
    def apart(y: Expression) -> Expression:
        return select(compare("==", y, 0), constant(y, _TINY), y)

    b = f.variable("double", (x + 1 - a).register)
    c = f.variable("double", constant(x, 1 / _TINY).register)
    d = f.variable("double", (1 / apart(value(b))).register)
    h = f.variable("double", d.get())
    i = f.variable("double", constant(x, 0.0).register)
    with f.forever() as leave:
        k = value(i) + 1
        i.set(k.register)
        step = k * (a - k)
        b.set((value(b) + 2).register)
        d.set((1 / apart(value(d) * step + value(b))).register)
        c.set(apart(value(b) + step / value(c)).register)
        change = value(c) * value(d)
        h.set((value(h) * change).register)
        small = compare("<=", absolute(change - 1), enough)
        leave((small | compare(">", k, _TERMS)).register)
    return value(h)


__all__ = ["gammainc", "gammaincc"]
