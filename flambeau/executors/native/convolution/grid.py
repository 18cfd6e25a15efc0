"""How the grid of results is shared out among tasks, and what the cells of a task read of the source."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..arguments import Argument
from ..quantity import least, most, whole
from .problem import Problem, Three
from .winograd import Winograd


def rounded(n: int, unit: int) -> int:
    """n rounded up to a multiple."""
    return -(-n // unit) * unit


class Share(NamedTuple):
    """What a task takes of the grid: some images whole, or some lines of one."""

    images: int     # of a task
    chunks: int     # of an image
    lines: int      # of a chunk


def share_out(batch: int, grid: Three, wanted: int) -> Share:
    """Tasks of about as many cells as wanted."""
    return Share(*_shared(batch, grid[0], grid[1] * grid[2], wanted))


@whole
def _shared(batch: int, grid: int, line: int, wanted: int) -> tuple[int, int, int]:
    """``grid``: lines of an image, ``line``: cells of one."""
    if grid * line < wanted:
        return images_each(batch, grid * line, wanted), 1, grid
    chunks = -(-grid // max(1, wanted // line))
    lines = -(-grid // chunks)
    return 1, -(-grid // lines), lines


def images_each(batch: int, cells: int, wanted: int) -> int:
    """How many images a task takes: about as many cells as wanted, and so that tasks share out evenly."""
    def cost(images: int) -> tuple[float, int]:
        tasks = -(-batch // images)
        return rounded(tasks, 4) * images if tasks > 2 else 2 * batch, abs(images * cells - wanted)
    most = max(1, min(batch, 3 * wanted // (2 * cells)))
    return min(range(max(1, min(most, wanted // (2 * cells))), most + 1), key=cost)


class Window(NamedTuple):
    """The part of the source that the cells of a task read, with the zeros around it."""

    extents: Three
    left: int       # zeros of a line,
    first: int      # the pixel that comes then,
    middle: int     # and how many follow from there
    dense: int      # its lines have no zeros, and follow one another in the source as well

    @property
    def pixels(self) -> int:
        """How many there are."""
        return math.prod(self.extents)

    def words(self, problem: Problem) -> dict[str, Argument]:
        """The arguments that tell a kernel how to stage it."""
        source, (_, b, w) = problem.source, self.extents
        return {
            "s_n": source.batch, "s_c": source.channel, "s_group": source.group, "channels": problem.ins,
            "s_a": source.space[0], "s_b": source.space[1], "s_w": source.space[2],
            "extent_a": problem.extents[0], "extent_b": problem.extents[1],
            "before_a": problem.before[0], "before_b": problem.before[1],
            "left": self.left, "middle": self.middle, "right": w - self.left - self.middle,
            "first": self.first, "x_n": self.pixels, "x_a": b * w, "x_b": w, "x_rows_b": b,
            "span_a": problem.span[0], "dense": self.dense,
            "step_a": problem.step[0], "step_b": problem.step[1], "step_w": problem.step[2]}


def follow(width: int, space: Three) -> bool:
    """Whether lines of pixels follow one another; a single pixel counts as one beside others."""
    return space[0] == (width * space[2] if width > 1 else 1)


def window_of(problem: Problem, grid: Three, lines: int, winograd: Winograd | None) -> Window:
    """What some lines of the grid read."""
    span, step, before = problem.span, problem.step, problem.before[2]
    a, b, w = ((n - 1) * step[d] + span[d] for d, n in enumerate((lines, grid[1], grid[2])))
    if winograd:
        a, w = (winograd.apart * (n - 1) + winograd.extent for n in (lines // winograd.results, grid[2]))
    left, first = least(max(before, 0), w), max(-before, 0)
    middle = most(0, least(w - left, problem.extents[2] - first))
    # Beyond the last line, where Winograd's tiles may reach as well, there must be zeros.
    dense = 0
    if winograd is None and before == problem.before[0] == 0 and b == 1:
        space, rows = problem.source.space, (grid[0] - 1) * step[0] + span[0]
        dense = _lies_dense(w, middle, rows, problem.extents[0], space[0], space[2])
    return Window((a, b, w), left, first, middle, dense)


@whole
def _lies_dense(w: int, middle: int, rows: int, extent: int, line: int, pixel: int) -> int:
    """Whether what is read is there, of lines and pixels that are so far apart (1 or 0: Note: formulas)."""
    return int(middle == w and rows <= extent and follow(w, (line, 0, pixel)))
