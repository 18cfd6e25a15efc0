"""The units in which convolutions of few channels are computed (``planar.py``): V of some lines of a grid.

First the part of the source that the lines meet is staged, with the zeros of the padding around it:
X[c][a][b], lines of pixels, or for steps of 2 lines of every other pixel, the even ones and the odd ones.
Then any line of V[k], k = (c, tap), is a piece of a line of X, wherever it begins. So vectors are read there,
and V is nowhere, if lines are not much shorter than whole vectors. Else V is filled, its lines one after the
other: copies without conditions.
"""

from __future__ import annotations

from ..arguments import Registers, entry
from ..llvm.build import Function
from ..vectors import Elements, pixels_apart, pixels_between

# Dimension b is that of the unit's lines; the table says where in X each row of V begins, and from the entry
# ``rows_at`` on where the rows that are multiplied do: in V if that is ``filled``.
UNIT_NUMBERS = ("s_n", "s_group", "s_c", "s_a", "s_b", "step_a", "step_b", "before_a", "before_b", "before_w",
                "extent_a", "extent_b", "extent_w", "span_a", "span_b", "grid_a", "grid_b", "grid_w",
                "lines_each", "channels", "depth", "x_at", "x_rows", "x_w", "v_at", "v_step", "filled",
                "rows_at", "batch", "groups", "chunks", "ranges", "outs", "t_n", "t_c", "t_group")


class Units:
    """The loop over a task's units: X is staged, then comes what the ``with`` statement holds.

    ``step``: how far apart the pixels of neighbouring results lie, 1 or 2. ``pixels``: of the unit;
    ``place``: its first one in Y; ``first``: whether it is the task's first unit. Of what is multiplied there
    are ``lines`` of some ``width``, ``apart`` from one another; row k begins at ``rows``, and so many
    elements on as entry k of ``offsets`` says. A filled V is a single line.
    """

    def __init__(self, f: Function, a: Registers, e: Elements, task: str, step: int) -> None:
        self.f, self.a, self.e, self.step = f, a, e, step
        self.group, range_ = f.rem(task, a.groups), f.div(task, a.groups)
        self.x, self.v = f.at(f.scratch, a.x_at, "i8"), f.at(f.scratch, a.v_at, "i8")
        total = f.mul(f.mul(a.batch, a.grid_a), a.chunks)
        self.begin = f.div(f.mul(range_, total), a.ranges)
        self.end = f.div(f.mul(f.add(range_, 1), total), a.ranges)

    def __enter__(self) -> Units:
        f, a = self.f, self.a
        self._loop = f.loop(self.begin, self.end)
        unit = self._loop.__enter__()
        self.first = f.compare("eq", unit, self.begin)
        plane, line = f.div(unit, a.chunks), f.mul(f.rem(unit, a.chunks), a.lines_each)
        image, row = f.div(plane, a.grid_a), f.rem(plane, a.grid_a)
        lines = f.least(a.lines_each, f.sub(a.grid_b, line))
        self.pixels = f.mul(lines, a.grid_w)
        place = f.mul(f.add(f.mul(row, a.grid_b), line), a.grid_w)
        self.place = f.add(f.add(f.mul(image, a.t_n), f.mul(self.group, a.t_group)), place)
        source = f.add(f.mul(image, a.s_n), f.mul(self.group, a.s_group))
        self._stage(self.e.at(f, a.source, source), row, line, lines)
        filled = f.compare("ne", a.filled, 0)
        with f.when(filled):
            self._fill(lines)
        self.rows, self.offsets = f.choose(filled, "ptr", self.v, self.x), f.at(a.table, a.rows_at, "i64")
        self.lines, self.width = (f.choose(filled, "i64", *pair)
                                  for pair in ((1, lines), (self.pixels, a.grid_w)))
        self.apart = f.mul(f.mul(a.x_w, self.step), a.step_b)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.__exit__(None, None, None)

    # Lines are written in the order in which they lie, as whole vectors: what is too much of one is where the
    # next one is written.

    def _stage(self, source: str, row: str, line: str, lines: str) -> None:
        f, a, e = self.f, self.a, self.e
        first_a = f.sub(f.mul(row, a.step_a), a.before_a)
        first_b = f.sub(f.mul(line, a.step_b), a.before_b)
        rows = f.add(f.mul(f.sub(lines, 1), a.step_b), a.span_b)
        with f.loop(0, a.channels) as c, f.loop(0, a.span_a) as i, f.loop(0, rows) as j:
            at_a, at_b = f.add(first_a, i), f.add(first_b, j)
            good = f.emit(f"and i1 {f.compare('ult', at_a, a.extent_a)}, "
                          f"{f.compare('ult', at_b, a.extent_b)}")
            from_ = f.add(f.mul(c, a.s_c), f.add(f.mul(at_a, a.s_a), f.mul(at_b, a.s_b)))
            number = f.add(f.mul(f.add(f.mul(c, a.span_a), i), a.x_rows), j)
            to = f.at(self.x, f.mul(number, f.mul(a.x_w, self.step)), e.element)
            extent = f.choose(good, "i64", a.extent_w, -1 << 40)
            for part in range(self.step):
                stage_line(f, e, e.at(f, source, from_), f.at(to, f.mul(a.x_w, part), e.element),
                           (part, self.step), (a.x_w, a.before_w, extent))

    def _fill(self, lines: str) -> None:
        """V of some lines."""
        f, a, e = self.f, self.a, self.e
        apart = f.mul(f.mul(a.x_w, self.step), a.step_b)
        with f.loop(0, a.depth) as k:
            from_ = f.at(self.x, entry(f, a.table, k), e.element)
            row = f.at(self.v, f.mul(k, a.v_step), e.element)
            with f.loop(0, lines) as i:
                x, y = f.at(from_, f.mul(i, apart), e.element), f.at(row, f.mul(i, a.grid_w), e.element)
                with f.loop(0, a.grid_w, e.lanes) as w:
                    f.write(e.kind, f.read(e.kind, f.at(x, w, e.element), e.width), f.at(y, w, e.element),
                            e.width)


def stage_line(f: Function, e: Elements, source: str, to: str, which: tuple[int, int],
               counts: tuple[str, str, str]) -> None:
    """A line of X: pixels that are some step apart, from a ``part`` on; zeros outside.

    ``which``: the part and the step, 1 or 2; ``counts``: pixels of the line, of the padding before it, and
    of the source, not more than 0 if there is none of it. The line ends with a whole vector.
    """
    part, step = which
    width, before, extent = counts
    n = e.lanes
    with f.loop(0, width, n) as w:
        at = f.sub(f.add(f.mul(w, step), part), before)
        from_, place = e.at(f, source, at), f.at(to, w, e.element)
        inside = f.emit(f"and i1 {f.compare('sge', at, 0)}, "
                        f"{f.compare('slt', f.add(at, step * (n - 1)), extent)}")
        with f.when(inside):
            f.write(e.kind, pixels_apart(f, e, from_, step), place, e.width)
        with f.otherwise(inside):
            low, high = bounds(f, at, extent, step)
            f.write(e.kind, pixels_between(f, e, from_, step, low, high), place, e.width)


def bounds(f: Function, at: str, extent: str, step: int) -> tuple[str, str]:
    """The first and the last of the pixels from ``at`` on, ``step`` apart, that lie in a line."""
    low, high = f.sub(0, at), f.sub(extent, at)
    return (f.emit(f"ashr i64 {f.add(low, step - 1)}, {step - 1}"),
            f.emit(f"ashr i64 {f.add(high, step - 1)}, {step - 1}"))
