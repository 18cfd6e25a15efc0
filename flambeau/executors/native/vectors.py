"""What kernels do with vectors: read and write elements of any storage type, and transpose.

A square of lanes x lanes elements held in as many registers is transposed by shuffles alone: first pairs of
elements, then pairs of pairs within 128 bits, then the 128-bit parts. That turns rows of adjacent pixels of
different channels (N, C, H, W) into rows of adjacent channels of different pixels, and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .llvm.build import Function, Value, vector
from .llvm.compiling.machine import machine
from .llvm.emitter import BFLOAT16, FLOAT64, Unsupported, memory_type
from .llvm.lanes import FLOATING, compute_type, element_at, read_lanes, shuffle, transpose, write_lanes
from .products.microkernel import local_array


class Elements:
    """Elements in memory as vectors of the type that is computed with: float, or double for doubles."""

    def __init__(self, dtype: Any) -> None:
        if dtype not in FLOATING:
            raise Unsupported(f"elements of type {dtype}")
        self.dtype = dtype
        self.memory = memory_type(dtype)
        self.element = compute_type(dtype)
        self.itemsize = dtype.itemsize
        self.width = 8 if dtype == FLOAT64 else 4
        self.lanes = machine().lanes(self.width)
        self.kind = vector(self.lanes, self.element)
        # What staged images hold, and its bytes.
        self.staged, self.staged_size = self.element, self.width

    @property
    def name(self) -> str:
        return str(self.dtype)

    def read(self, f: Function, pointer: str, mask: str = "") -> str:
        """A vector; lanes outside the mask are zero and not touched."""
        return read_lanes(f, self.dtype, self.lanes, pointer, mask or None)

    def write(self, f: Function, value: str, pointer: str, mask: str = "") -> None:
        """Store a vector, or the lanes of a mask."""
        write_lanes(f, self.dtype, self.lanes, value, pointer, mask or None)

    def at(self, f: Function, pointer: str, index: Any) -> str:
        """The address of an element."""
        return element_at(f, self.dtype, pointer, index)

    def place(self, f: Function, pointer: str, index: Value) -> str:
        """The address of an element of a staged image."""
        return f.at(pointer, index, self.staged)

    def keep(self, f: Function, value: str, pointer: str) -> None:
        """Store a vector in a staged image."""
        f.write(self.kind, value, pointer)

    def keep_one(self, f: Function, value: str, pointer: str) -> None:
        """Store one element in a staged image."""
        f.write(self.element, value, pointer, self.width)

    def read_one(self, f: Function, pointer: str) -> str:
        """One element, as it is computed with."""
        return f.load(pointer, self.dtype)

    def write_one(self, f: Function, value: str, pointer: str) -> None:
        """Store one element."""
        f.store(value, pointer, self.dtype)


class Pairs(Elements):
    """bfloat16 elements that stay such in staged images: two adjacent channels are multiplied at once."""

    def __init__(self) -> None:
        super().__init__(BFLOAT16)
        self.staged, self.staged_size = "i16", 2

    def keep(self, f: Function, value: str, pointer: str) -> None:
        """Nothing is lost: the value was widened from bfloat16."""
        bits, shift = vector(self.lanes, "i32"), ", ".join(["i32 16"] * self.lanes)
        high = f.emit(f"lshr {bits} {f.emit(f'bitcast {self.kind} {value} to {bits}')}, <{shift}>")
        kind = vector(self.lanes, "i16")
        f.write(kind, f.emit(f"trunc {bits} {high} to {kind}"), pointer, 2)

    def keep_one(self, f: Function, value: str, pointer: str) -> None:
        """The same of one element."""
        high = f.emit(f"lshr i32 {f.emit(f'bitcast float {value} to i32')}, 16")
        f.write("i16", f.emit(f"trunc i32 {high} to i16"), pointer, 2)


def kept(f: Function, e: Elements, vectors: Sequence[str]) -> str:
    """The address of vectors on the stack, one after the other, for loops over some of them."""
    array = local_array(f, len(vectors) * e.lanes, e.element)
    for i, value in enumerate(vectors):
        f.write(e.kind, value, f.at(array, i * e.lanes, e.element), 4)
    return array


def pixels_apart(f: Function, e: Elements, source: str, step: int) -> str:
    """A vector of elements that lie ``step`` (1 or 2) apart; what comes after the last one need not exist."""
    n = e.lanes
    if step == 1:
        return e.read(f, source)
    picks = [2 * lane if 2 * lane < n else 2 * lane + 1 for lane in range(n)]
    return shuffle(f, e.kind, n, e.read(f, source), e.read(f, e.at(f, source, n - 1)), picks)


def pixels_between(f: Function, e: Elements, source: str, step: int, low: Value, high: Value) -> str:
    """The lanes of ``pixels_apart`` from ``low`` to ``high``; the others are zero, and not touched."""
    return pixels_masked(f, e, source, step, masks_between(f, e, step, low, high))


def masks_between(f: Function, e: Elements, step: int, low: Value, high: Value) -> list[str]:
    """Which elements of one or two vectors are pixels, ``step`` apart, from ``low`` to ``high``."""
    n = e.lanes
    low, high = (f.emit(f"trunc i64 {f.least(f.most(x, -1), n)} to i32") for x in (low, high))
    masks = []
    for k in range(step):
        lanes = ", ".join(f"i32 {(k * n + lane) // step}" for lane in range(n))
        above = f.emit(f"icmp sge <{n} x i32> <{lanes}>, {f.splat(low, n, 'i32')}")
        below = f.emit(f"icmp slt <{n} x i32> <{lanes}>, {f.splat(high, n, 'i32')}")
        mask = f.emit(f"and <{n} x i1> {above}, {below}")
        if step == 2:
            even = ", ".join(["i1 true", "i1 false"] * (n // 2))
            mask = f.emit(f"and <{n} x i1> {mask}, <{even}>")
        masks.append(mask)
    return masks


def pixels_masked(f: Function, e: Elements, source: str, step: int, masks: Sequence[str]) -> str:
    """``pixels_apart`` of ``masks_between``."""
    n = e.lanes
    halves = [e.read(f, e.at(f, source, k * n), mask) for k, mask in enumerate(masks)]
    return halves[0] if step == 1 else shuffle(f, e.kind, n, halves[0], halves[1], range(0, 2 * n, 2))


def arithmetic(f: Function, operation: str, kind: str, x: str, y: str) -> str:
    """``fadd``, ``fsub`` or ``fmul`` of two vectors."""
    return f.emit(f"{operation} {kind} {x}, {y}")


def transposed(f: Function, kind: str, rows: Sequence[str]) -> list[str]:
    """The columns of a square of elements, given and returned as vectors."""
    n = len(rows)
    if kind.endswith("double>") or n < 4:
        return transpose(f, kind, rows)
    low = [q + o for q in range(0, n, 4) for o in (0, n, 1, n + 1)]
    high = [q + o for q in range(0, n, 4) for o in (2, n + 2, 3, n + 3)]
    pairs: list[str] = []
    for x, y in zip(rows[::2], rows[1::2]):
        pairs += [shuffle(f, kind, n, x, y, low), shuffle(f, kind, n, x, y, high)]
    first = [q + o for q in range(0, n, 4) for o in (0, 1, n, n + 1)]
    second = [q + o for q in range(0, n, 4) for o in (2, 3, n + 2, n + 3)]
    # fours[4 g + j]: in its 128-bit part q, column 4 q + j of the rows 4 g to 4 g + 3
    fours: list[str] = []
    for g in range(0, n, 4):
        for x, y in ((pairs[g], pairs[g + 2]), (pairs[g + 1], pairs[g + 3])):
            fours += [shuffle(f, kind, n, x, y, first), shuffle(f, kind, n, x, y, second)]
    columns = [""] * n
    for j in range(4):
        parts = _parts_transposed(f, kind, [fours[4 * g + j] for g in range(n // 4)])
        for q, column in enumerate(parts):
            columns[4 * q + j] = column
    return columns


def transposed_pairs(f: Function, kind: str, rows: Sequence[str]) -> list[str]:
    """Pairs of columns of half as many vectors as each has elements: of each row, and all of it adjacent."""
    n = 2 * len(rows)
    found: list[list[str]] = [[], []]   # [j]: in its 128-bit part q, pair 2 q + j of two rows
    for x, y in zip(rows[::2], rows[1::2]):
        for j, vectors in enumerate(found):
            picked = [q + 2 * j + o for q in range(0, n, 4) for o in (0, 1, n, n + 1)]
            vectors.append(shuffle(f, kind, n, x, y, picked))
    even, odd = (_parts_transposed(f, kind, vectors) for vectors in found)
    return [x for both in zip(even, odd) for x in both]


def _parts_transposed(f: Function, kind: str, rows: list[str]) -> list[str]:
    """Vectors of 128-bit parts, as many as each has parts, transposed as a square of such parts."""
    count = len(rows)
    lanes = 4 * count

    def picked(x: str, y: str, parts: Sequence[int]) -> str:
        return shuffle(f, kind, lanes, x, y, [4 * p + o for p in parts for o in range(4)])

    if count == 1:
        return rows
    if count == 2:
        return [picked(rows[0], rows[1], (0, 2)), picked(rows[0], rows[1], (1, 3))]
    assert lanes == 16
    even = [picked(rows[0], rows[1], (0, 2, 4, 6)), picked(rows[2], rows[3], (0, 2, 4, 6))]
    odd = [picked(rows[0], rows[1], (1, 3, 5, 7)), picked(rows[2], rows[3], (1, 3, 5, 7))]
    return [picked(half[0], half[1], parts) for parts in ((0, 2, 4, 6), (1, 3, 5, 7)) for half in (even, odd)]


_elements: dict[str, Elements] = {}


def elements(name: Any) -> Elements:
    """The element type of a NumPy type, or of the name of one."""
    found = _elements.get(str(name))
    if found is None:
        found = _elements[str(name)] = Elements(np.dtype(name))
    return found
