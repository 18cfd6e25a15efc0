"""What is done with the elements of a matrix product before they are stored.

An ``Epilogue`` writes its instructions into the kernel for a vector of adjacent columns of one row. It has
arguments of its own, which lie behind the kernel's. Equal ones share code: they say how an operand is read,
never which operand or how large.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ..llvm.build import Function, Value
from ..llvm.emitter import Dtype
from ..llvm.lanes import compute_type, element_at, gather_lanes, read_lanes
from ..plan import Words

ITEM = 3  # dimensions of a batch


class Place(NamedTuple):
    """Where a vector of results lies: batch item, row, column of its first lane, and which lanes exist.

    ``known`` remembers registers that hold for all rows of the same columns.
    """

    item: tuple[str, ...]
    row: Value
    column: Value
    lanes: int
    mask: str | None
    known: dict[Any, str]


class Epilogue(Protocol):
    """The code of an epilogue: hashable, equal where the code is equal; ``size``: its arguments."""

    @property
    def size(self) -> int:
        """How many arguments it has."""
        ...

    def apply(self, f: Function, first: int, place: Place, value: str) -> str:
        """The register of the new value; the epilogue's arguments start at word ``first``."""
        ...


class Arguments(Protocol):
    """An epilogue together with its arguments."""

    @property
    def code(self) -> Epilogue:
        """What is compiled."""
        ...

    def fill(self, words: Words) -> None:
        """Append the arguments."""
        ...


class Operand(NamedTuple):
    """A summand: which operand, and its strides for the item's dimensions, rows and columns."""

    position: int
    geometry: Any
    strides: tuple[int, ...]


class Summand(NamedTuple):
    """How a kernel adds a summand: the code of ``Added``."""

    dtype: Dtype     # in memory
    compute: Dtype
    across: str      # adjacent columns: "unit", "equal" or "strided"
    rows: bool       # whether rows, or batch items, differ
    scaled: bool     # alpha * product + beta * summand, else their sum

    @property
    def size(self) -> int:
        return 8 if self.scaled else 6

    def apply(self, f: Function, first: int, place: Place, value: str) -> str:
        kind = f"<{place.lanes} x {compute_type(self.compute)}>"
        key = (self, place.column)
        summand = place.known.get(key)
        if summand is None:
            summand = self._read(f, first, place)
            if self.scaled:
                beta = _number(f, first + 6, self.compute, place.lanes)
                summand = f.emit(f"fmul {kind} {summand}, {beta}")
            if not self.rows and place.mask is None:
                place.known[key] = summand
        if self.scaled:
            value = f.emit(f"fmul {kind} {value}, {_number(f, first + 7, self.compute, place.lanes)}")
        return f.emit(f"fadd {kind} {value}, {summand}")

    def _read(self, f: Function, first: int, place: Place) -> str:
        pointer = f.word(first, "ptr")
        offset = f.mul(place.column, f.word(first + 5))
        if self.rows:
            for k, index in enumerate((*place.item, place.row)):
                offset = f.add(offset, f.mul(index, f.word(first + 1 + k)))
        pointer = element_at(f, self.dtype, pointer, offset)
        if self.across == "unit":
            return read_lanes(f, self.dtype, place.lanes, pointer, place.mask)
        if self.across == "equal":
            return f.splat(f.load(pointer, self.dtype), place.lanes, compute_type(self.compute))
        return gather_lanes(f, self.dtype, place.lanes, pointer, f.word(first + 5), place.mask)


class Factor(NamedTuple):
    """The code of ``Scaled``."""

    compute: Dtype

    @property
    def size(self) -> int:
        return 1

    def apply(self, f: Function, first: int, place: Place, value: str) -> str:
        kind = f"<{place.lanes} x {compute_type(self.compute)}>"
        return f.emit(f"fmul {kind} {value}, {_number(f, first, self.compute, place.lanes)}")


def _number(f: Function, word: int, compute: Dtype, lanes: int) -> str:
    element = compute_type(compute)
    return f.splat(f.word(word, element), lanes, element)


class Scaled:
    """``alpha * product``."""

    def __init__(self, compute: Dtype, alpha: int) -> None:
        self.code: Epilogue = Factor(compute)
        self.compute = compute
        self.alpha = alpha  # operand

    def fill(self, words: Words) -> None:
        words.number(self.alpha, self.compute)


_ACROSS = {1: "unit", 0: "equal"}


class Added:
    """``alpha * product + beta * summand`` or their plain sum."""

    def __init__(self, summand: Operand, compute: Dtype, numbers: tuple[int, int] | None = None) -> None:
        *outer, across = summand.strides
        self.code: Epilogue = Summand(summand.geometry.dtype.numpy, compute, _ACROSS.get(across, "strided"),
                                      any(outer), numbers is not None)
        self.summand = summand
        self.compute = compute
        self.numbers = numbers  # operands beta and alpha

    def fill(self, words: Words) -> None:
        words.input(self.summand.position, self.summand.geometry)
        words.constant(*self.summand.strides)
        if self.numbers is not None:
            for operand in self.numbers:
                words.number(operand, self.compute)
