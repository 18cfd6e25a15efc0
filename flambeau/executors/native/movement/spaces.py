"""Loops over a space of rows and columns that several operands walk through with strides of their own.

The last extent of the space is its column, the others are its rows. A task is a block of rows, or, where
there are few rows, of columns. Within a task an odometer steps from row to row: it adds each operand's
strides and carries over, so that a row costs no division. Code depends on the number of extents (rounded up
to one of ``RANKS``), not on the extents.

A coordinate that a kernel needs to know is an operand whose stride is 1 there and 0 elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ..llvm.build import Function, Variable
from ..plan import Words
from ..quantity import whole

RANKS = (1, 3, 7)
TASK_BYTES = 256 << 10   # read and written by a task: some 10 us
MOST_TASKS = 32
EVEN = 4                # more than two portions are a multiple of it: of two or four threads each has as many
ALIGNED = 64            # columns of a block are a multiple of this

Strides = tuple[int, ...]


class Space(NamedTuple):
    """Extents, and for each operand its strides, outermost first."""

    extents: tuple[int, ...]
    strides: tuple[Strides, ...]

    @property
    def size(self) -> int:
        """How many points there are."""
        return math.prod(self.extents)

    def moved(self, order: Sequence[int]) -> Space:
        """The same points in another order of extents."""
        return Space(tuple([self.extents[d] for d in order]),
                     tuple([tuple([s[d] for d in order]) for s in self.strides]))


def fused(extents: Sequence[int], strides: Sequence[Sequence[int]], ordered: bool = True) -> Space:
    """The space without extents of 1, neighbours joined that all operands walk through as one.

    ``ordered``: extents may be moved, so that the first operand's largest stride comes first.
    """
    axes = [(n, own) for n, own in zip(extents, zip(*strides)) if n != 1]
    if not axes:
        return Space((1,), ((0,),) * len(strides))
    if ordered and len(axes) > 1:
        axes.sort(key=_steps)
    joined = axes[:1]
    outer, before = axes[0]
    for n, own in axes[1:]:
        if before == tuple([n * step for step in own]):
            outer *= n
            joined[-1] = outer, own
        else:
            outer = n
            joined.append((n, own))
        before = own
    sizes, steps = zip(*joined)
    return Space(sizes, tuple(zip(*steps)))


def _steps(axis: tuple[int, tuple[int, ...]]) -> list[int]:
    """What axes are sorted by: large strides first, those of the first operand before the others'."""
    return [-s if s > 0 else s for s in axis[1]]


class Split(NamedTuple):
    """How a space is cut into tasks: blocks of rows times blocks of columns."""

    rows: int
    columns: int
    tasks: int
    grain: int


def split(space: Space, bytes_each: float, *, widest: int = 0, together: int = 1) -> Split:
    """Blocks for tasks. ``widest``: most columns of a block; ``together``: rows that share cache lines."""
    return Split(*_blocks(space.size, space.extents[-1], bytes_each, widest, together))


