"""What the convolution kernels do with vectors: read and write elements of any storage type, and transpose.

A square of lanes x lanes elements held in as many registers is transposed by shuffles alone: first pairs of
elements, then pairs of pairs within 128 bits, then the 128-bit parts. That turns rows of adjacent pixels of
different channels (N, C, H, W) into rows of adjacent channels of different pixels, and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..llvm.build import Function, vector
from ..llvm.emitter import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Unsupported, memory_type
from ..llvm.machine import machine
from ..products.microkernel import local_array


class Elements:
    """Elements in memory as vectors of the type that is computed with: float, or double for doubles."""

    def __init__(self, dtype: Any) -> None:
        if dtype not in (FLOAT32, FLOAT64, FLOAT16, BFLOAT16):
            raise Unsupported(f"elements of type {dtype}")
        self.dtype = dtype
        self.memory = memory_type(dtype)
        self.element = "double" if dtype == FLOAT64 else "float"
        self.itemsize = dtype.itemsize
        self.width = 8 if dtype == FLOAT64 else 4
        self.lanes = machine().lanes(self.width)
        self.kind = vector(self.lanes, self.element)

    @property
    def name(self) -> str:
        return str(self.dtype)

    def read(self, f: Function, pointer: str, mask: str = "") -> str:
        """A vector; lanes outside the mask are zero and not touched."""
        kind = vector(self.lanes, self.memory)
        if mask:
            return self.widened(f, f.read_masked(kind, pointer, mask, self.itemsize))
        return self.widened(f, f.read(kind, pointer, self.itemsize))

    def write(self, f: Function, value: str, pointer: str, mask: str = "") -> None:
        """Store a vector, or the lanes of a mask."""
        kind = vector(self.lanes, self.memory)
        held = self.narrowed(f, value)
        if mask:
            f.write_masked(kind, held, pointer, mask, self.itemsize)
        else:
            f.write(kind, held, pointer, self.itemsize)

    def at(self, f: Function, pointer: str, index: Any) -> str:
        """The address of an element."""
        return f.at(pointer, index, self.memory)

    def widened(self, f: Function, held: str) -> str:
        """From memory's form to that which is computed with."""
        n = self.lanes
        if self.dtype == FLOAT16:
            return f.emit(f"fpext <{n} x half> {held} to <{n} x float>")
        if self.dtype != BFLOAT16:
            return held
        wide = f.emit(f"zext <{n} x i16> {held} to <{n} x i32>")
        high = f.emit(f"shl <{n} x i32> {wide}, {_numbers(f, 16, n)}")
        return f.emit(f"bitcast <{n} x i32> {high} to <{n} x float>")

    def narrowed(self, f: Function, value: str) -> str:
        """To memory's form, rounded to nearest even."""
        n = self.lanes
        if self.dtype == FLOAT16:
            return f.emit(f"fptrunc <{n} x float> {value} to <{n} x half>")
        if self.dtype != BFLOAT16:
            return value
        kind = f"<{n} x i32>"
        bits = f.emit(f"bitcast <{n} x float> {value} to {kind}")
        top = f.emit(f"lshr {kind} {bits}, {_numbers(f, 16, n)}")
        odd = f.emit(f"and {kind} {top}, {_numbers(f, 1, n)}")
        bias = f.emit(f"add {kind} {odd}, {_numbers(f, 32767, n)}")
        up = f.emit(f"lshr {kind} {f.emit(f'add {kind} {bits}, {bias}')}, {_numbers(f, 16, n)}")
        nan = f.emit(f"or {kind} {top}, {_numbers(f, 64, n)}")
        unordered = f.emit(f"fcmp uno <{n} x float> {value}, {value}")
        chosen = f.emit(f"select <{n} x i1> {unordered}, {kind} {nan}, {kind} {up}")
        return f.emit(f"trunc {kind} {chosen} to <{n} x i16>")

    def read_one(self, f: Function, pointer: str) -> str:
        """One element, as it is computed with."""
        return f.load(pointer, self.dtype)

    def write_one(self, f: Function, value: str, pointer: str) -> None:
        """Store one element."""
        f.store(value, pointer, self.dtype)


