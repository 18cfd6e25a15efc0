"""What random words become: the formulas of the distributions, as ``random_streams`` states them.

Each formula is a counted loop over elements without branches, for LLVM to compute in vectors. The numbers of
a distribution are read from the kernel's words, from ``NUMBERS`` on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....random_streams import polynomials as cephes
from ..llvm.build import Function
from ..llvm.emitter import FLOAT32, FLOAT64, INT32, INT64, Dtype, memory_type
from ..llvm.expressions.expression import Expression, bits_of, compare, constant, convert, select
from ..llvm.expressions.functions import fma, log1p
from .mersenne import AFTER, BEFORE, COUNT, IS_KEPT, KEPT, NUMBERS, QUEUE, Formula

_UINT32, _UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)
_TWO_PI = float(np.float32(2 * math.pi))


def _word(f: Function, queue: str, i: str) -> Expression:
    """The i-th word of 32 bits."""
    return Expression(f, f.read("i32", f.at(queue, i, "i32")), _UINT32)


def _wide_word(f: Function, queue: str, i: str) -> Expression:
    """The i-th word of 64 bits: two of 32, the high half first."""
    pair = Expression(f, f.read("i64", f.at(queue, i, "i64"), 4), _UINT64)
    turned = f.call("llvm.fshl.i64", "i64", ["i64"] * 3, [pair.register, pair.register, "32"])
    return Expression(f, turned, _UINT64)


def single(f: Function, queue: str, i: str) -> Expression:
    """A float32 of [0, 1): the low 24 bits of a word."""
    bits = Expression(f, (_word(f, queue, i) & 0xFFFFFF).register, INT32)  # signed: cheap to convert
    return convert(bits, FLOAT32) * 2.0 ** -24


def _bits53(f: Function, queue: str, i: str) -> Expression:
    bits = _wide_word(f, queue, i) & ((1 << 53) - 1)
    return Expression(f, bits.register, INT64)


def double(f: Function, queue: str, i: str) -> Expression:
    """A float64 of [0, 1): the low 53 bits of a word of 64."""
    return convert(_bits53(f, queue, i), FLOAT64) * 2.0 ** -53


def number(f: Function, k: int, dtype: Dtype = FLOAT64) -> Expression:
    return Expression(f, f.word(NUMBERS + k, memory_type(dtype)), dtype)


def _store(f: Function, x: Expression, result: str, i: str, dtype: Dtype) -> None:
    """Write element i; x has the type in which elements of ``dtype`` are computed with."""
    f.store(x.register, f.at(result, i, memory_type(dtype)), dtype)


def _held(x: Expression, dtype: Dtype) -> Expression:
    """A value as elements of ``dtype`` are held in registers, by way of float32 to 16 bits."""
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        return Expression(x.emitter, x.emitter.rounded(convert(x, FLOAT32).register, dtype), FLOAT32)
    return convert(x, dtype)


def uniform(dtype: Dtype) -> Formula:
    """u (high - low) + low, rounded once; what is rounded up to ``high`` becomes ``low``."""
    compute = FLOAT64 if dtype == FLOAT64 else FLOAT32

    def formula(f: Function, queue: str, result: str, first: str, count: str) -> None:
        low, high = (convert(number(f, k), compute) for k in (0, 1))
        width = high - low
        start, stop = _held(low, dtype), _held(high, dtype)
        with f.loop(0, count) as i:
            u = double(f, queue, i) if compute == FLOAT64 else single(f, queue, i)
            x = _held(fma(u, width, low), dtype)
            _store(f, select(compare("==", x, stop), start, x), result, i, dtype)
    return formula


# --- integers -----------------------------------------------------------------------------------------------

NARROW = 1 << 28  # widths below take one word of 32 bits, others one of 64


def integer_words(f: Function) -> str:
    """How many words an integer of [low, high) takes."""
    width = f.sub(f.word(NUMBERS + 1), f.word(NUMBERS))
    return f.choose(f.compare("ult", width, NARROW), "i64", 1, 2)


def integers(dtype: Dtype) -> Formula:
    """low + word mod (high - low), in int64, then converted."""
    def formula(f: Function, queue: str, result: str, first: str, count: str) -> None:
        low = number(f, 0, INT64)
        width = Expression(f, f.sub(f.word(NUMBERS + 1), low.register), _UINT64)
        narrow = f.compare("ult", width.register, NARROW)
        with f.when(narrow):
            inverse = 1 / convert(width, FLOAT64)
            divisor = convert(width, _UINT32)
            with f.loop(0, count) as i:
                x = _word(f, queue, i)
                rest = _remainder(x, divisor, lambda half: half * inverse)
                _store(f, element_of(convert(rest, INT64) + low, dtype), result, i, dtype)
        with f.otherwise(narrow):
            # A width of 2^64 is 0 here: the word itself.
            everything = f.compare("eq", width.register, 0)
            divisor64 = f.choose(everything, "i64", 1, width.register)
            with f.loop(0, count) as i:
                word = _wide_word(f, queue, i).register
                rest64 = f.choose(everything, "i64", word, f.emit(f"urem i64 {word}, {divisor64}"))
                _store(f, element_of(Expression(f, rest64, INT64) + low, dtype), result, i, dtype)
    return formula


def _remainder(x: Expression, divisor: Expression, divide: Any) -> Expression:
    """x mod divisor of words: (x + 1/2) / divisor is too far from integers for a rounding to reach one."""
    quotient = divide(convert(x, FLOAT64) + 0.5)
    whole = quotient.emit(f"fptoui double {quotient.register} to i32", _UINT32)
    return x - whole * divisor


def element_of(x: Expression, dtype: Dtype) -> Expression:
    """An integer as an element of ``dtype``, rounded on the way where that is a floating type."""
    if dtype.kind not in "biu":
        x = convert(x, FLOAT64 if dtype == FLOAT64 else FLOAT32)
    return _held(x, dtype)


def full_range(dtype: Dtype, values: int) -> Formula:
    """word mod the number of values: all integers that the type represents exactly from 0 on."""
    wide = dtype.itemsize == 8

    def formula(f: Function, queue: str, result: str, first: str, count: str) -> None:
        kind = "i64" if wide else "i32"
        with f.loop(0, count) as i:
            word = _wide_word(f, queue, i) if wide else _word(f, queue, i)
            rest = word.emit(f"urem {kind} {word.register}, {values}", INT64 if wide else INT32)
            _store(f, element_of(rest, dtype), result, i, dtype)
    return formula


def shuffle(f: Function, queue: str, result: str, first: str, count: str) -> None:
    """Steps of Fisher and Yates' shuffle of ``result``'s int32: exchange i and i + word mod (n - i)."""
    n = number(f, 0, INT64)
    with f.loop(0, count) as i:
        step = Expression(f, f.add(first, i), INT64)
        choices = n - step
        rest = _remainder(_word(f, queue, i), convert(choices, _UINT32),
                          lambda half: half / convert(Expression(f, choices.register, INT64), FLOAT64))
        f.write("i32", (rest + convert(Expression(f, i, INT64), _UINT32)).register, f.at(queue, i, "i32"))
    with f.loop(0, count) as i:
        partner = f.emit(f"zext i32 {f.read('i32', f.at(queue, i, 'i32'))} to i64")
        here, there = f.at(result, i, "i32"), f.at(result, partner, "i32")
        x, y = f.read("i32", here), f.read("i32", there)
        f.write("i32", x, there)
        f.write("i32", y, here)


# --- real numbers -------------------------------------------------------------------------------------------

def exponential(dtype: Dtype) -> Formula:
    """(-1 / rate) log1p(-u), in float64."""
    def formula(f: Function, queue: str, result: str, first: str, count: str) -> None:
        factor = -1.0 / number(f, 0)
        with f.loop(0, count) as i:
            _store(f, _held(log1p(-double(f, queue, i)) * factor, dtype), result, i, dtype)
    return formula


def geometric(dtype: Dtype) -> Formula:
    """ceil(log(u) / log1p(-p)), with the C library's functions."""
    def formula(f: Function, queue: str, result: str, first: str, count: str) -> None:
        divisor = _of_library(f, "log1p", -number(f, 0))
        with f.loop(0, count) as i:
            waits = (_of_library(f, "log", double(f, queue, i)) / divisor).intrinsic("ceil")
            _store(f, _held(waits, dtype), result, i, dtype)
    return formula


