"""Elementary functions in generated code: range reduction, then a polynomial by fused multiply-adds.

All are free of branches, so that LLVM computes as many elements at once as a vector holds. In single
precision the error is below 2 units in the last place; special values are those of C. Where a formula needs
more precision than its type has, single precision is computed in double (``wide``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..compiling.machine import machine
from ..emitter import FLOAT32, FLOAT64, INT32, INT64, Dtype, Unsupported
from . import coefficients as table
from .expression import Expression, bits_of, chosen, compare, constant, convert, is_float, select

Function = Callable[..., Expression]


class _Format:
    """What the formulas need to know of a floating type."""

    def __init__(self, integer: Dtype, mantissa: int, bias: int, magic: float, ln2: tuple[float, float],
                 exp_range: tuple[float, float], flat: float, smallest: float) -> None:
        self.integer = integer
        self.mantissa = mantissa
        self.bias = bias
        self.magic = magic          # adding it rounds to an integer, which then stands in the low bits
        self.ln2 = ln2              # log(2) in two parts, the first with trailing zeros
        self.exp_range = exp_range  # beyond, exp is 0 or infinite
        self.flat = flat            # beyond, expm1(-x) is -1 and tanh(x / 2) is 1
        self.smallest = smallest    # normal number


_FORMATS = {
    FLOAT32: _Format(INT32, 23, 127, 1.5 * 2.0 ** 23, (0.693145751953125, 1.42860682030941723212e-06),
                     (-104.0, 89.0), 20.0, 2.0 ** -126),
    FLOAT64: _Format(INT64, 52, 1023, 1.5 * 2.0 ** 52, (0.6931471803691238, 1.9082149292705877e-10),
                     (-746.0, 710.0), 40.0, 2.0 ** -1022),
}


def format_of(x: Expression) -> _Format:
    if not is_float(x):
        raise Unsupported(f"a function of {x.dtype}")
    return _FORMATS[x.dtype]


def wide(function: Function) -> Function:
    """Single precision computed in double; double precision has no native form."""
    @wraps(function)
    def wrapper(*operands: Expression) -> Expression:
        if any(x.dtype != FLOAT32 for x in operands):
            raise Unsupported(f"{function.__name__} of {operands[0].dtype}")
        return convert(function(*[convert(x, FLOAT64) for x in operands]), FLOAT32)
    return wrapper


def signed(magnitude: Expression, sign: Expression) -> Expression:
    """A double as a float with the sign of a float.

    The sign of a double that was a 16-bit number would be found by LLVM by rounding it to 16 bits again, for
    which there is no instruction.
    """
    return copysign(convert(magnitude, FLOAT32), sign)


def odd(function: Function) -> Function:
    """Single precision computed in double, from the argument's magnitude; it has the argument's sign."""
    @wraps(function)
    def wrapper(x: Expression) -> Expression:
        if x.dtype != FLOAT32:
            raise Unsupported(f"{function.__name__} of {x.dtype}")
        return signed(function(convert(absolute(x), FLOAT64)), x)
    return wrapper


def in_double(function: Function) -> Function:
    """Single precision by way of double."""
    single = wide(function)

    @wraps(function)
    def wrapper(x: Expression) -> Expression:
        return function(x) if x.dtype == FLOAT64 else single(x)
    return wrapper


def fma(x: Expression, y: Any, z: Any) -> Expression:
    """x y + z, rounded once."""
    second = y if isinstance(y, Expression) else constant(x, y)
    third = z if isinstance(z, Expression) else constant(x, z)
    return x.intrinsic("fma", second, third)


def horner(coefficients: Sequence[float], x: Expression) -> Expression:
    """The polynomial with these coefficients, highest power first."""
    result = constant(x, coefficients[0])
    for c in coefficients[1:]:
        result = fma(result, x, c)
    return result


def halved(coefficients: Sequence[float], x: Expression) -> Expression:
    """The same by even and odd powers: a product more, but half as many steps that wait for each other."""
    square = x * x
    even, odd = horner(coefficients[::-2][::-1], square), horner(coefficients[-2::-2][::-1], square)
    return fma(odd, x, even)


def copysign(x: Expression, sign: Expression) -> Expression:
    """x with the sign of another number."""
    return chosen(x.intrinsic("copysign", sign), x)


def absolute(x: Expression) -> Expression:
    """The absolute value."""
    return chosen(x.intrinsic("fabs"), x) if is_float(x) else select(compare("<", x, 0), -x, x)


def at_most(x: Expression, bound: float) -> Expression:
    """min(x, bound), NaN staying NaN."""
    return select(compare(">", x, bound), constant(x, bound), x)


def at_least(x: Expression, bound: float) -> Expression:
    """max(x, bound), NaN staying NaN."""
    return select(compare("<", x, bound), constant(x, bound), x)


# --- exponentials -------------------------------------------------------------------------------------------

def shifted_bits(x: Expression, symbol: str, count: int) -> Expression:
    """An integer whose bits are moved by LLVM's ``shl``, ``lshr`` or ``ashr``."""
    kind = f"i{x.dtype.itemsize * 8}"
    return x.emit(f"{symbol} {kind} {x.register}, {count}", x.dtype)