def _numbers(f: Function, value: int, lanes: int) -> str:
    return "<" + ", ".join([f"i32 {value}"] * lanes) + ">"


def kept(f: Function, e: Elements, vectors: Sequence[str]) -> str:
    """The address of vectors on the stack, one after the other, for loops over some of them."""
    array = local_array(f, len(vectors) * e.lanes, e.element)
    for i, value in enumerate(vectors):
        f.write(e.kind, value, f.at(array, i * e.lanes, e.element), 4)
    return array


def arithmetic(f: Function, operation: str, kind: str, x: str, y: str) -> str:
    """``fadd``, ``fsub`` or ``fmul`` of two vectors."""
    return f.emit(f"{operation} {kind} {x}, {y}")


def _shuffle(f: Function, kind: str, x: str, y: str, picks: Sequence[int]) -> str:
    mask = ", ".join(f"i32 {i}" for i in picks)
    return f.emit(f"shufflevector {kind} {x}, {kind} {y}, <{len(picks)} x i32> <{mask}>")


def transposed(f: Function, kind: str, rows: Sequence[str]) -> list[str]:
    """The columns of a square of elements, given and returned as vectors."""
    n = len(rows)
    if kind.endswith("double>") or n < 4:
        return _butterfly(f, kind, list(rows))
    low = [q + o for q in range(0, n, 4) for o in (0, n, 1, n + 1)]
    high = [q + o for q in range(0, n, 4) for o in (2, n + 2, 3, n + 3)]
    pairs: list[str] = []
    for i in range(0, n, 2):
        pairs += [_shuffle(f, kind, rows[i], rows[i + 1], low), _shuffle(f, kind, rows[i], rows[i + 1], high)]
    first = [q + o for q in range(0, n, 4) for o in (0, 1, n, n + 1)]
    second = [q + o for q in range(0, n, 4) for o in (2, 3, n + 2, n + 3)]
    # fours[4 g + j]: in its 128-bit part q, column 4 q + j of the rows 4 g to 4 g + 3
    fours: list[str] = []
    for g in range(0, n, 4):
        for x, y in ((pairs[g], pairs[g + 2]), (pairs[g + 1], pairs[g + 3])):
            fours += [_shuffle(f, kind, x, y, first), _shuffle(f, kind, x, y, second)]
    columns = [""] * n
    for j in range(4):
        parts = _parts_transposed(f, kind, [fours[4 * g + j] for g in range(n // 4)])
        for q, column in enumerate(parts):
            columns[4 * q + j] = column
    return columns


def _parts_transposed(f: Function, kind: str, rows: list[str]) -> list[str]:
    """Vectors of 128-bit parts, as many as each has parts, transposed as a square of such parts."""
    count = len(rows)
    lanes = 4 * count

    def picked(x: str, y: str, parts: Sequence[int]) -> str:
        return _shuffle(f, kind, x, y, [4 * p + o for p in parts for o in range(4)])

    if count == 1:
        return rows
    if count == 2:
        return [picked(rows[0], rows[1], (0, 2)), picked(rows[0], rows[1], (1, 3))]
    assert lanes == 16
    even = [picked(rows[0], rows[1], (0, 2, 4, 6)), picked(rows[2], rows[3], (0, 2, 4, 6))]
    odd = [picked(rows[0], rows[1], (1, 3, 5, 7)), picked(rows[2], rows[3], (1, 3, 5, 7))]
    return [picked(half[0], half[1], parts) for parts in ((0, 2, 4, 6), (1, 3, 5, 7)) for half in (even, odd)]


def _butterfly(f: Function, kind: str, rows: list[str]) -> list[str]:
    """The same for any element: blocks of 1, 2, 4, ... change places across the diagonal."""
    n = len(rows)
    block = 1
    while block < n:
        upper = [n + lane - block if lane & block else lane for lane in range(n)]
        lower = [n + lane if lane & block else lane + block for lane in range(n)]
        following = list(rows)
        for i in range(n):
            if not i & block:
                following[i] = _shuffle(f, kind, rows[i], rows[i + block], upper)
                following[i + block] = _shuffle(f, kind, rows[i], rows[i + block], lower)
        rows = following
        block *= 2
    return rows
