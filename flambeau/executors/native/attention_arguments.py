"""The arguments of attention kernels by name, so that a kernel and the plan that calls it agree on places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .attention_tiles import Parts
from .build import Function
from .emitter import memory_type
from .plan import Words

LEAD = 3    # dimensions before the last two; fewer are filled up with extents of 1


def operand_names(name: str) -> tuple[str, ...]:
    """Pointer and strides of an operand; ``copied``: read it from a copy in scratch memory."""
    return (name, *[f"{name}.{i}" for i in range(LEAD)], f"{name}.row", f"{name}.column", f"{name}.copied")


def scratch_names(names: Iterable[str]) -> tuple[str, ...]:
    """Offsets in scratch memory, in bytes."""
    return tuple(f"at.{name}" for name in names)


SIZES = ("lead.1", "lead.2", "queries", "keys", "depth", "width", "causal", "masked", "scale", "chunks")


class Scratch:
    """Scratch memory of a task, divided into parts that begin at multiples of 64 bytes."""

    def __init__(self, itemsize: int) -> None:
        self.itemsize = itemsize
        self.offsets: dict[str, int] = {}
        self.size = 0

    def add(self, name: str, count: int) -> None:
        """Room for ``count`` elements."""
        self.offsets[f"at.{name}"] = self.size
        self.size += -(-count * self.itemsize // 64) * 64


def placed(names: Sequence[str], values: dict[str, int], words: Words) -> None:
    """The integers among a kernel's arguments, in order; ``words`` has the pointers and reals before them."""
    for name in names:
        words.constant(values[name])


class Arguments:
    """A kernel's arguments in registers."""

    def __init__(self, f: Function, parts: Parts, names: Sequence[str], kinds: dict[str, str]) -> None:
        self.f = f
        self.parts = parts
        self.values = {name: f.word(k, kinds.get(name, "i64")) for k, name in enumerate(names)}

    def __getitem__(self, name: str) -> str:
        return self.values[name]

    def scratch(self, name: str) -> str:
        """Where a part of scratch memory begins."""
        return self.f.at(self.f.scratch, self.values[f"at.{name}"], "i8")

    def flag(self, name: str) -> str:
        """Whether an argument is not zero."""
        return self.f.compare("ne", self.values[name], 0)

    def of_head(self, name: str, head: str) -> str:
        """Where the matrix of a head begins in an operand."""
        f = self.f
        last = f.rem(head, self["lead.2"])
        rest = f.div(head, self["lead.2"])
        place = f.mul(last, self[f"{name}.2"])
        place = f.add(place, f.mul(f.rem(rest, self["lead.1"]), self[f"{name}.1"]))
        place = f.add(place, f.mul(f.div(rest, self["lead.1"]), self[f"{name}.0"]))
        return f.at(self[name], place, memory_type(self.parts.storage))


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


def matrix(arguments: Arguments, name: str, head: str, rows: str, columns: str) -> Matrix:
    """An operand's matrix of a head, copied to scratch memory if a copy is wanted."""
    f, parts = arguments.f, arguments.parts
    pointer = arguments.of_head(name, head)
    found = Matrix(f, pointer, arguments[f"{name}.row"], arguments[f"{name}.column"])
    with f.when(arguments.flag(f"{name}.copied")):
        target = arguments.scratch(name)
        parts.stage(f, pointer, arguments[f"{name}.row"], arguments[f"{name}.column"], rows, columns, target,
                    columns)
        found.redirect(target, columns)
    return found
