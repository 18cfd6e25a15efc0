"""Products of many tiny matrices, as of rotations with points.

    C[i, j] = sum over k of A[i, k] B[k, j]

Elements are read where they lie, and sums are added up in order, in registers: one for each of few results
(to fill a vector from several items costs more than to multiply), or vectors of a group of rows, if those of
C are adjacent. Rows of B that are not are first copied into the scratch, turned. The last group of rows ends
with the last row: some may be computed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..llvm.build import Function, Module, Variable, vector
from ..llvm.compiling.code import kernel
from ..llvm.compiling.effort import Effort
from ..llvm.compiling.machine import machine
from ..llvm.lanes import element_at, read_lanes, write_lanes
from .arguments import Kind, Word
from .items import item_of, item_offset
from .packing import packer

SCALARS = 16        # results of an item that are computed one by one, at most
GROUPS = 16, 8, 4   # of rows


class Across(NamedTuple):
    """How a row of C lies in vectors: lanes of each, how many, whether the last one is full, B is turned."""

    lanes: int
    vectors: int
    full: bool
    turned: bool


@kernel("tiny", effort=Effort.FEW)
def tiny_kernel(kind: Kind, rows: int, row: int | Across) -> str:
    """The address of the kernel for (m, k) by (k, n); tasks are items.

    ``rows``: how many of the m rows are computed at once. ``row``: n, or its vectors.
    """
    module, turn = Module(), None
    if isinstance(row, Across) and row.turned:
        turn = packer(module, "turn", kind.source, row.vectors * row.lanes, row.lanes)
    with module.kernel("tiny") as f:
        writer = _Writer(f, kind, rows, row) if isinstance(row, int) else \
            _AcrossWriter(f, kind, rows, row, turn)
        writer.write()
    return module.text()


def rows_at_once(m: int, vectors: int) -> int:
    """Of rows of so many vectors: all of few, or groups of such a size that few are computed twice."""
    most = max(1, (16 if machine().registers == 32 else 8) // vectors)
    few = next((n for n in range(1, GROUPS[-1]) if m == n), 0)
    if few or most < GROUPS[-1]:
        return min(few or most, most)
    best = GROUPS[-1]
    for rows in GROUPS[-2::-1]:
        if rows <= most and rows <= m and -(-m // rows) * rows <= -(-m // best) * best:
            best = rows
    return best


class _Writer:
    """An element of C in a register; ``n``: how many are a row."""

    def __init__(self, f: Function, kind: Kind, rows: int, n: int) -> None:
        self.f, self.kind, self.rows, self.n = f, kind, rows, n
        self.sum = kind.tile.element

    def write(self) -> None:
        """Runs of items along the last dimension of the batch: offsets are divided for once each."""
        f, kind = self.f, self.kind
        number = f.variable("i64", f.begin)
        operands = ((Word.A, Word.A_ITEM, kind.source), (Word.B, Word.B_ITEM, kind.source),
                    (Word.C, Word.C_ITEM, kind.target))
        with f.forever() as leave:
            leave(f.compare("sge", number.get(), f.end))
            item = item_of(f, number.get(), Word.EXTENTS)
            count = f.least(f.sub(f.end, number.get()), f.sub(f.word(Word.EXTENTS + 2), item[2]))
            starts = [item_offset(f, item, stride) for _, stride, _ in operands]
            with f.loop(0, count) as i:
                self._item(*[element_at(f, dtype, f.word(word, "ptr"),
                                        f.add(start, f.mul(i, f.word(stride + 2))))
                             for (word, stride, dtype), start in zip(operands, starts)])
            number.set(f.add(number.get(), count))

    def _item(self, a: str, b: str, c: str) -> None:
        f, kind = self.f, self.kind
        b = self._prepared(b)
        last = f.sub(f.word(Word.M), self.rows)
        with f.loop(0, f.word(Word.M), self.rows) as i:
            first = f.least(i, last)
            self._group(element_at(f, kind.source, a, f.mul(first, f.word(Word.A_ROW))), b,
                        element_at(f, kind.target, c, f.mul(first, f.word(Word.C_ROW))))

    def _prepared(self, b: str) -> str:
        """Where B is read."""
        return b

    def _group(self, a: str, b: str, c: str) -> None:
        """Some rows."""
        f = self.f
        zero = "zeroinitializer" if self.sum.startswith("<") else "0.0"
        sums = [[f.variable(self.sum, zero) for _ in range(self.n)] for _ in range(self.rows)]
        with f.loop(0, f.word(Word.K)) as k:
            right = self._right(b, k)
            for row, x in zip(sums, self._left(a, f.mul(k, f.word(Word.A_STEP)))):
                for total, y in zip(row, right):
                    total.set(f.fma(self.sum, x, y, total.get()))
        for i, row in enumerate(sums):
            self._store(c, f.mul(i, f.word(Word.C_ROW)), row)

    def _left(self, a: str, start: str) -> list[str]:
        """A column of A."""
        return self._elements(a, start, Word.A_ROW, self.rows)

    def _right(self, b: str, k: str) -> list[str]:
        """Row k of B."""
        return self._elements(b, self.f.mul(k, self.f.word(Word.B_STEP)), Word.B_COLUMN, self.n)

    def _elements(self, pointer: str, start: str, stride: Word, count: int) -> list[str]:
        f, dtype = self.f, self.kind.source
        return [f.load(element_at(f, dtype, pointer, f.add(start, f.mul(i, f.word(stride)))), dtype)
                for i in range(count)]

    def _store(self, c: str, start: str, row: Sequence[Variable]) -> None:
        f, dtype = self.f, self.kind.target
        for j, total in enumerate(row):
            at = f.add(start, f.mul(j, f.word(Word.C_COLUMN)))
            f.store(total.get(), element_at(f, dtype, c, at), dtype)


class _AcrossWriter(_Writer):
    """A row of C in vectors."""

    def __init__(self, f: Function, kind: Kind, rows: int, row: Across, turn: Function | None) -> None:
        super().__init__(f, kind, rows, row.vectors)
        self.lanes, self.turn = row.lanes, turn
        self.sum = vector(row.lanes, kind.tile.element)
        left = f.sub(f.word(Word.N), (row.vectors - 1) * row.lanes)
        last = None if row.full else f.first_lanes(left, row.lanes)
        self.masks = [*[None] * (row.vectors - 1), last]

    def _left(self, a: str, start: str) -> list[str]:
        return [self.f.splat(x, self.lanes, self.kind.tile.element) for x in super()._left(a, start)]

    def _prepared(self, b: str) -> str:
        f = self.f
        if self.turn is None:
            return b
        f.run(self.turn, b, f.scratch, f.word(Word.N), f.word(Word.K), f.word(Word.B_COLUMN),
              f.word(Word.B_STEP))
        return f.scratch

    def _start(self, k: str) -> str:
        """Where row k of the copy begins."""
        return self.f.mul(k, self.n * self.lanes)

    def _right(self, b: str, k: str) -> list[str]:
        f, dtype = self.f, self.kind.source
        if self.turn is not None:
            return [f.read(self.sum, f.at(b, f.add(self._start(k), j * self.lanes), self.kind.tile.element),
                           self.kind.compute.itemsize) for j in range(self.n)]
        start = f.mul(k, f.word(Word.B_STEP))
        return [read_lanes(f, dtype, self.lanes, element_at(f, dtype, b, f.add(start, j * self.lanes)), mask)
                for j, mask in enumerate(self.masks)]

    def _store(self, c: str, start: str, row: Sequence[Variable]) -> None:
        f, dtype = self.f, self.kind.target
        for j, (total, mask) in enumerate(zip(row, self.masks)):
            at = element_at(f, dtype, c, f.add(start, j * self.lanes))
            write_lanes(f, dtype, self.lanes, total.get(), at, mask)