def cauchy(dtype: Dtype) -> Formula:
    """tan(pi (u - 1/2)) sigma + median, rounded once, with the C library's tangent."""
    def formula(f: Function, queue: str, result: str, first: str, count: str) -> None:
        median, sigma = number(f, 0), number(f, 1)
        with f.loop(0, count) as i:
            tangent = _of_library(f, "tan", (double(f, queue, i) - 0.5) * math.pi)
            _store(f, _held(fma(tangent, sigma, median), dtype), result, i, dtype)
    return formula


def normal(dtype: Dtype) -> Formula:
    """Box and Muller's pairs in groups of 16, (u, v) -> r cos t, r sin t; then z std + mean, rounded once."""
    def formula(f: Function, queue: str, result: str, first: str, count: str) -> None:
        mean, std = (convert(number(f, k), FLOAT32) for k in (0, 1))
        with f.loop(0, count, 16) as group, f.loop(0, 8) as lane:
            i = f.add(group, lane)
            u, v = single(f, queue, i), single(f, queue, f.add(i, 8))
            radius = (_log(1 - u) * -2.0).intrinsic("sqrt")
            sine, cosine = _sine_cosine(v * _TWO_PI)
            _store(f, fma(radius * cosine, std, mean), result, i, dtype)
            _store(f, fma(radius * sine, std, mean), result, f.add(i, 8), dtype)
    return formula


# --- pairs of normal numbers, one by one --------------------------------------------------------------------

def _is_kept(f: Function) -> str:
    """1 if the state keeps the second value of a pair, else 0."""
    flag = f.read("i32", f.at(f.word(BEFORE, "ptr"), IS_KEPT, "i8"))
    return f.emit(f"zext i1 {f.emit(f'icmp ne i32 {flag}, 0')} to i64")


