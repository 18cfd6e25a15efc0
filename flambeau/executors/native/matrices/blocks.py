"""Small matrices, as many at once as a vector has lanes: element (i, j) of all of them is one vector.

A task is such a group of a batch. Matrices whose elements lie close together are read a vector of elements
for each matrix, and transposed; others are gathered. The lanes behind the last matrix of a batch hold
anything; what is found out about them does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ..arguments import Registers
from ..llvm.build import Function, Value, Variable
from ..llvm.lanes import gather_lanes
from ..vectors import Elements, transposed

# Of each operand: how far apart matrices, rows and columns lie; of a dense one how far it is to its rows and
# columns in vectors, and how many elements it has.
OPERAND = ("batch", "row", "column", "rows", "columns")


class Block:
    """Matrices in scratch memory: a vector for each element, ``steps`` vectors from row to row, column to
    column."""

    def __init__(self, f: Function, e: Elements, place: str, steps: tuple[Value, Value]) -> None:
        self.f, self.e, self.place, self.steps = f, e, place, steps

    def turned(self) -> Block:
        """The transposed matrices."""
        return Block(self.f, self.e, self.place, self.steps[::-1])

    def at(self, i: Value, j: Value) -> str:
        """The address of an element."""
        f = self.f
        return f.at(self.place, f.add(f.mul(i, self.steps[0]), f.mul(j, self.steps[1])), self.e.kind)

    def get(self, i: Value, j: Value) -> str:
        return self.f.read(self.e.kind, self.at(i, j), self.e.width)

    def set(self, i: Value, j: Value, value: str) -> None:
        self.f.write(self.e.kind, value, self.at(i, j), self.e.width)

    def copy(self, other: Block, rows: Value, columns: Value) -> None:
        """Take all elements of another block."""
        with self.f.loop(0, rows) as i, self.f.loop(0, columns) as j:
            self.set(i, j, other.get(i, j))


class Group(NamedTuple):
    """The matrices of a task."""

    f: Function
    e: Elements
    first: str      # the number of the first one
    held: str       # how many there are
    live: str       # the mask of their lanes

    def load(self, block: Block, pointer: str, a: Registers, staging: str, dense: bool) -> None:
        """Read an operand; ``a``: the arguments ``OPERAND`` of it."""
        f = self.f
        if dense:
            self._transpose(pointer, a, staging)
            block.copy(Block(f, self.e, staging, (a.row, a.column)), a.rows, a.columns)
            return
        start = self.e.at(f, pointer, f.mul(self.first, a.batch))
        with f.loop(0, a.rows) as i, f.loop(0, a.columns) as j:
            at = self.e.at(f, start, f.add(f.mul(i, a.row), f.mul(j, a.column)))
            block.set(i, j, gather_lanes(f, self.e.dtype, self.e.lanes, at, a.batch, self.live))

    def _transpose(self, pointer: str, a: Registers, staging: str) -> None:
        f, e = self.f, self.e
        last, size = f.sub(self.held, 1), f.mul(a.rows, a.columns)
        starts = [e.at(f, pointer, f.mul(f.add(self.first, f.least(i, last)), a.batch))
                  for i in range(e.lanes)]
        with f.loop(0, size, e.lanes) as k:
            mask = f.first_lanes(f.sub(size, k), e.lanes)
            columns = transposed(f, e.kind, [e.read(f, e.at(f, start, k), mask) for start in starts])
            for i, column in enumerate(columns):
                f.write(e.kind, column, f.at(staging, f.add(k, i), e.kind), e.width)

    def store(self, block: str, pointer: str, size: str) -> None:
        """Write vectors of ``size`` elements to dense matrices."""
        f, e = self.f, self.e
        start = e.at(f, pointer, f.mul(self.first, size))
        with f.loop(0, size, e.lanes) as k:
            mask = f.first_lanes(f.sub(size, k), e.lanes)
            rows = [f.read(e.kind, f.at(block, f.add(k, i), e.kind), e.width) for i in range(e.lanes)]
            for i, row in enumerate(transposed(f, e.kind, rows)):
                exists = f.compare("slt", i, self.held)
                mine = f.choose(exists, f"<{e.lanes} x i1>", mask, "zeroinitializer")
                e.write(f, row, e.at(f, start, f.add(f.mul(size, i), k)), mine)

    def store_numbers(self, pointer: str, value: str, kind: str, width: int) -> None:
        """Write a number of each matrix."""
        at = self.f.at(pointer, self.first, kind[1:-1].split(" x ")[1])
        self.f.write_masked(kind, value, at, self.live, width)


@contextmanager
def groups(f: Function, e: Elements, batch: str) -> Iterator[tuple[Group, Variable]]:
    """A loop over the groups of a task, and where lanes are noted that have no regular result."""
    with f.loop(f.begin, f.end) as task:
        first = f.mul(task, e.lanes)
        count = f.least(f.sub(batch, first), e.lanes)
        bad = f.variable(f"<{e.lanes} x i1>", "zeroinitializer")
        yield Group(f, e, first, count, f.first_lanes(count, e.lanes)), bad


def report(group: Group, bad: Variable, status: str) -> None:
    """Tell the program where a matrix has no regular result: the interpreter knows what to do."""
    f, lanes = group.f, group.e.lanes
    found = f.emit(f"and <{lanes} x i1> {bad.get()}, {group.live}")
    some = f.call(f"llvm.vector.reduce.or.v{lanes}i1", "i1", [f"<{lanes} x i1>"], [found])
    with f.when(some):
        f.write("i64", 1, status, 8)
