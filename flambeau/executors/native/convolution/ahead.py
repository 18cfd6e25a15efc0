"""Memory that convolutions ask for while they multiply: what is staged next, and what results overwrite.

Staging waits for memory, and so does writing results, as lines come before they are overwritten; between the
two, products keep only the arithmetic units busy. So each step of a tile also asks for a line of either
(``products/ahead.py``): a walk over pieces of memory of equal size, of an operand (``in``) and of another
one, or of the results (``out``). Where a tensor lies so that a walk would bring mostly what is not needed,
the plan says that there are no bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ..arguments import Argument, Registers
from ..llvm.build import Function
from ..llvm.compiling.machine import LINE
from ..products.ahead import STATE, Walk, begin
from ..products.microkernel import local_array
from ..quantity import whole
from ..vectors import Elements
from .problem import Problem, Tensor, Three

# How many pieces there are for each channel, and besides; none of both: one for each image. How far they are
# apart, their bytes, and those for each row and channel.
_PIECES = ("each", "runs", "apart", "bytes", "row", "channel")
AHEAD_NUMBERS = tuple(f"{side}_{name}" for side in ("in", "out") for name in _PIECES)


class Ahead:
    """The states of both walks."""

    def __init__(self, f: Function) -> None:
        self.states = {side: local_array(f, STATE, "i64") for side in ("in", "out")}

    def begin(self, f: Function, a: Registers, side: str, first: str, counts: tuple[str, str, str],
              more: str = "") -> None:
        """Start a walk at ``first``; ``counts``: images, rows, channels; ``more``: if there is something."""
        images, rows, channels = counts
        p = a.named(f"{side}_")
        size = f.add(p.bytes, f.add(f.mul(rows, p.row), f.mul(channels, p.channel)))
        if more:
            size = f.choose(more, "i64", size, 0)
        runs = f.add(p.runs, f.mul(channels, p.each))
        runs = f.choose(f.compare("eq", runs, 0), "i64", images, runs)
        some = f.compare("sgt", size, 0)
        begin(f, self.states[side], first, f.choose(some, "i64", runs, 1), f.most(size, 1), p.apart)

    def begin_nothing(self, f: Function, source: str) -> None:
        """A walk of a single line of the source: until there is another one."""
        begin(f, self.states["in"], source, 1, 1, "0")

    def begin_source(self, f: Function, a: Registers, e: Elements, part: dict[str, str], channels: str,
                     more: str) -> None:
        """Of a part of the source that begins at ``part["source"]`` except for the image and the row."""
        above = f.sub(part["first_a"], a.before_a)
        row = f.most(above, 0)
        rows = f.most(f.sub(f.least(a.extent_a, f.add(above, part["rows"])), row), 0)
        place = f.add(f.mul(part["first_image"], a.s_n), f.mul(row, a.s_a))
        self.begin(f, a, "in", e.at(f, part["source"], place), (part["images"], rows, channels), more)


class Walks:
    """Both walks within a tile, of which the states are parameters."""

    PARAMETERS = (("ptr", "%in"), ("ptr", "%out"))

    def __init__(self, f: Function, write: bool) -> None:
        self.walks = Walk(f, "%in"), Walk(f, "%out", write=write)

    def step(self) -> None:
        """Ask for a line of each."""
        for walk in self.walks:
            walk.step()

    def save(self) -> None:
        """Let the next tile go on."""
        for walk in self.walks:
            walk.save()


def pieces(side: str, e: Elements, tensor: Tensor, extents: Three, images: int,
           chunks: int) -> dict[str, Argument]:
    """The arguments of a walk over some rows of an image, of ``chunks`` of it, or over several images."""
    a, b, w = tensor.space
    line = (extents[1] - 1) * b + (extents[2] - 1) * w + 1
    found = _pieces(tensor.batch, tensor.channel, a, line, extents[0], images, chunks)
    return {f"{side}_{name}": n if name in ("each", "runs") else n * e.itemsize
            for name, n in zip(_PIECES, found)}


def written(problem: Problem, zeros: bool) -> tuple[Tensor, Three]:
    """The target as ``pieces`` takes it: phases together, or a line with ``zeros``, leave nothing out."""
    grid, apart = problem.phases[0].grid, problem.positions
    if len(problem.phases) == 1 and not zeros:
        return problem.target._replace(space=apart), grid
    line = apart[0] or apart[2] * grid[2]
    return problem.target._replace(space=(line, 0, 1)), (grid[0], 1, line)


def lines_of(found: Mapping[str, Argument], counts: Three) -> int:
    """About how many lines a walk of ``pieces("in", ...)`` asks for; ``counts``: images, rows, channels."""
    images, rows, channels = counts
    each, runs, _, size, row, channel = (cast(int, found[f"in_{name}"]) for name in _PIECES)
    return _runs(runs + each * channels, images) * ((size + row * rows + channel * channels) // LINE + 1)


@whole
def _runs(runs: int, images: int) -> int:
    return runs or images


_NOTHING = 0, 1, 0, 0, 0, 0


@whole
def _pieces(batch: int, channel: int, a: int, line: int, rows: int, images: int,
            chunks: int) -> tuple[int, int, int, int, int, int]:
    """``batch``, ``channel``, ``a``: how far images, channels and rows are apart; ``line``: a row's span."""
    if rows == 1:
        a = line
    if channel == 1:    # channels are adjacent
        return (0, 1, 0, 0, a, 0) if images == 1 else (0, 0, batch, rows * a, 0, 0)
    dense = channel == rows * a
    if images == 1:
        if 2 * line <= a and chunks == 1 and dense:     # rows are left out
            return rows, 0, a, line, 0, 0
        return 1, 0, channel, 0, a, 0
    return (0, 0, batch, 0, 0, channel) if dense else _NOTHING
