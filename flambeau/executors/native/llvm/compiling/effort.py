"""How much LLVM does with a module: what it takes for a long text is most of a first step's time."""

from __future__ import annotations

from enum import IntEnum


class Effort(IntEnum):
    """Which transformations a module is worth; more than it needs can make it slower."""

    FEW = 0     # written in vectors, unrolled, or control alone: registers and expressions
    SOME = 1    # written in vectors: all that leaves loops as they are
    ALL = 2     # written element by element: loops become vectors
