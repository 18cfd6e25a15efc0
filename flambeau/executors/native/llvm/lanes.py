"""Vectors of elements in memory: reading with conversion, writing with rounding, gathering, transposing.

Elements are computed with as float, or double where they are stored as double; 16-bit types exist in memory
only.
"""

from __future__ import annotations

from collections.abc import Sequence

from .build import Function, Value, vector
from .emitter import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Dtype, memory_type

FLOATING = (FLOAT32, FLOAT64, BFLOAT16, FLOAT16)


def compute_type(dtype: Dtype) -> str:
    """The LLVM type in which elements are computed with."""
    return "double" if dtype == FLOAT64 else "float"


def element_at(f: Function, dtype: Dtype, pointer: str, index: Value) -> str:
    """The address of element ``index``."""
    return f.at(pointer, index, memory_type(dtype))


def read_lanes(f: Function, dtype: Dtype, lanes: int, pointer: str, mask: str | None = None) -> str:
    """``lanes`` adjacent elements; without touching those outside a mask, which are zero."""
    kind = vector(lanes, memory_type(dtype))
    size = dtype.itemsize
    held = f.read(kind, pointer, size) if mask is None else f.read_masked(kind, pointer, mask, size)
    return widen_lanes(f, dtype, lanes, held)


def write_lanes(f: Function, dtype: Dtype, lanes: int, value: str, pointer: str,
                mask: str | None = None) -> None:
    """Store adjacent elements, or those of a mask."""
    kind = vector(lanes, memory_type(dtype))
    held = narrow_lanes(f, dtype, lanes, value)
    if mask is None:
        f.write(kind, held, pointer, dtype.itemsize)
    else:
        f.write_masked(kind, held, pointer, mask, dtype.itemsize)


def write_past(f: Function, dtype: Dtype, lanes: int, value: str, pointer: str) -> None:
    """Store adjacent elements at a multiple of their size past the caches: lines are not read before."""
    kind = vector(lanes, memory_type(dtype))
    f.write_past(kind, narrow_lanes(f, dtype, lanes, value), pointer, lanes * dtype.itemsize)


def widen_lanes(f: Function, dtype: Dtype, lanes: int, held: str) -> str:
    """From the form in memory to that in registers."""
    floats = vector(lanes, "float")
    if dtype == FLOAT16:
        return f.emit(f"fpext {vector(lanes, 'half')} {held} to {floats}")
    if dtype == BFLOAT16:
        bits = vector(lanes, "i32")
        wide = f.emit(f"zext {vector(lanes, 'i16')} {held} to {bits}")
        return f.emit(f"bitcast {bits} {f.emit(f'shl {bits} {wide}, {_all(lanes, 16)}')} to {floats}")
    return held


def narrow_lanes(f: Function, dtype: Dtype, lanes: int, value: str) -> str:
    """From the form in registers to that in memory, rounded to nearest even; NaN stays NaN of its sign."""
    floats = vector(lanes, "float")
    if dtype == FLOAT16:
        return f.emit(f"fptrunc {floats} {value} to {vector(lanes, 'half')}")
    if dtype != BFLOAT16:
        return value
    kind = vector(lanes, "i32")
    bits = f.emit(f"bitcast {floats} {value} to {kind}")
    high = f.emit(f"lshr {kind} {bits}, {_all(lanes, 16)}")
    odd = f.emit(f"and {kind} {high}, {_all(lanes, 1)}")
    bias = f.emit(f"add {kind} {odd}, {_all(lanes, 32767)}")
    rounded = f.emit(f"lshr {kind} {f.emit(f'add {kind} {bits}, {bias}')}, {_all(lanes, 16)}")
    nan = f.emit(f"or {kind} {high}, {_all(lanes, 64)}")
    unordered = f.emit(f"fcmp uno {floats} {value}, {value}")
    chosen = f.emit(f"select {vector(lanes, 'i1')} {unordered}, {kind} {nan}, {kind} {rounded}")
    return f.emit(f"trunc {kind} {chosen} to {vector(lanes, 'i16')}")


def _all(lanes: int, number: int) -> str:
    return "<" + ", ".join([f"i32 {number}"] * lanes) + ">"


def gather_lanes(f: Function, dtype: Dtype, lanes: int, pointer: str, stride: Value,
                 mask: str | None = None) -> str:
    """``lanes`` elements ``stride`` apart; without touching those outside a mask."""
    kind = vector(lanes, memory_type(dtype))
    pointers = _addresses(f, dtype, lanes, pointer, stride)
    held = f.gather(kind, pointers, mask or _true(lanes), dtype.itemsize)
    return widen_lanes(f, dtype, lanes, held)


