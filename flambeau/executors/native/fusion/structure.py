"""What a fused kernel's code depends on, and nothing of a shape.

Note: the nest. A kernel walks a space of elements in loops: ``outer`` loops, whose positions are shared
between threads, ``mid`` loops and the ``inner`` loop, which runs along memory and is computed in vectors.
Dimensions that are reduced are the mid and inner loops (*rows*: a value for each outer position), or the
mid loops alone (*columns*: a value for each outer and inner position). Without reductions there are no mid
loops.

Levels: a value is uniform, or one for each row (or column), or one for each element. What is computed
from uniform and row values alone is computed once for each row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ....graph.operator import Operator
from ..llvm.emitter import Dtype

UNIFORM, ROW, ELEMENT = range(3)
SHORT = 16      # elements of a short row at most

# How an input is read: at the elements' own position, one element for all, or by strides (the innermost one
# 0, 1 or another).
FLAT, ONE, REPEATED, ADJACENT, STRIDED = range(5)

Reference = tuple[Any, ...] | None


class Input(NamedTuple):
    """An array that a kernel reads."""

    dtype: Dtype
    access: int
    level: int = ELEMENT


class Member(NamedTuple):
    """One operator of a fused kernel.

    ``operands``: ("member", i, result), ("input", i), ("number", i) or None. ``rounds``: the 16-bit type to
    which each of them is rounded, if any is.
    """

    operator: Operator
    attributes: tuple[Any, ...]
    compute: Dtype | None
    dtypes: tuple[Dtype, ...]
    operands: tuple[Reference, ...]
    rounds: tuple[Dtype | None, ...] | None = None


class Output(NamedTuple):
    """A member's result that is stored, one for each element or for each row."""

    member: int
    result: int
    level: int


class Structure(NamedTuple):
    """All that a kernel's code depends on. ``split``: rows are shared between tasks, pass by pass.

    ``packed``: elements that several passes read are copied together by the first one: segments of a row that
    lie a power of two apart would drive each other out of the caches. ``folded``: so many neighbouring
    columns (``tail``) are one, to be added up in the end: short rows of several segments.
    ``short``: many rows of few elements (``SHORT`` at most). ``past``: results are written past the caches.
    """

    members: tuple[Member, ...]
    inputs: tuple[Input, ...]
    numbers: int
    outputs: tuple[Output, ...]
    outer: int = 0
    mid: int = 0
    ndim: int | None = None
    dims: tuple[int, ...] = ()
    columns: bool = False
    split: bool = False
    packed: bool = False
    folded: bool = False
    short: bool = False
    past: bool = False


def strided(structure: Structure) -> list[int]:
    """The inputs that are read by strides of their own."""
    return [i for i, x in enumerate(structure.inputs) if x.access >= REPEATED]


def layout_of(structure: Structure, reductions: int = 0) -> list[tuple[Any, ...]]:
    """The words of a kernel, in order: strides of the outer and mid loops, steps of the inner one."""
    loops = range(structure.outer + structure.mid)
    words: list[tuple[Any, ...]] = [("extent", d) for d in loops]
    words += [("inner",), ("chunk",), ("chunks",), ("block",), ("count",), ("region",), ("buffer",),
              ("tail",)]
    words += [("own", d) for d in loops]
    for i in strided(structure):
        words += [("stride", i, d) for d in loops] + [("step", i)]
    words += [("input", i) for i in range(len(structure.inputs))]
    words += [("output", k) for k in range(len(structure.outputs))]
    words += [("number", k) for k in range(structure.numbers)]
    return words + [("partial", k) for k in range(reductions if structure.split else 0)]