def power_of_two(n: Expression, like: Expression) -> Expression:
    """2^n of an integer n between the exponents of normal numbers."""
    f = format_of(like)
    return bits_of(shifted_bits(n + f.bias, "shl", f.mantissa), like.dtype)


def nearest(x: Expression, scale: float) -> tuple[Expression, Expression]:
    """x scale rounded to an integer: as a number of x's type, and as an integer."""
    f = format_of(x)
    shifted = fma(x, scale, f.magic)
    n = bits_of(shifted, f.integer) - bits_of(constant(x, f.magic), f.integer)
    return shifted - f.magic, n


def nearest_power(x: Expression, scale: float, raised: int = 0) -> tuple[Expression, Expression]:
    """x scale rounded to an integer n, as a number of x's type, and 2^(n + raised), which is to be normal.

    What is added to round leaves the exponent's bits in the lowest ones.
    """
    f = format_of(x)
    moved = f.magic + (f.bias + raised)
    shifted = fma(x, scale, moved)
    bits = shifted_bits(bits_of(shifted, f.integer), "shl", f.mantissa)
    return shifted - moved, bits_of(bits, x.dtype)


def reduced_expm1(r: Expression) -> Expression:
    """exp(r) - 1, |r| <= log(2) / 2."""
    return fma(r * r, horner(table.EXPM32 if r.dtype == FLOAT32 else table.EXPM64, r), r)


def reduced_exp(r: Expression, scale: float = 1.0) -> Expression:
    """exp(r) times a power of two, |r| <= log(2) / 2."""
    if r.dtype == FLOAT32:
        return horner([c * scale for c in table.EXP32], r)
    return (reduced_expm1(r) + 1) * scale


def by_ln2(x: Expression) -> tuple[Expression, Expression]:
    """x - n log(2), and the integer n."""
    whole, n = nearest(x, 1 / math.log(2))
    return _less(x, whole), n


def _less(x: Expression, whole: Expression) -> Expression:
    """x - whole log(2)."""
    high, low = format_of(x).ln2
    return fma(whole, -low, fma(whole, -high, x))


def _of_power(x: Expression, scale: float, reduced: Function) -> Expression:
    """reduced(n) 2^n with n = x scale rounded: that may be below the normal numbers, or infinite.

    In one instruction, or by two powers: what is added to round, two biases among it, leaves the sum of their
    exponents in the lowest bits.
    """
    f = format_of(x)
    moved = f.magic + 2 * f.bias
    shifted = fma(x, scale, moved)
    bits, value = bits_of(shifted, f.integer), reduced(shifted - moved)
    if x.dtype == FLOAT32 and machine().scales:
        n = bits - bits_of(constant(x, moved), f.integer)
        types, operands = ["float", "i32"], [value.register, n.register]
        return Expression(x.emitter, x.emitter.call("llvm.ldexp.f32.i32", "float", types, operands), FLOAT32)
    half = shifted_bits(bits, "lshr", 1)
    for part in (half, bits - half):
        value = value * bits_of(shifted_bits(part, "shl", f.mantissa), x.dtype)
    return value