@whole
def _blocks(size: int, columns: int, bytes_each: float, widest: int,
            together: int) -> tuple[int, int, int, int]:
    rows = size // columns
    groups = -(-rows // together)
    wanted = tasks_for(size * bytes_each)
    wide = min(columns, widest or columns)
    across = -(-columns // wide)
    high = together
    if groups * across < wanted:
        parts = -(-wanted // groups)
        wide = min(wide, -(-columns // (parts * ALIGNED)) * ALIGNED)
        across = -(-columns // wide)
    elif across == 1:
        high *= -(-groups // wanted)
    tasks = -(-rows // high) * across
    return high, wide, tasks, max(1, tasks // wanted)


@whole
def tasks_for(traffic: float) -> int:
    """How many tasks share work of so many bytes."""
    return even(max(1, min(MOST_TASKS, int(traffic / TASK_BYTES))))


def even(portions: int) -> int:
    """As many portions or a few more, so that threads get the same number."""
    return portions if portions <= 2 else -(-portions // EVEN) * EVEN


def rank_for(space: Space) -> int:
    """The number of row extents of the code that walks a space."""
    rows = len(space.extents) - 1
    for rank in RANKS:
        if rows <= rank:
            return rank
    return rows


class Block(NamedTuple):
    """A task: its number, its rows and columns."""

    task: str
    row: str
    end: str
    first: str
    last: str


class Row(NamedTuple):
    """What the body of ``Nest.rows`` gets: each operand's offset at the row's first column, the columns."""

    offsets: list[str]
    first: str
    last: str

    def width(self, f: Function) -> str:
        """How many columns."""
        return f.sub(self.last, self.first)


class Nest:
    """The walk through a space: its place among a call's words, and its loops."""

    def __init__(self, rank: int, operands: int, at: int) -> None:
        self.rank = rank
        self.operands = operands
        self.at = at

    def place(self, words: Words, space: Space, cut: Split) -> None:
        """Put the arguments down. Strides in whatever unit the kernel reads them."""
        assert len(words.values) == self.at
        columns = space.extents[-1]
        rows = space.size // columns
        fill = self.rank - (len(space.extents) - 1)
        ones, zeros = [1] * fill, [0] * fill
        values = [rows, cut.rows, columns, cut.columns, -(-columns // cut.columns)]
        values += (*ones, *space.extents[:-1])
        for own in space.strides:
            values += zeros
            values += own
        words.constant(*values)

    def step(self, f: Function, operand: int) -> str:
        """An operand's stride along the columns."""
        return f.word(self.at + 5 + self.rank + operand * (self.rank + 1) + self.rank)

    def row_step(self, f: Function, operand: int) -> str:
        """An operand's stride from row to row."""
        return f.word(self.at + 5 + self.rank + operand * (self.rank + 1) + self.rank - 1)

    def rows_of(self, f: Function) -> str:
        """How many rows there are."""
        return f.word(self.at)

    def columns(self, f: Function) -> str:
        """The extent of the columns."""
        return f.word(self.at + 2)

    @contextmanager
    def tasks(self, f: Function) -> Iterator[Block]:
        """The loop over tasks."""
        rows, high, columns, wide, across = [f.word(self.at + k) for k in range(5)]
        with f.loop(f.begin, f.end) as task:
            block = f.div(task, across)
            first = f.mul(f.sub(task, f.mul(block, across)), wide)
            row = f.mul(block, high)
            end, last = f.least(f.add(row, high), rows), f.least(f.add(first, wide), columns)
            yield Block(task, row, end, first, last)

    @contextmanager
    def rows(self, f: Function, block: Block | None = None) -> Iterator[Row]:
        """The loop over the rows of a task, by default of all tasks."""
        if block is None:
            with self.tasks(f) as each, self.rows(f, each) as row:
                yield row
            return
        at, rank = self.at, self.rank
        extents = [f.word(at + 5 + d) for d in range(rank)]
        strides = [[f.word(at + 5 + rank + o * (rank + 1) + d) for d in range(rank)]
                   for o in range(self.operands)]
        steps = [self.step(f, o) for o in range(self.operands)]
        # What a carry out of dimension d adds to an offset.
        back = [[f.sub(own[d - 1], f.mul(own[d], extents[d])) if d else "" for d in range(rank)]
                for own in strides]
        at_row = [f.variable("i64", 0) for _ in range(rank)]
        offsets = [f.variable("i64", 0) for _ in range(self.operands)]
        self._seek(f, block.row, extents, strides, steps, block.first, at_row, offsets)
        with f.loop(block.row, block.end):
            yield Row([o.get() for o in offsets], block.first, block.last)
            self._advance(f, rank - 1, extents, strides, back, at_row, offsets)

    def _seek(self, f: Function, row: str, extents: list[str], strides: list[list[str]], steps: list[str],
              first: str, at_row: list[Variable], offsets: list[Variable]) -> None:
        """Set the odometer to a row."""
        found = [f.mul(first, step) for step in steps]
        for d in range(self.rank - 1, -1, -1):
            above = f.div(row, extents[d]) if d else "0"
            index = f.sub(row, f.mul(above, extents[d])) if d else row
            at_row[d].set(index)
            found = [f.add(x, f.mul(index, own[d])) for x, own in zip(found, strides)]
            row = above
        for variable, x in zip(offsets, found):
            variable.set(x)

    def _advance(self, f: Function, d: int, extents: list[str], strides: list[list[str]],
                 back: list[list[str]], at_row: list[Variable], offsets: list[Variable]) -> None:
        """To the next row."""
        for variable, own in zip(offsets, strides):
            variable.set(f.add(variable.get(), own[d]))
        if d:
            following = f.add(at_row[d].get(), 1)
            at_row[d].set(following)
            self._carry(f, d, following, extents, back, at_row, offsets)

    def _carry(self, f: Function, d: int, index: str, extents: list[str], back: list[list[str]],
               at_row: list[Variable], offsets: list[Variable]) -> None:
        with f.when(f.compare("eq", index, extents[d])):
            at_row[d].set(0)
            for variable, own in zip(offsets, back):
                variable.set(f.add(variable.get(), own[d]))
            if d > 1:
                following = f.add(at_row[d - 1].get(), 1)
                at_row[d - 1].set(following)
                self._carry(f, d - 1, following, extents, back, at_row, offsets)
