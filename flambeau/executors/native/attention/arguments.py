"""The arguments of attention kernels by name, so that a kernel and the plan that calls it agree on places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..llvm.build import Function, Value
from ..llvm.emitter import memory_type
from ..plan import Words
from .tiles import Parts

LEAD = 3    # dimensions before the last two; fewer are filled up with extents of 1
# ``group``: how many heads of queries share one of keys and values, of which ``lead.shared`` are adjacent.
# ``padded``: whole vectors of columns. ``keys.block``: how many keys a tile of scores has.
SIZES = ("lead.1", "lead.2", "lead.shared", "group", "queries", "keys", "depth", "width", "depth.padded",
         "width.padded", "keys.block", "causal", "masked", "dropped", "chunks")


class Names(NamedTuple):
    """A kernel's arguments, in order: pointers to operands, results and others, two numbers, integers.

    ``kept``: with dropout, which weights are kept, all of these being multiplied with ``factor``.
    """

    operands: tuple[str, ...]       # of each: pointer, strides, and whether it is read from a copy
    results: tuple[str, ...]        # of each: pointer, strides and offset; columns are adjacent
    others: tuple[str, ...]         # pointers
    sizes: tuple[str, ...]
    scratch: tuple[str, ...]        # parts of scratch memory: where they begin

    @property
    def in_order(self) -> list[str]:
        strides = [f"{name}.{part}" for name in self.operands
                   for part in (*range(LEAD), "row", "column", "copied")]
        strides += [f"{name}.{part}" for name in self.results for part in (*range(LEAD), "row", "start")]
        return [*self.operands, *self.results, *self.others, "scale", "factor", *self.sizes, *strides,
                *[f"at.{name}" for name in self.scratch]]

    def integers(self, words: Words, sizes: Sequence[int], strides: Sequence[int], scratch: Scratch) -> None:
        """Everything after the numbers."""
        offsets = scratch.offsets
        words.constant(*sizes, *strides, *[offsets.get(name, 0) for name in self.scratch])


class Scratch:
    """Scratch memory of a task, divided into parts that begin at multiples of 64 bytes."""

    def __init__(self, itemsize: int) -> None:
        self.itemsize = itemsize
        self.offsets: dict[str, int] = {}
        self.size = 0

    def add(self, name: str, count: int) -> None:
        """Room for ``count`` elements."""
        self.offsets[name] = self.size
        self.size += -(-count * self.itemsize // 64) * 64


class Head(NamedTuple):
    """A head by its indices in the ``LEAD`` dimensions before the last two."""

    first: str
    second: str
    third: str


class Arguments:
    """A kernel's arguments in registers."""

    def __init__(self, f: Function, parts: Parts, names: Names) -> None:
        self.f = f
        self.parts = parts
        kinds = {**dict.fromkeys((*names.operands, *names.results, *names.others), "ptr"),
                 **dict.fromkeys(("scale", "factor"), parts.element)}
        self.values = {name: f.word(k, kinds.get(name, "i64")) for k, name in enumerate(names.in_order)}

    def __getitem__(self, name: str) -> str:
        return self.values[name]

    def scratch(self, name: str) -> str:
        """Where a part of scratch memory begins."""
        return self.f.at(self.f.scratch, self.values[f"at.{name}"], "i8")

    def flag(self, name: str) -> str:
        """Whether an argument is not zero."""
        return self.f.compare("ne", self.values[name], 0)

    def head(self, number: str, shared: bool = False) -> Head:
        """A head of queries, or one of keys and values, that queries' heads share."""
        f, extent = self.f, self["lead.shared" if shared else "lead.2"]
        rest = f.div(number, extent)
        first = f.div(rest, self["lead.1"])
        return Head(first, f.sub(rest, f.mul(first, self["lead.1"])), f.sub(number, f.mul(rest, extent)))

    def of_head(self, name: str, head: Head) -> str:
        """Where the matrix of a head begins in memory."""
        f = self.f
        place: Value = self.values.get(f"{name}.start", 0)
        for i, index in enumerate(head):
            place = f.add(place, f.mul(index, self[f"{name}.{i}"]))
        return f.at(self[name], place, memory_type(self.parts.storage))

    def instead(self, direct: str, name: str, head: Head, other: str, other_row: str,
                first: Value = 0) -> tuple[str, str]:
        """Where rows of a head's result begin, from ``first`` on, and how far they are apart.

        In the result itself if that is ``direct`` (i1), else in scratch memory.
        """
        f, row = self.f, self[f"{name}.row"]
        place = f.at(self.of_head(name, head), f.mul(first, row), memory_type(self.parts.storage))
        return f.choose(direct, "ptr", place, other), f.choose(direct, "i64", row, other_row)


class Coming:
    """The head of keys of a task, found while the one before is computed, for its rows to be asked for.

    ``number``: of its head of queries, or if tasks are not ``one_of_group``, of its head of keys.
    """

    def __init__(self, w: Arguments, task: str, one_of_group: bool = True) -> None:
        self._w = w
        self._one_of_group = one_of_group
        self.number, *self._head = (w.f.variable("i64", x) for x in self._found(task))

    def _found(self, task: str) -> tuple[str, ...]:
        w = self._w
        number = w.f.div(task, w["chunks"])
        return number, *w.head(w.f.div(number, w["group"]) if self._one_of_group else number, shared=True)

    @property
    def shared(self) -> Head:
        """The head, until another task follows."""
        return Head(*[x.get() for x in self._head])

    def follow(self, task: str) -> None:
        """Go on to another task."""
        for variable, x in zip((self.number, *self._head), self._found(task)):
            variable.set(x)


class Matrix:
    """A matrix of a head: pointer and strides of its elements as they are computed with."""

    def __init__(self, f: Function, pointer: str, row: str, column: str) -> None:
        self.pointer = f.variable("ptr", pointer)
        self.row = f.variable("i64", row)
        self.column = f.variable("i64", column)

    def redirect(self, pointer: str, row: str) -> None:
        """Another place, with adjacent columns."""
        self.pointer.set(pointer)
        self.row.set(row)
        self.column.set(1)


def matrix(arguments: Arguments, name: str, head: Head, rows: str, columns: str, first: Value = 0) -> Matrix:
    """Rows of an operand's matrix of a head, copied to scratch memory if a copy is wanted.

    ``columns``: the name of their number; a copy's rows are whole vectors.
    """
    f, parts = arguments.f, arguments.parts
    row, column = arguments[f"{name}.row"], arguments[f"{name}.column"]
    pointer = f.at(arguments.of_head(name, head), f.mul(first, row), memory_type(parts.storage))
    found = Matrix(f, pointer, row, column)
    with f.when(arguments.flag(f"{name}.copied")):
        target, padded = arguments.scratch(name), arguments[f"{columns}.padded"]
        parts.stage(f, pointer, row, column, rows, arguments[columns], target, padded)
        found.redirect(target, padded)
    return found
