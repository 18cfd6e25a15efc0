"""Quotients and remainders of floating numbers in generated code, exact; shifts of integers.

Note: remainders. x - q y is exact in double precision as long as q has no more than 28 bits, for y has 24.
The true quotient has up to 277 bits: it is taken off 27 at a time, from the top, each time from what is left.
What is left in the end is off by one y at most, for a quotient may be rounded up to the next integer.
Of double precision they are taken off in a loop (``called.remainder``).
"""

from __future__ import annotations

import math
from typing import Any

from ..emitter import FLOAT64, INT64, Unsupported
from .called import called, remainder
from .expression import Expression, bits_of, compare, constant, convert, is_float, pair, select
from .functions import absolute, copysign, fma, signed

_STEPS = 11     # times 27 bits are more than 277
_KEPT = -1 << 26    # of a double's 52 bits behind the point


def _operands(x: Any, y: Any) -> tuple[Expression, Expression]:
    first, second = pair(x, y)
    if not is_float(first):
        raise Unsupported(f"remainders of {first.dtype}")    # of integers: a zero raises an error
    return first, second


def _rest(x: Expression, y: Expression) -> Expression:
    """The remainder of |x| by |y|, with x's sign; NaN of infinite x, and where y is 0."""
    if x.dtype == FLOAT64:
        return copysign(called("remainder", remainder, absolute(x), absolute(y)), x)
    length, size = [convert(absolute(a), FLOAT64) for a in (x, y)]
    left, inverse = length, 1 / size
    for _ in range(_STEPS):
        whole = (left * inverse).intrinsic("trunc")
        whole = bits_of(bits_of(whole, INT64) & _KEPT, FLOAT64)
        left = fma(-whole, size, left)
    left = select(compare("<", left, 0), left + size, left)
    left = select(compare(">=", left, size), left - size, left)
    left = select(compare("==", size, math.inf) & compare("<", length, math.inf), length, left)
    none = compare("==", length, math.inf) | compare("==", size, 0)
    return signed(select(none, constant(left, math.nan), left), x)


def truncated_remainder(x: Any, y: Any) -> Expression:
    """The remainder with the sign of x."""
    return _rest(*_operands(x, y))


def _adjusted(rest: Expression, y: Expression) -> Expression:
    """Whether a remainder has not the sign of y."""
    return compare("!=", rest, 0) & (compare("<", y, 0) ^ compare("<", rest, 0))


def floored_remainder(x: Any, y: Any) -> Expression:
    """The remainder with the sign of y; a zero has the sign of x."""
    first, second = _operands(x, y)
    rest = _rest(first, second)
    return select(_adjusted(rest, second), rest + second, rest)


def floored_quotient(x: Any, y: Any) -> Expression:
    """x / y rounded down: what is left when the remainder is taken off, divided."""
    first, second = _operands(x, y)
    rest = _rest(first, second)
    quotient = (first - rest) / second
    quotient = select(_adjusted(rest, second), quotient - 1, quotient)
    floor = quotient.intrinsic("floor")
    floor = select(compare(">", quotient - floor, 0.5), floor + 1, floor)
    floor = select(compare("==", quotient, 0), copysign(constant(floor, 0.0), first / second), floor)
    return select(compare("==", second, 0), first / second, floor)


def truncated_quotient(x: Any, y: Any) -> Expression:
    """x / y rounded towards zero."""
    first, second = pair(x, y)
    if not is_float(first):
        raise Unsupported(f"quotients of {first.dtype}")
    return (first / second).intrinsic("trunc")


# --- of integers, by a number -------------------------------------------------------------------------------

_BELOW = 1 - 2.0**-40   # with a quotient this much smaller, 63 bits divided by 1 stay below 2**63


def _divided(x: Any, y: Any) -> tuple[Expression, Expression, Expression]:
    """Quotient and remainder of signed integers, and whether the remainder has not the sign of y.

    |y| is at least 1 and has no more than 31 bits. In double precision a quotient of 32 bits is exact when
    rounded towards zero. Of 64 bits the first one leaves less than 2**33, of which the second one is.
    """
    first, second = pair(x, y)
    if first.dtype.kind != "i" or first.dtype.itemsize < 4:
        raise Unsupported(f"remainders of {first.dtype}")
    divisor = convert(second, FLOAT64)
    quotient, rest = constant(first, 0), first
    if first.dtype == INT64:
        quotient = _towards_zero(convert(first, FLOAT64) * (_BELOW / divisor), first)
        rest = first - quotient * second
    last = _towards_zero(convert(rest, FLOAT64) / divisor, first)
    rest = rest - last * second
    return quotient + last, rest, _adjusted(rest, second)


def _towards_zero(x: Expression, like: Expression) -> Expression:
    return x.emit(f"fptosi double {x.register} to i{like.dtype.itemsize * 8}", like.dtype)


def quotient_by_number(x: Any, y: Any) -> Expression:
    """x / y rounded down."""
    quotient, _, adjusted = _divided(x, y)
    return select(adjusted, quotient - 1, quotient)


def truncated_by_number(x: Any, y: Any) -> Expression:
    """x / y rounded towards zero."""
    return _divided(x, y)[0]


def rest_by_number(x: Any, y: Any) -> Expression:
    """The remainder with the sign of x."""
    return _divided(x, y)[1]


def remainder_by_number(x: Any, y: Any) -> Expression:
    """The remainder with the sign of y."""
    _, rest, adjusted = _divided(x, y)
    return select(adjusted, rest + pair(x, y)[1], rest)


# --- shifts -------------------------------------------------------------------------------------------------

def _bounded(x: Any, y: Any) -> tuple[Expression, Expression, Expression, int]:
    """Both operands, whether the second is between 0 and the width, and the width."""
    first, second = pair(x, y)
    if first.dtype.kind not in "iu":
        raise Unsupported(f"shifts of {first.dtype}")
    width = first.dtype.itemsize * 8
    inside = compare("<", second, width)
    if first.dtype.kind == "i":
        inside = inside & compare(">=", second, 0)
    return first, second, inside, width


def _shifted(name: str, x: Expression, y: Expression) -> Expression:
    return x.emit(f"{name} i{x.dtype.itemsize * 8} {x.register}, {y.register}", x.dtype)


def shifted_left(x: Any, y: Any) -> Expression:
    """x << y; 0 where y is negative or as large as the type is wide."""
    first, second, inside, _ = _bounded(x, y)
    zero = constant(first, 0)
    return select(inside, _shifted("shl", first, select(inside, second, zero)), zero)


def shifted_right(x: Any, y: Any) -> Expression:
    """x >> y, keeping the sign; by all bits where y is negative or too large."""
    first, second, inside, width = _bounded(x, y)
    by = select(inside, second, constant(first, width - 1))
    return _shifted("ashr" if first.dtype.kind == "i" else "lshr", first, by)


__all__ = ["floored_quotient", "floored_remainder", "quotient_by_number", "remainder_by_number",
           "rest_by_number", "shifted_left", "shifted_right", "truncated_by_number", "truncated_quotient",
           "truncated_remainder"]
