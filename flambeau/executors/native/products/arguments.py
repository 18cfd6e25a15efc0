"""What a product's kernel is given: its arguments, and what is in its code."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import NamedTuple

from ..llvm.emitter import BFLOAT16, Dtype
from .epilogue import Epilogue
from .microkernel import Tile, tile_of
from .packing_pairs import multiplies_pairs


class Word(IntEnum):
    """The arguments of the product's kernel."""

    A = 0
    B = auto()
    C = auto()
    M = auto()
    N = auto()
    K = auto()
    A_ROW = auto()          # strides in elements
    A_STEP = auto()
    B_STEP = auto()
    B_COLUMN = auto()
    C_ROW = auto()
    C_COLUMN = auto()
    MC = auto()             # rows packed at once
    KC = auto()             # depth packed at once
    ROWS = auto()           # rows and columns of a task
    COLUMNS = auto()
    ROW_BLOCKS = auto()     # tasks of an item along the rows and columns
    COLUMN_BLOCKS = auto()
    SOURCE = auto()         # how B is read
    IN_PLACE = auto()       # how A is read
    EXTENTS = auto()        # of the batch: 3
    A_ITEM = 23             # then 3 strides for each of A, B and C
    B_ITEM = 26
    C_ITEM = 29
    FOLLOWER = 32           # address of what follows, block by block, or 0
    PAST = 33       # whether C is written past the caches: its rows begin at lines of them if it does
    END = 34


class Source(IntEnum):
    """How a task gets its part of B."""

    OWN = 0         # packs it
    DIRECT = 1      # reads it where it lies: columns are adjacent
    SHARED = 2      # it has been packed by another call


class Rows(IntEnum):
    """How a task reads its rows of A."""

    PACKED = 0
    IN_BLOCKS = 1   # where they lie, block by block
    AT_ONCE = 2     # where they lie, all of them for some steps of the depth, then for the next ones


class Kind(NamedTuple):
    """What is in the code of a product."""

    source: Dtype   # of A and B in memory
    target: Dtype   # of C in memory
    compute: Dtype
    epilogue: Epilogue | None = None

    @property
    def following(self) -> int:
        """Where the arguments of what follows begin."""
        return Word.END + (self.epilogue.size if self.epilogue is not None else 0)

    @property
    def pairs(self) -> bool:
        """Whether pairs of numbers are multiplied at once; then the depth is one block."""
        return self.source == self.target == BFLOAT16 and multiplies_pairs()

    @property
    def tile(self) -> Tile:
        return tile_of(self.compute.itemsize)