def scatter_lanes(f: Function, dtype: Dtype, lanes: int, value: str, pointer: str, stride: Value,
                  mask: str | None = None) -> None:
    """Store ``lanes`` elements ``stride`` apart, or those of a mask."""
    kind = vector(lanes, memory_type(dtype))
    held = narrow_lanes(f, dtype, lanes, value)
    pointers = _addresses(f, dtype, lanes, pointer, stride)
    f.scatter(kind, held, pointers, mask or _true(lanes), dtype.itemsize)


def _addresses(f: Function, dtype: Dtype, lanes: int, pointer: str, stride: Value) -> str:
    numbers = "<" + ", ".join(f"i64 {i}" for i in range(lanes)) + ">"
    steps = f.emit(f"mul <{lanes} x i64> {f.splat(stride, lanes, 'i64')}, {numbers}")
    return f.emit(f"getelementptr {memory_type(dtype)}, ptr {pointer}, <{lanes} x i64> {steps}")


def _true(lanes: int) -> str:
    return "<" + ", ".join(["i1 true"] * lanes) + ">"


def shuffle(f: Function, kind: str, lanes: int, x: str, y: str, order: Sequence[int]) -> str:
    """Lanes chosen from two vectors, those of y counting from ``lanes``."""
    chosen = ", ".join(f"i32 {i}" for i in order)
    return f.emit(f"shufflevector {kind} {x}, {kind} {y}, <{len(order)} x i32> <{chosen}>")


def transpose(f: Function, kind: str, rows: Sequence[str]) -> list[str]:
    """The columns of a square of n vectors of n lanes.

    In log2(n) rounds, with d = 1, 2, 4, ...: row i gives row i + d the lanes whose number has bit d, for
    those that have it not (Eklundh 1972).
    """
    found, lanes, d = list(rows), len(rows), 1
    while d < lanes:
        for i in range(lanes):
            if i & d:
                continue
            found[i], found[i + d] = _exchange(f, kind, lanes, found[i], found[i + d], d)
        d *= 2
    return found


def _exchange(f: Function, kind: str, lanes: int, x: str, y: str, d: int) -> tuple[str, str]:
    low = shuffle(f, kind, lanes, x, y, [lanes + k - d if k & d else k for k in range(lanes)])
    high = shuffle(f, kind, lanes, x, y, [lanes + k if k & d else k + d for k in range(lanes)])
    return low, high


def sums_of(f: Function, kind: str, lanes: int, vectors: Sequence[str]) -> str:
    """A vector whose lane i is the sum of the lanes of vector i; there may be fewer vectors than lanes.

    Rounds as in ``transpose``, each of which adds what is exchanged: half the vectors are left. Then the last
    one is folded, so that lane i + n repeats lane i.
    """
    found, d = list(vectors), 1
    while len(found) > 1:
        merged: list[str] = []
        for x, y in zip(found[::2], [*found[1::2], "zeroinitializer"]):
            low, high = _exchange(f, kind, lanes, x, y, d)
            merged.append(f.emit(f"fadd {kind} {low}, {high}"))
        found, d = merged, d * 2
    total = found[0]
    while d < lanes:
        other = shuffle(f, kind, lanes, total, "poison", [k ^ d for k in range(lanes)])
        total, d = f.emit(f"fadd {kind} {total}, {other}"), d * 2
    return total


def write_first(f: Function, element: str, lanes: int, count: int, value: str, pointer: str,
                align: int = 4) -> None:
    """Store the first ``count`` lanes as vectors of 8, 4, 2, 1: faster than a mask where masks are slow."""
    kind, start = vector(lanes, element), 0
    while start < count:
        size = 1 << (count - start).bit_length() - 1
        part = value if size == lanes else shuffle(f, kind, lanes, value, "poison",
                                                    range(start, start + size))
        target = f.at(pointer, start, element) if start else pointer
        f.write(f"<{size} x {element}>", part, target, align)
        start += size


def read_first(f: Function, dtype: Dtype, count: int, pointer: str) -> list[tuple[int, int, str]]:
    """The first ``count`` elements as vectors of powers of two: (start, size, register)."""
    parts: list[tuple[int, int, str]] = []
    start = 0
    while start < count:
        size = 1 << (count - start).bit_length() - 1
        at = element_at(f, dtype, pointer, start) if start else pointer
        held = f.read(f"<{size} x {memory_type(dtype)}>", at, dtype.itemsize)
        parts.append((start, size, _widen_small(f, dtype, size, held)))
        start += size
    return parts


def _widen_small(f: Function, dtype: Dtype, size: int, held: str) -> str:
    """``widen_lanes`` of a vector type even where it has one lane."""
    if size > 1:
        return widen_lanes(f, dtype, size, held)
    scalar = f.emit(f"extractelement <1 x {memory_type(dtype)}> {held}, i32 0")
    wide = f.widen(scalar, dtype)
    return f.emit(f"insertelement <1 x {compute_type(dtype)}> poison, {compute_type(dtype)} {wide}, i32 0")