def exp(x: Expression) -> Expression:
    """exp(x)."""
    low, high = format_of(x).exp_range
    bounded = at_least(at_most(x, high), low)
    return _of_power(bounded, 1 / math.log(2), lambda whole: reduced_exp(_less(bounded, whole)))


def exp_of_negative(x: Expression) -> Expression:
    """exp(x) of x that is at most 0, or little more.

    The power of two is 64 steps up, the polynomial as many down: so the power is normal where exp(x) is
    subnormal, to which the product is rounded once.
    """
    x = at_least(x, format_of(x).exp_range[0])
    whole, power = nearest_power(x, 1 / math.log(2), 64)
    return reduced_exp(_less(x, whole), 2.0 ** -64) * power


def exp2(x: Expression) -> Expression:
    """2^x."""
    low, high = format_of(x).exp_range
    bounded = at_most(at_least(x, low * 1.45), high * 1.45)
    return _of_power(bounded, 1.0, lambda whole: reduced_exp((bounded - whole) * math.log(2)))


def expm1(x: Expression) -> Expression:
    """exp(x) - 1, accurate near 0."""
    f = format_of(x)
    r, n = by_ln2(at_most(at_least(x, -f.flat), f.exp_range[1]))
    half_scale = power_of_two(n - 1, x)  # 2^n itself may be infinite
    half = fma(half_scale, reduced_expm1(r), half_scale - 0.5)
    return copysign(half + half, x)


def tanh(x: Expression) -> Expression:
    """The hyperbolic tangent: t / (t + 2) with t = expm1(2 |x|), the quotient corrected by what it lacks."""
    size = at_most(absolute(x), format_of(x).flat / 2)
    t = expm1(size + size)
    bottom = t + 2
    lost = t - (bottom - 2)
    inverse = 1 / bottom
    quotient = t * inverse
    rest = fma(-quotient, lost, fma(-quotient, bottom, t))
    return copysign(fma(rest, inverse, quotient), x)


def sigmoid(x: Expression) -> Expression:
    """1 / (1 + exp(-x)), exp(-x) = 2^n (1 + p) added in its two parts; 0 where it is below normal numbers."""
    f = format_of(x)
    limit = math.floor(f.exp_range[1]) - 1.0
    r, n = by_ln2(at_most(at_least(-x, -f.flat), limit))
    scale = power_of_two(n, x)
    value = 1 / (fma(scale, reduced_expm1(r), 1.0) + scale)
    return select(compare("<", x, -limit), constant(x, 0.0), value)


@odd
def sinh(x: Expression) -> Expression:
    """The hyperbolic sine."""
    t = expm1(x)
    return select(compare("==", t, math.inf), t, (t + t / (t + 1)) * 0.5)


@wide
def cosh(x: Expression) -> Expression:
    """The hyperbolic cosine."""
    e = exp(absolute(x))
    return (e + 1 / e) * 0.5


# --- logarithms ---------------------------------------------------------------------------------------------

def _split(x: Expression) -> tuple[Expression, Expression]:
    """t and e with x = (1 + t) 2^e, sqrt(1/2) <= 1 + t < sqrt(2), x positive and finite."""
    f = format_of(x)
    tiny = compare("<", x, f.smallest)
    grown = select(tiny, x * 2.0 ** f.mantissa, x)
    start = bits_of(constant(x, math.sqrt(0.5)), f.integer)
    steps = bits_of(grown, f.integer) - start
    exponent = convert(shifted_bits(steps, "ashr", f.mantissa), x.dtype)
    exponent = select(tiny, exponent - f.mantissa, exponent)
    return bits_of((steps & ((1 << f.mantissa) - 1)) + start, x.dtype) - 1, exponent


def _log_special(x: Expression, result: Expression) -> Expression:
    """The logarithm, where x may also be 0, negative, infinite or NaN."""
    result = select(compare("==", x, math.inf), x, result)
    result = select(compare("<", x, 0), constant(x, math.nan), result)
    result = select(compare("==", x, 0), constant(x, -math.inf), result)
    return select(compare("!=", x, x), x, result)