def pairs_of(f: Function) -> str:
    """How many pairs are drawn for ``COUNT`` numbers, of which the first may be kept from before."""
    return f.div(f.add(f.sub(f.word(COUNT), _is_kept(f)), 1), 2)


def normal_pairs(dtype: Dtype, exponentials: bool) -> Formula:
    """(u, v) -> r cos t, r sin t with r = sqrt(-2 log1p(-v)), t = 2 pi u, as ``serial_normals``; or e to it.

    The C library's functions, in float64. The last pair's second value lies behind the queue.
    """
    def formula(f: Function, queue: str, result: str, first: str, count: str) -> None:
        mean, std = number(f, 0), number(f, 1)
        kept = _is_kept(f)

        def give(z: Expression, place: str) -> None:
            with f.when(f.compare("slt", place, f.word(COUNT))):
                x = fma(z, std, mean)
                x = _of_library(f, "exp", x) if exponentials else x
                _store(f, _held(x, dtype), result, f.sub(place, first), dtype)

        with f.when(f.emit(f"and i1 {f.compare('ne', kept, 0)}, {f.compare('eq', first, 0)}")):
            value = f.read("double", f.at(f.word(BEFORE, "ptr"), KEPT, "i8"), 8)
            give(Expression(f, value, FLOAT64), "0")
        with f.loop(0, count) as i:
            place = f.add(kept, f.mul(f.add(first, i), 2))
            u, v = double(f, queue, f.mul(i, 2)), double(f, queue, f.add(f.mul(i, 2), 1))
            radius = (_of_library(f, "log1p", -v) * -2.0).intrinsic("sqrt")
            angle = u * (2 * math.pi)
            give(radius * _of_library(f, "cos", angle), place)
            second = radius * _of_library(f, "sin", angle)
            give(second, f.add(place, 1))
            f.write("double", second.register, f.at(queue, QUEUE, "i32"), 8)
    return formula


def _of_library(f: Function, name: str, x: Expression) -> Expression:
    return Expression(f, f.call(name, "double", ["double"], [x.register]), FLOAT64)


def keep_second(f: Function, queue: str) -> None:
    """Write to the state after which number is kept now, if any."""
    after, was_kept = f.word(AFTER, "ptr"), _is_kept(f)
    odd = f.emit(f"and i64 {f.sub(f.word(COUNT), was_kept)}, 1")
    value = f.read("double", f.at(queue, QUEUE, "i32"), 8)
    with f.when(f.compare("ne", f.add(odd, was_kept), 0)):
        flag = f.emit(f"trunc i64 {odd} to i32")
        f.write("i32", flag, f.at(after, IS_KEPT, "i8"))
        kept = f.choose(f.compare("ne", odd, 0), "double", value, "0.0")
        f.write("double", kept, f.at(after, KEPT, "i8"), 8)


def _horner(x: Expression, coefficients: tuple[float, ...]) -> Expression:
    y = constant(x, coefficients[0])
    for c in coefficients[1:]:
        y = fma(y, x, c)
    return y


def _log(v: Expression) -> Expression:
    """The logarithm of a number of (0, 1], as ``polynomials.log``."""
    bits = bits_of(v, INT32)
    exponent = convert(bits.emit(f"lshr i32 {bits.register}, 23", INT32) - 126, FLOAT32)
    mantissa = bits_of((bits & 0x7FFFFF) | 0x3F000000, FLOAT32)
    small = compare("<", mantissa, cephes.SQRT_HALF)
    x = select(small, mantissa + mantissa, mantissa) - 1
    power = select(small, exponent - 1, exponent)
    square = x * x
    y = _horner(x, cephes.LOG) * x
    y = fma(y, square, power * cephes.LOG2_LOW)
    y = y - square * 0.5 + x
    return fma(power, cephes.LOG2_HIGH, y)


def _sine_cosine(angle: Expression) -> tuple[Expression, Expression]:
    """Sine and cosine of an angle that is not negative, as ``polynomials.sine_cosine``."""
    turns = angle * cephes.FOUR_OVER_PI
    octant = (turns.emit(f"fptosi float {turns.register} to i32", INT32) + 1) & -2
    whole = convert(octant, FLOAT32)
    x = angle
    for part in cephes.PI_OVER_4:
        x = fma(whole, -part, x)
    square = x * x
    cosine = _horner(square, cephes.COSINE) * square
    cosine = fma(cosine, square, square * -0.5) + 1
    sine = fma(_horner(square, cephes.SINE) * square, x, x)
    swapped = compare("!=", octant & 2, 0)
    sin, cos = select(swapped, cosine, sine), select(swapped, sine, cosine)
    return _signed(sin, octant & 4), _signed(cos, (octant + 2) & 4)


def _signed(x: Expression, bit: Expression) -> Expression:
    """-x where the bit 4 is set."""
    flip = bit.emit(f"shl i32 {bit.register}, 29", INT32)
    return bits_of(bits_of(x, INT32) ^ flip, FLOAT32)
