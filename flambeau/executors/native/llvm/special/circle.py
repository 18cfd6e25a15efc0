"""Sine and cosine of arguments of any size: multiples of pi / 2 are taken off exactly (Payne, Hanek 1983)."""

from __future__ import annotations

import math
from functools import cache

from ..emitter import FLOAT32, FLOAT64, INT32, Unsupported, literal
from ..expressions import coefficients as table
from ..expressions.expression import Expression, bits_of, compare, constant, convert, select
from ..expressions.functions import absolute, fma, horner, nearest, shifted_bits


@cache
def _reduction_table() -> dict[str, list[float]]:
    """2 / pi times 2^k modulo 4 in two parts of 29 and 53 bits, for each exponent of a float.

    A product with a mantissa is exact to 2^-56, and no float is nearer to a multiple of pi / 2 than 2^-30.
    """
    parts: dict[str, list[float]] = {"high": [], "low": []}
    for exponent in range(255):
        unit = exponent - 150 - table.TWO_OVER_PI_BITS  # the mantissa is taken as an integer of 24 bits
        rest = table.TWO_OVER_PI & ((1 << (2 - unit)) - 1)
        drop = rest.bit_length()
        for name, width in (("high", 29), ("low", 53)):
            drop = max(drop - width, 0)
            part = rest >> drop << drop
            parts[name].append(math.ldexp(part, unit))
            rest -= part
    for values in parts.values():
        values.append(math.nan)
    return parts


def _lookup(name: str, index: Expression) -> Expression:
    values = ", ".join(f"double {literal(v, FLOAT64)}" for v in _reduction_table()[name])
    emitter = index.emitter
    emitter.declarations[f"@turns_{name} = internal constant [256 x double] [{values}]"] = None
    pointer = emitter.emit(f"getelementptr [256 x double], ptr @turns_{name}, i64 0, i32 {index.register}")
    return Expression(emitter, emitter.load(pointer, FLOAT64), FLOAT64)


def quadrant(x: Expression) -> tuple[Expression, Expression]:
    """The angle left by multiples of pi / 2, in double precision, and their number modulo 4 (an integer)."""
    bits = bits_of(absolute(x), INT32)
    exponent = shifted_bits(bits, "lshr", 23)
    mantissa = convert((bits & 0x7FFFFF) | 0x800000, FLOAT64)
    first = mantissa * _lookup("high", exponent)
    turns = first - (first * 0.25).intrinsic("rint") * 4
    whole, n = nearest(turns, 1.0)
    return fma(mantissa, _lookup("low", exponent), turns - whole) * (math.pi / 2), n


def sine_of(r: Expression, n: Expression) -> Expression:
    """sin(r + n pi / 2)."""
    z = r * r
    sine = fma(r * z, horner(table.SINE, z), r)
    cosine = fma(z, horner(table.COSINE, z), 1.0)
    value = select(compare("!=", n & 1, 0), cosine, sine)
    return select(compare("!=", n & 2, 0), -value, value)


def sin(x: Expression) -> Expression:
    """The sine, of arguments of any size."""
    if x.dtype != FLOAT32:
        raise Unsupported(f"sin of {x.dtype}")
    r, n = quadrant(x)
    value = sine_of(convert(r, FLOAT32), n)
    value = select(compare("<", x, 0), -value, value)
    return select(compare("<", absolute(x), 2.0 ** -13), x, value)


def cos(x: Expression) -> Expression:
    """The cosine, of arguments of any size."""
    if x.dtype != FLOAT32:
        raise Unsupported(f"cos of {x.dtype}")
    r, n = quadrant(x)
    value = sine_of(convert(r, FLOAT32), n + 1)
    return select(compare("<", absolute(x), 2.0 ** -13), constant(x, 1.0), value)


def sinc(x: Expression) -> Expression:
    """sin(pi x) / (pi x), 1 at 0."""
    zero, one = compare("==", x, 0), constant(x, 1.0)
    turn = x * math.pi
    return select(zero, one, sin(turn) / select(zero, one, turn))