def _log1p_reduced(t: Expression, e: Expression, ln2: tuple[float, float],
                   more: Expression | None = None) -> Expression:
    """log(1 + t) + e log(2); in single precision plus ``more``, which is small."""
    if t.dtype == FLOAT32:
        square = t * t
        tail = fma(e, ln2[1], square * t * horner(table.LOG32, t))
        tail = tail if more is None else tail + more
        return fma(e, ln2[0], t + fma(square, -0.5, tail))
    s = t / (t + 2)
    z = s * s
    half_square = t * t * 0.5
    tail = fma(e, ln2[1], s * fma(z, horner(table.LOG64, z), half_square))
    return fma(e, ln2[0], t - (half_square - tail))


def log(x: Expression) -> Expression:
    """The natural logarithm."""
    t, e = _split(x)
    return _log_special(x, _log1p_reduced(t, e, format_of(x).ln2))


def split_normal(x: Expression) -> tuple[Expression, Expression]:
    """``_split`` of a number that is normal."""
    f = format_of(x)
    start = bits_of(constant(x, math.sqrt(0.5)), f.integer)
    steps = bits_of(x, f.integer) - start
    t = bits_of((steps & ((1 << f.mantissa) - 1)) + start, x.dtype) - 1
    return t, convert(shifted_bits(steps, "ashr", f.mantissa), x.dtype)


def log_of_normal(x: Expression) -> Expression:
    """The natural logarithm of a finite number that is positive and normal, or NaN: few instructions."""
    t, exponent = split_normal(x)
    return _log1p_reduced(t, exponent, format_of(x).ln2) + (x - x)


def _log2_double(x: Expression) -> Expression:
    t, e = _split(x)
    fraction = _log1p_reduced(t, constant(x, 0.0), (0.0, 0.0))
    return _log_special(x, fma(fraction, 1 / math.log(2), e))


@wide
def log2(x: Expression) -> Expression:
    """The logarithm to base 2."""
    return _log2_double(x)


@wide
def log10(x: Expression) -> Expression:
    """The logarithm to base 10."""
    return _log2_double(x) * math.log10(2)


def log1p_double(x: Expression) -> Expression:
    """log(1 + x) by the logarithm of 1 + x as it is rounded, and the slope there times what was lost."""
    total = x + 1
    kept = total - 1
    lost = (1 - (total - kept)) + (x - kept)
    result = log(total)
    finite = compare(">", total, 0) & compare("<", total, math.inf)
    return select(compare("==", x, 0), x, select(finite, result + lost / total, result))  # -0 stays -0


def _log1p_single(x: Expression) -> Expression:
    """1 + x as it is rounded, and what was lost, which the logarithm grows by in proportion."""
    total = x + 1
    lost = (x - (total - 1)) / total
    t, e = split_normal(total)
    value = _log1p_reduced(t, e, format_of(x).ln2, lost)
    return select(compare("==", x, 0), x, _log_special(total, value))   # -0 stays -0


def log1p(x: Expression) -> Expression:
    """log(1 + x), accurate near 0."""
    return log1p_double(x) if x.dtype == FLOAT64 else _log1p_single(x)


# --- powers -------------------------------------------------------------------------------------------------

@wide
def power(x: Expression, y: Expression) -> Expression:
    """x^y, special cases as in C."""
    size = absolute(x)
    result = exp(y * log(size))
    result = select(compare("==", size, 1), constant(x, 1.0), result)
    whole = compare("==", y.intrinsic("rint"), y)
    half = y * 0.5
    is_odd = whole & compare("!=", half.intrinsic("rint"), half) & compare("<", absolute(y), math.inf)
    undefined = compare("<", x, 0) & compare("<", size, math.inf) & ~whole
    result = select(is_odd, copysign(result, x), select(undefined, constant(x, math.nan), result))
    result = select(compare("!=", x, x) | compare("!=", y, y), x + y, result)
    return select(compare("==", y, 0) | compare("==", x, 1), constant(x, 1.0), result)


__all__ = ["absolute", "cosh", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "power", "sigmoid",
           "sinh", "tanh"]
