"""Powers of two, of which weights are made, and what else is done with vectors of scores."""

from __future__ import annotations

import math

import numpy as np

from ..llvm.build import Function, vector
from ..llvm.compiling.machine import machine
from ..llvm.emitter import FLOAT32
from .tiles import Parts

# 2^r on [0, 1], lowest power first, 1 at 0: with the least maximum of the relative error, 8.2e-8, or by
# Chebyshev interpolation of (2^r - 1) / r, with an error of 3e-17.
_POWER32 = (1.0, 0.69315131, 0.24016445, 0.05579991, 0.00901703, 0.00186713)
_POWER64 = (
    1.0, 0.6931471805599453, 0.24022650695909673, 0.05550410866498067, 0.009618129105151757,
    0.001333355834393728, 0.00015403521219107733, 1.5252998899728418e-05, 1.3210583477765189e-06,
    1.0236023803275179e-07, 6.634445866251414e-09, 6.123092916826388e-10,
)


def greater(parts: Parts, f: Function, x: str, y: str) -> str:
    """The larger element; y where x is NaN, which is what the CPU's instruction does."""
    return f.emit(f"select <{parts.lanes} x i1> {f.emit(f'fcmp ogt {parts.vector} {x}, {y}')}, "
                  f"{parts.vector} {x}, {parts.vector} {y}")


def absolute(parts: Parts, f: Function, x: str) -> str:
    """|x|."""
    return f.call(f"llvm.fabs.{_suffix(parts)}", parts.vector, [parts.vector], [x])


def finite_or_zero(parts: Parts, f: Function, x: str) -> str:
    """x, but zero where it is infinite or NaN."""
    finite = f.emit(f"fcmp olt {parts.vector} {absolute(parts, f, x)}, {parts.numbers(math.inf)}")
    return f.emit(f"select <{parts.lanes} x i1> {finite}, {parts.vector} {x}, "
                  f"{parts.vector} zeroinitializer")


def base_two(parts: Parts, f: Function, x: str) -> str:
    """The power of two that exp(x) is, of one number."""
    return f.emit(f"fmul {parts.element} {x}, {parts.number(math.log2(math.e))}")


def of_mask(parts: Parts, f: Function, x: str, lanes: int) -> str:
    """What a mask adds to the logarithms of weights to base 2; what is finite stays so."""
    kind, flags = (parts.vector, f"<{lanes} x i1>") if lanes > 1 else (parts.element, "i1")
    number = parts.numbers if lanes > 1 else parts.number
    most = float(np.finfo(parts.compute).max)
    found = f.emit(f"fmul {kind} {x}, {number(math.log2(math.e))}")
    for order, bound in (("olt", number(-most)), ("ogt", number(most))):
        beyond = f.emit(f"fcmp {order} {kind} {found}, {bound}")
        found = f.emit(f"select {flags} {beyond}, {kind} {bound}, {kind} {found}")
    nothing = f.emit(f"fsub {kind} {x}, {x}")
    finite = f.emit(f"fcmp oeq {kind} {nothing}, {number(0.0)}")
    return f.emit(f"select {flags} {finite}, {kind} {found}, {kind} {x}")


def power(parts: Parts, f: Function, x: str, subtracted: str) -> str:
    """2^(x - subtracted); results that are subnormal may be zero."""
    return _power(parts, f, f.emit(f"fsub {parts.vector} {x}, {subtracted}"))


def _power(parts: Parts, f: Function, x: str) -> str:
    """2^x: 2^floor(x) times a polynomial in x - floor(x)."""
    wide = machine().vector == 64
    kind = parts.vector
    base = _fraction(parts, f, x) if wide else ""
    if not wide:
        limits = (-127.0, 128.0) if parts.compute == FLOAT32 else (-1023.0, 1024.0)
        x = _clamped(parts, f, x, *limits)
        whole = f.call(f"llvm.floor.{_suffix(parts)}", kind, [kind], [x])
        base = f.emit(f"fsub {kind} {x}, {whole}")
    coefficients = _POWER32 if parts.compute == FLOAT32 else _POWER64
    result = parts.numbers(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        result = f.fma(kind, result, base, parts.numbers(coefficient))
    return _scaled(parts, f, result, x) if wide else _times_power(parts, f, result, whole)


def _fraction(parts: Parts, f: Function, x: str) -> str:
    """x - floor(x) in one instruction of AVX-512."""
    name, mask = ("ps", "i16") if parts.compute == FLOAT32 else ("pd", "i8")
    types = [parts.vector, "i32", parts.vector, mask, "i32"]
    return f.call(f"llvm.x86.avx512.mask.reduce.{name}.512", parts.vector, types,
                  [x, "9", x, "-1", "4"], immediate=(1, 4))


def _scaled(parts: Parts, f: Function, x: str, exponent: str) -> str:
    """x 2^floor(exponent) in one instruction of AVX-512."""
    name, mask = ("ps", "i16") if parts.compute == FLOAT32 else ("pd", "i8")
    types = [parts.vector, parts.vector, parts.vector, mask, "i32"]
    return f.call(f"llvm.x86.avx512.mask.scalef.{name}.512", parts.vector, types,
                  [x, exponent, x, "-1", "4"], immediate=(4,))


def _clamped(parts: Parts, f: Function, x: str, low: float, high: float) -> str:
    """NaN stays NaN."""
    lanes, kind = f"<{parts.lanes} x i1>", parts.vector
    below = f.emit(f"fcmp olt {kind} {x}, {parts.numbers(low)}")
    x = f.emit(f"select {lanes} {below}, {kind} {parts.numbers(low)}, {kind} {x}")
    above = f.emit(f"fcmp ogt {kind} {x}, {parts.numbers(high)}")
    return f.emit(f"select {lanes} {above}, {kind} {parts.numbers(high)}, {kind} {x}")


def _times_power(parts: Parts, f: Function, x: str, whole: str) -> str:
    """x 2^whole: adding 1.5 * 2^mantissa + bias leaves the biased exponent in the lowest bits."""
    mantissa, bias, integer = (23, 127, "i32") if parts.compute == FLOAT32 else (52, 1023, "i64")
    integers = vector(parts.lanes, integer)
    moved = f.emit(f"fadd {parts.vector} {whole}, {parts.numbers(1.5 * 2.0 ** mantissa + bias)}")
    bits = f.emit(f"bitcast {parts.vector} {moved} to {integers}")
    shifts = ", ".join([f"{integer} {mantissa}"] * parts.lanes)
    moved = f.emit(f"shl {integers} {bits}, <{shifts}>")
    return f.emit(f"fmul {parts.vector} {x}, {f.emit(f'bitcast {integers} {moved} to {parts.vector}')}")


def _suffix(parts: Parts) -> str:
    return f"v{parts.lanes}{'f32' if parts.compute == FLOAT32 else 'f64'}"
