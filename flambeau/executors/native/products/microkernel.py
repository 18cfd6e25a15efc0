"""The register-tiled inner loop of matrix products: C += A B for a tile of C that stays in vector registers.

A tile has ``rows`` x ``vectors`` accumulators of ``lanes`` elements each. A step along the depth K reads
``vectors`` vectors of a row of B and one element of each row of A, which is broadcast, and does
rows * vectors fused multiply-adds:

    acc[i][j] += splat(A[i, k]) * B[k, j * lanes : (j + 1) * lanes]

The accumulators, the row of B and one element of A must fit into the registers: 12 x 2 of 32 (AVX-512, NEON:
8 x 2 of vectors a quarter as wide), 6 x 2 of 16 (AVX2). The tile is so large that the loop is bound by the
multiply-add units, not by loads.

Operands are usually packed (``packing.py``): a panel of A is [K][rows], one of B is [K][columns], both read
from the first byte to the last. They can also be read where they lie, with strides known at run time; the
columns of B must then be adjacent.

    tile = tile_of()
    acc = Accumulators(f, tile)                         # zeros
    accumulate(f, acc, depth, a, b)                     # as often as there are pieces of K
    finish(f, acc, rows, columns, emit)                 # emit(i, j, value, mask): what becomes of a vector
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..llvm.build import Function, Value, Variable, vector
from ..llvm.compiling.machine import Machine, machine

# What becomes of vector j of row i: its register, and the mask of its lanes that count (None: all).
Emit = Callable[[Value, int, str, "str | None"], None]

_ROWS = {(64, 32): 12, (32, 16): 6, (16, 32): 8, (16, 16): 4}


class Tile(NamedTuple):
    """The part of a result that one call of a microkernel computes."""

    rows: int
    vectors: int
    lanes: int
    element: str = "float"

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes

    @property
    def vector(self) -> str:
        """The type of an accumulator."""
        return vector(self.lanes, self.element)

    @property
    def itemsize(self) -> int:
        return 8 if self.element == "double" else 4


def tile_of(itemsize: int = 4) -> Tile:
    """The tile of this CPU for elements of 4 or 8 bytes."""
    return _tile(machine(), itemsize)


@functools.cache
def _tile(host: Machine, itemsize: int) -> Tile:
    return Tile(_ROWS.get((host.vector, host.registers), 4), 2, host.lanes(itemsize),
                "double" if itemsize == 8 else "float")


class Accumulators:
    """The elements of a tile: variables [row][vector], zero at first."""

    __slots__ = ("tile", "rows")

    def __init__(self, f: Function, tile: Tile) -> None:
        self.tile = tile
        self.rows: list[list[Variable]] = [[f.variable(tile.vector, "zeroinitializer")
                                            for _ in range(tile.vectors)] for _ in range(tile.rows)]

    def get(self, i: int, j: int) -> str:
        """The present value of vector j of row i."""
        return self.rows[i][j].get()

    def set(self, i: int, j: int, value: str) -> None:
        self.rows[i][j].set(value)

    def add_product(self, f: Function, a: str, row: Sequence[str]) -> None:
        """Add the product of a column of A, whose elements are adjacent, and the vectors of a row of B."""
        tile, kind = self.tile, self.tile.element
        for i in range(tile.rows):
            factor = f.splat(f.read(kind, f.at(a, i, kind), tile.itemsize), tile.lanes, kind)
            for j, x in enumerate(row):
                self.set(i, j, f.fma(tile.vector, factor, x, self.get(i, j)))

    def reset(self) -> None:
        """Zero again."""
        for row in self.rows:
            for accumulator in row:
                accumulator.set("zeroinitializer")


def accumulate(f: Function, acc: Accumulators, depth: Value, a: str, b: str, *, a_row: Value = 1,
               a_step: Value = 0, b_step: Value = 0, pairs: bool = False,
               each: Callable[[], None] | None = None, beyond: str = "", soon: Value = 0,
               a_rows: Sequence[str] = (), bring: Callable[[str], list[str]] | None = None) -> None:
    """Add the product of A (rows x depth) and B (depth x columns) to the tile.

    ``a``, ``b``: pointers. Element (i, k) of A lies at ``i * a_row + k * a_step``, row k of B at
    ``k * b_step`` (in elements; numbers, or registers for strides that are known at run time). The default
    strides are those of packed panels. ``pairs``: elements of A and B are pairs of bfloat16 numbers.
    ``each``: writes what else a step does; ``beyond``: each also asks for the line that lies so many bytes
    behind its row of B; ``soon``: and for the row of B so many elements on. ``a_rows``: where the rows of A
    begin, if not ``a_row`` apart. ``bring``: finds a row of B elsewhere, and may write it to where it should
    lie.
    """
    tile = acc.tile
    element = tile.element
    a_step, b_step = a_step or tile.rows, b_step or tile.columns
    rows = _RowPointers(f, tile, a, a_row, a_rows)
    row_of_b = f.variable("ptr", b)
    with f.loop(0, depth):
        if each is not None:
            each()
        at = row_of_b.get()
        if beyond:
            f.prefetch(f.behind(at, beyond), 2)
        if soon:
            for j in range(tile.vectors):
                f.prefetch(f.at(f.at(at, soon, element), j * tile.lanes, element), 1)
        columns = bring(at) if bring is not None else [
            f.read(tile.vector, f.at(at, j * tile.lanes, element), tile.itemsize)
            for j in range(tile.vectors)]
        for i in range(tile.rows):
            factor = f.splat(f.read(element, rows.at(i), tile.itemsize), tile.lanes, element)
            for j in range(tile.vectors):
                multiply_add = _pairs_fma if pairs else Function.fma
                acc.set(i, j, multiply_add(f, tile.vector, factor, columns[j], acc.get(i, j)))
        rows.advance(a_step)
        row_of_b.set(f.at(at, b_step, element))


def _pairs_fma(f: Function, kind: str, x: str, y: str, z: str) -> str:
    """z + x0 * y0 + x1 * y1 for the halves of each lane."""
    bits = "<32 x bfloat>"
    halves = [f.emit(f"bitcast {kind} {v} to {bits}") for v in (x, y)]
    return f.call("llvm.x86.avx512bf16.dpbf16ps.512", kind, [kind, bits, bits], [z, *halves])


class _RowPointers:
    """Where the rows of A are read.

    With a stride known at run time a pointer for each row would take more registers than there are: a pointer
    serves three rows, the addresses p, p + s and p + 2 s being free on x86. LLVM must not know that these
    pointers are apart by multiples of the stride: it would keep one and go from row to row by additions, each
    of which waits for the one before, so that a step takes as many cycles as there are rows.
    """

    def __init__(self, f: Function, tile: Tile, a: str, stride: Value, starts: Sequence[str]) -> None:
        self.f = f
        self.element = tile.element
        self.stride = stride
        self.group = 1 if starts else tile.rows if isinstance(stride, int) else 3
        if not starts:
            first_rows = range(0, tile.rows, self.group)
            starts = [f.at(a, f.mul(stride, i), self.element) if i else a for i in first_rows]
            if self.group < tile.rows:
                starts = [f.unrelated(at) for at in starts]
        self.pointers = [f.variable("ptr", at) for at in starts]

    def at(self, i: int) -> str:
        pointer = self.pointers[i // self.group].get()
        step = i % self.group
        if isinstance(self.stride, int):
            return self.f.at(pointer, step * self.stride, self.element)
        return self.f.at(pointer, self.f.mul(self.stride, step), self.element) if step else pointer

    def advance(self, step: Value) -> None:
        for pointer in self.pointers:
            pointer.set(self.f.at(pointer.get(), step, self.element))


def is_whole(f: Function, tile: Tile, rows: Value, columns: Value) -> str:
    """Whether all of a tile lies in a result of which so many rows and columns are left."""
    deep, wide = f.compare("sge", rows, tile.rows), f.compare("sge", columns, tile.columns)
    return f.emit(f"and i1 {deep}, {wide}")


def finish(f: Function, acc: Accumulators, rows: Value, columns: Value, emit: Emit) -> None:
    """Hand each vector of the tile to ``emit``, in the order of columns.

    ``rows``, ``columns``: how much of the tile lies in the result, which may be all of it or more. A tile
    that is whole is handed over from its registers, without masks, i being a number; of another one the rows
    come in a loop, i being a register, with masks.
    """
    tile = acc.tile
    whole = is_whole(f, tile, rows, columns)
    with f.when(whole):
        for j in range(tile.vectors):
            for i in range(tile.rows):
                emit(i, j, acc.get(i, j), None)
    with f.otherwise(whole):
        finish_spilled(f, tile, spilled(f, acc, tile.columns), f.least(rows, tile.rows), columns, emit)


def spilled(f: Function, acc: Accumulators, stride: int) -> str:
    """The address of memory to which the tile has been written, ``stride`` elements from row to row."""
    tile = acc.tile
    buffer = local_array(f, tile.rows * stride, tile.element)
    for i in range(tile.rows):
        for j in range(tile.vectors):
            at = f.at(buffer, i * stride + j * tile.lanes, tile.element)
            f.write(tile.vector, acc.get(i, j), at, tile.itemsize)
    return buffer


def finish_spilled(f: Function, tile: Tile, buffer: str, rows: Value, columns: Value, emit: Emit) -> None:
    """``finish`` of some rows and columns of a tile in memory."""
    masks = [f.first_lanes(f.sub(columns, j * tile.lanes), tile.lanes) for j in range(tile.vectors)]
    with f.loop(0, rows) as row:
        start = f.at(buffer, f.mul(row, tile.columns), tile.element)
        for j in range(tile.vectors):
            at = f.at(start, j * tile.lanes, tile.element)
            emit(row, j, f.read(tile.vector, at, tile.itemsize), masks[j])


def local_array(f: Function, size: int, element: str) -> str:
    """The address of ``size`` elements on the stack."""
    name = f.name()
    f.slots.append(f"  {name} = alloca [{size} x {element}], align 64")
    return name
