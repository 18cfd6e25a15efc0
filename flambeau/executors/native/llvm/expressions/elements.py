"""What takes one instruction or a few: quotients, choices, rounding, tests and logic."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ..emitter import BOOL, FLOAT16, FLOAT32, FLOAT64, Unsupported, register_type
from .expression import Expression, arithmetic, chosen, compare, constant, convert, is_float, pair, select
from .functions import absolute, copysign


def true_divide(x: Any, y: Any, dtype: Any = None) -> Expression:
    """x / y of floating numbers."""
    return arithmetic("/", x if dtype is None else cast(x, dtype), y)


divide = true_divide


def cast(x: Expression, numpy_type: Any) -> Expression:
    """x in another type."""
    return convert(x, np.dtype(numpy_type))


def rounded(x: Expression, dtype: Any) -> Expression:
    """x rounded to a narrower type, in its own type; as it is without a type."""
    return x if dtype is None else Expression(x.emitter, x.emitter.rounded(x.register, dtype.numpy), x.dtype)


def where(condition: Any, x: Any, y: Any) -> Expression:
    """x where the condition holds, else y."""
    if not isinstance(condition, Expression) or not (isinstance(x, Expression) or isinstance(y, Expression)):
        raise Unsupported("a choice between numbers")
    x, y = pair(x, y)
    if not _is_literal(x) and _is_literal(y):
        x = _there(x)
    if not _is_literal(y) and _is_literal(x):
        y = _there(y)
    return select(convert(condition, BOOL), x, y)


def _is_literal(x: Expression) -> bool:
    return not x.register.startswith("%")


def _there(x: Expression) -> Expression:
    """x as it is, to be read whatever the condition says.

    Else LLVM would load the elements alone for which it holds, and begin when what decides that is there.
    Where all come from memory, that takes up to a third longer.
    """
    if x.dtype not in (FLOAT32, FLOAT64) or x.emitter.exact(x.register) is not None:
        return x
    return x.emit(f"freeze {register_type(x.dtype)} {x.register}", x.dtype)


def unordered(x: Expression) -> Expression:
    """Whether x is NaN, which alone differs from itself."""
    return compare("!=", x, x)


def maximum(x: Any, y: Any) -> Expression:
    """The larger one; NaN where one is NaN."""
    return _extreme(x, y, ">")


def minimum(x: Any, y: Any) -> Expression:
    """The smaller one; NaN where one is NaN."""
    return _extreme(x, y, "<")


def _extreme(x: Any, y: Any, symbol: str) -> Expression:
    x, y = pair(x, y)
    chosen = compare(symbol, x, y)
    return select(chosen | unordered(x) if is_float(x) else chosen, x, y)


def fmax(x: Any, y: Any) -> Expression:
    """The larger one; a number rather than NaN."""
    x, y = pair(x, y)
    chosen = compare(">", x, y)
    return select(chosen | unordered(y) if is_float(x) else chosen, x, y)


def fmin(x: Any, y: Any) -> Expression:
    """The smaller one; a number rather than NaN."""
    x, y = pair(x, y)
    chosen = compare("<", x, y)
    return select(chosen | unordered(y) if is_float(x) else chosen, x, y)


def bounded(x: Expression, low: Any, high: Any) -> Expression:
    """min(max(x, low), high), NaN staying NaN; a zero that is within a bound of 0 keeps its sign."""
    return minimum(high, maximum(low, x))


def between(start: Any, end: Any, weight: Any) -> Expression:
    """The point between start and end, found from the nearer one, so that both are met exactly."""
    step = end - start
    return where(compare("<", absolute(weight), 0.5), start + weight * step, end - step * (1 - weight))


def abs(x: Expression) -> Expression:
    """The absolute value."""
    return x if x.dtype.kind in "bu" else absolute(x)


def sign_of(x: Expression) -> Expression:
    """-1, 0 or 1; 0 for NaN."""
    if x.dtype.kind == "b":
        return x
    below = constant(x, 0 if x.dtype.kind == "u" else -1)
    return select(compare(">", x, 0), constant(x, 1), select(compare("<", x, 0), below, constant(x, 0)))


def square(x: Expression) -> Expression:
    """x^2."""
    return x * x


def sqrt(x: Expression) -> Expression:
    """The square root."""
    return _floating(x).intrinsic("sqrt")


def rsqrt(x: Expression) -> Expression:
    """1 / sqrt(x)."""
    return 1 / sqrt(x)


def _floating(x: Expression) -> Expression:
    if not is_float(x):
        raise Unsupported(f"a function of {x.dtype}")
    return x


def _whole(x: Expression, direction: str) -> Expression:
    """x rounded to an integer; of 16-bit numbers these are such, too.

    LLVM would round in 16 bits what comes from float16, one element at a time: there by adding and taking off
    a number whose neighbours are integers.
    """
    if _floating(x).emitter.exact(x.register) != FLOAT16:
        return chosen(x.intrinsic(direction), x)
    size = absolute(x) if direction == "trunc" else x
    near = (size + 1.5 * 2.0**23) - 1.5 * 2.0**23
    if direction == "ceil":
        near = select(compare("<", near, size), near + 1, near)
    elif direction != "rint":
        near = select(compare(">", near, size), near - 1, near)
    return copysign(near, x)


def floor(x: Expression) -> Expression:
    """Rounded down."""
    return _whole(x, "floor")


def ceil(x: Expression) -> Expression:
    """Rounded up."""
    return _whole(x, "ceil")


def trunc(x: Expression) -> Expression:
    """Rounded towards zero."""
    return _whole(x, "trunc")


def rint(x: Expression) -> Expression:
    """Rounded to nearest, ties to even."""
    return _whole(x, "rint")


def isnan(x: Expression) -> Expression:
    """Whether x is NaN."""
    return unordered(x) if is_float(x) else constant(x, False, BOOL)


def isinf(x: Expression) -> Expression:
    """Whether x is infinite."""
    return compare("==", absolute(x), inf) if is_float(x) else constant(x, False, BOOL)


def isfinite(x: Expression) -> Expression:
    """Whether x is neither infinite nor NaN."""
    return compare("<", absolute(x), inf) if is_float(x) else constant(x, True, BOOL)


def nan_to_num(x: Expression, nan: Any, posinf: Any, neginf: Any) -> Expression:
    """x with what is not finite replaced."""
    finite = where(compare("==", x, inf), posinf, where(compare("==", x, -inf), neginf, x))
    return where(unordered(x), nan, finite)


def signbit(x: Expression) -> Expression:
    """Whether the sign is negative."""
    return compare("<", copysign(constant(_floating(x), 1.0), x), 0)


def iscomplexobj(x: Expression) -> bool:
    """Complex elements have no native form."""
    return False


def conj(x: Expression) -> Expression:
    """x: elements are real."""
    return x


def ones_like(x: Expression) -> Expression:
    """1."""
    return constant(x, 1)


def _truth(x: Any) -> Expression:
    if not isinstance(x, Expression):
        raise Unsupported("the truth of a number")
    return convert(x, BOOL)


def logical_and(x: Any, y: Any) -> Expression:
    """Whether both hold."""
    return _truth(x) & _truth(y)


def logical_or(x: Any, y: Any) -> Expression:
    """Whether one holds."""
    return _truth(x) | _truth(y)


def logical_xor(x: Any, y: Any) -> Expression:
    """Whether exactly one holds."""
    return _truth(x) ^ _truth(y)


def logical_not(x: Any) -> Expression:
    """Whether x does not hold."""
    return ~_truth(x)



