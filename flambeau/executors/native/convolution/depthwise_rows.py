"""Depthwise convolutions, and their gradients, of planes whose pixels lie side by side.

Forward and of the gradient by the input, a task is a plane: a group of an image. Some lines of it are staged
with the zeros of the padding around them (as in ``planar_units.py``, for steps of 2 the even pixels and the
odd ones), so that nothing is masked but what is written. A tile is a vector of results in each of several
lines; for each column of the kernel, every line of X is read once, for all rows of the kernel that meet it:

    Y[r][w] += W[row][column] X[r * step + row][w + column]

Of the gradient by the weight a task is an output channel, in all images; of each element of the kernel a
vector of sums is kept, and those of a column are in registers while a plane is passed.
"""

from __future__ import annotations

from typing import Any

from ....graph.geometry import Geometry
from ..arguments import Argument, Registers, entry, operand, registers, words
from ..llvm.build import Function, Module, Value
from ..llvm.compiling.code import kernel
from ..llvm.compiling.effort import Effort
from ..llvm.compiling.machine import LINE
from ..plan import Call, Plan
from ..products.choosing import get_threads
from ..quantity import whole
from ..vectors import Elements, elements, masks_between, pixels_masked
from .depthwise import write_neighbours
from .grid import rounded
from .planar_units import bounds, stage_line
from .problem import Problem

POINTERS = ("source", "weight", "bias", "target")
NUMBERS = ("batch", "inner", "outs", "lines", "grid", "columns", "phases", "s_n", "s_group", "s_a",
           "extent_a", "extent_w", "before_a", "before_w", "x_w", "x_at", "w_group", "w_out",
           "t_n", "t_group", "t_c", "t_a", "t_w")
# Entries of a phase in the table; ``places``: where each element of the kernel lies, column by column, or -1.
PHASE = ("grid_a", "grid_w", "target", "places")
_LINES = 4              # of a tile
_AHEAD = 4096           # bytes behind lines of the source that are asked for
_TALLEST = 7            # rows of the kernel
_SHORT = 32             # pixels of a line up to which it is short
_BUDGET = 64 << 10      # bytes of X
_TASK = 1 << 14         # multiply-adds worth a task
_PLANES = 16            # of one, where there are so many tasks for each thread
_THREAD_TASKS = 8


def rows_module(e: Elements, rows: int, steps: tuple[int, int], bias: bool, apart: int) -> str:
    """Code of ``depthwise_rows``: kernels of so many rows; ``steps``: of lines and of pixels of the source.

    ``apart``: how far apart neighbouring results lie, 1 or 2.
    """
    module = Module()
    tiles = [_tile(module, e, lines, rows, steps, apart) for lines in (_LINES, 1)]
    with module.kernel("depthwise_rows") as f:
        a = registers(f, POINTERS, NUMBERS)
        x = f.at(f.scratch, a.x_at, "i8")
        with f.loop(f.begin, f.end) as plane, f.loop(0, a.grid, a.lines) as first:
            image, group = f.div(plane, a.inner), f.rem(plane, a.inner)
            source = e.at(f, a.source, f.add(f.mul(image, a.s_n), f.mul(group, a.s_group)))
            _stage(f, a, e, source, x, first, rows, steps, _AHEAD)
            with f.loop(0, a.phases) as number, f.loop(0, a.outs) as out:
                head = f.at(a.table, f.add(a.columns, f.mul(number, len(PHASE))), "i64")
                phase = Registers({name: entry(f, head, k) for k, name in enumerate(PHASE)})
                weight = f.add(f.mul(group, a.w_group), f.mul(out, a.w_out))
                _pack(f, a, e, e.at(f, a.weight, weight), f.at(a.table, phase.places, "i64"), rows)
                added = "0.0"
                if bias:
                    added = e.read_one(f, e.at(f, a.bias, f.add(f.mul(group, a.outs), out)))
                start = f.add(f.add(f.mul(image, a.t_n), f.mul(group, a.t_group)),
                              f.add(f.mul(out, a.t_c), phase.target))
                y = e.at(f, a.target, f.add(start, f.mul(first, a.t_a)))
                lines = f.most(f.least(a.lines, f.sub(phase.grid_a, first)), 0)
                more = f.compare("slt", f.add(plane, 1), f.end)
                ahead = f.choose(more, "i64", f.mul(a.t_group, e.width), 0)
                _lines(f, a, e, tiles, (x, y, added, ahead), lines, phase.grid_w, steps)
    return module.text()


def _stage(f: Function, a: Registers, e: Elements, source: str, x: str, first: str, rows: int,
           steps: tuple[int, int], ahead: Value) -> None:
    """X for the lines of results from ``first`` on. Long lines come as they lie in memory.

    Those so many bytes ``ahead`` are asked for: masked vectors teach processors no pattern.
    """
    start, later = f.sub(f.mul(first, steps[0]), a.before_a), f.behind(source, ahead)
    count = f.add(f.mul(f.sub(f.least(a.lines, f.sub(a.grid, first)), 1), steps[0]), rows)
    long = f.compare("sgt", a.x_w, _SHORT)
    with f.when(long), f.loop(0, count) as i:
        at = f.add(start, i)
        extent = f.choose(f.compare("ult", at, a.extent_a), "i64", a.extent_w, -1 << 40)
        with f.loop(0, a.extent_w, LINE // e.itemsize) as w:
            f.prefetch(e.at(f, later, f.add(f.mul(at, a.s_a), w)), 2)
        line = f.at(x, f.mul(i, f.mul(a.x_w, steps[1])), e.element)
        for part in range(steps[1]):
            stage_line(f, e, e.at(f, source, f.mul(at, a.s_a)), f.at(line, f.mul(a.x_w, part), e.element),
                       (part, steps[1]), (a.x_w, a.before_w, extent))
    with f.otherwise(long):
        for part in range(steps[1]):
            _stage_short(f, a, e, (source, x, later), start, count, (part, steps[1]))


def _stage_short(f: Function, a: Registers, e: Elements, pointers: tuple[str, str, str], start: str,
                 count: str, which: tuple[int, int]) -> None:
    """A vector of pixels in all lines, then the next: which lanes are inside is known once."""
    (source, x, later), (part, step) = pointers, which
    with f.loop(0, a.x_w, e.lanes) as w:
        at = f.sub(f.add(f.mul(w, step), part), a.before_w)
        low, high = bounds(f, at, a.extent_w, step)
        masks = masks_between(f, e, step, low, high)
        with f.loop(0, count) as i:
            line = f.add(start, i)
            good = f.compare("ult", line, a.extent_a)
            some = [f.choose(good, f"<{e.lanes} x i1>", mask, "zeroinitializer") for mask in masks]
            from_ = f.add(f.mul(line, a.s_a), at)
            f.prefetch(e.at(f, e.at(f, later, from_), part * e.lanes), 2)
            value = pixels_masked(f, e, e.at(f, source, from_), step, some)
            place = f.add(f.mul(f.add(f.mul(i, step), part), a.x_w), w)
            f.write(e.kind, value, f.at(x, place, e.element), e.width)


def _pack(f: Function, a: Registers, e: Elements, weight: str, places: str, rows: int) -> None:
    """The kernel's elements at the beginning of the scratch, column by column."""
    with f.loop(0, f.mul(a.columns, rows)) as k:
        place, to = entry(f, places, k), f.at(f.scratch, k, e.element)
        exists = f.compare("sge", place, 0)
        with f.when(exists):
            f.write(e.element, e.read_one(f, e.at(f, weight, place)), to, e.width)
        with f.otherwise(exists):
            f.write(e.element, "0.0", to, e.width)


def _lines(f: Function, a: Registers, e: Elements, tiles: list[Function], at: tuple[str, str, str, str],
           lines: str, width: str, steps: tuple[int, int]) -> None:
    x, y, added, ahead = at
    apart = f.mul(a.x_w, steps[1])
    # The last vector of a line overlaps the one before, which spares a mask: the same results once more.
    last = f.most(f.sub(width, e.lanes), 0)
    # Two or three lines are a tile of which the others are not written.
    single = f.emit(f"zext i1 {f.compare('eq', f.rem(lines, _LINES), 1)} to i64")
    whole = f.sub(lines, single)
    for tile, start, stop, count in ((tiles[0], "0", whole, _LINES), (tiles[1], whole, lines, 1)):
        with f.loop(start, stop, count) as line, f.loop(0, width, e.lanes) as following:
            w = f.least(following, last)
            from_ = f.add(f.mul(f.mul(line, steps[0]), apart), w)
            to = e.at(f, y, f.add(f.mul(line, a.t_a), f.mul(w, a.t_w)))
            f.run(tile, f.at(x, from_, e.element), apart, f.scratch, a.table, a.columns, to, a.t_a,
                  f.sub(lines, line), f.sub(width, w), added, ahead)


def _tile(module: Module, e: Elements, lines: int, rows: int, steps: tuple[int, int], apart: int) -> Function:
    """A vector of results in each of some lines.

    What the next plane's overwrite, so many bytes ``ahead``, is asked for: parts of lines are written one by
    one, and each that comes from memory would be waited for.
    """
    parameters = [("ptr noalias", "%x"), ("i64", "%apart"), ("ptr noalias", "%w"),
                  ("ptr noalias", "%offsets"), ("i64", "%columns"), ("ptr noalias", "%y"), ("i64", "%t_a"),
                  ("i64", "%lines"), ("i64", "%count"), (e.element, "%added"), ("i64", "%ahead")]
    with module.helper(f"tile{lines}", parameters) as f:
        first = f.splat("%added", e.lanes, e.element)
        totals = [f.variable(e.kind, first) for _ in range(lines)]
        with f.loop(0, "%columns") as column:
            at = f.at("%x", entry(f, "%offsets", column), e.element)
            w = f.at("%w", f.mul(column, rows), e.element)
            factors = [f.splat(f.read(e.element, f.at(w, k, e.element), e.width), e.lanes, e.element)
                       for k in range(rows)]
            for i in range((lines - 1) * steps[0] + rows):
                value = f.read(e.kind, f.at(at, f.mul("%apart", i), e.element), e.width)
                for k, factor in enumerate(factors):
                    line, rest = divmod(i - k, steps[0])
                    if rest == 0 and 0 <= line < lines:
                        total = totals[line]
                        total.set(f.fma(e.kind, value, factor, total.get()))
        places = [e.at(f, "%y", f.mul("%t_a", i)) for i in range(lines)]
        for to in places:
            for part in range(apart):
                f.prefetch(f.behind(e.at(f, to, part * e.lanes), "%ahead"), 2, write=True)
        whole = f.emit(f"and i1 {f.compare('sge', '%lines', lines)}, {f.compare('sge', '%count', e.lanes)}")
        with f.when(whole):
            for total, to in zip(totals, places):
                if apart == 1:
                    e.write(f, total.get(), to)
                else:
                    write_neighbours(f, e, total.get(), to, "%count", apart)
        with f.otherwise(whole):
            for i, (total, to) in enumerate(zip(totals, places)):
                count = f.choose(f.compare("sgt", "%lines", i), "i64", "%count", 0)
                write_neighbours(f, e, total.get(), to, count, apart)
    return f


def weight_module(e: Elements, rows: int, steps: tuple[int, int]) -> str:
    """Code of ``depthwise_rows_weight``; the target's strides are those of the gradient, ``weight``."""
    module = Module()
    tiles = [_sums(module, e, lines, rows, steps) for lines in (_LINES, 1)]
    with module.kernel("depthwise_rows_weight") as f:
        a = registers(f, POINTERS, NUMBERS)
        x, apart = f.at(f.scratch, a.x_at, "i8"), f.mul(a.x_w, steps[1])
        width = entry(f, f.at(a.table, a.columns, "i64"), PHASE.index("grid_w"))
        with f.loop(f.begin, f.end) as channel:
            group, out = f.div(channel, a.outs), f.rem(channel, a.outs)
            with f.loop(0, f.mul(a.columns, rows)) as k:
                f.write(e.kind, "zeroinitializer", f.at(f.scratch, f.mul(k, e.lanes), e.element))
            with f.loop(0, a.batch) as image, f.loop(0, a.grid, a.lines) as first:
                source = f.add(f.mul(image, a.s_n), f.mul(group, a.s_group))
                following = f.compare("slt", f.add(image, 1), a.batch)
                ahead = f.choose(following, "i64", f.mul(a.s_n, e.itemsize), 0)
                _stage(f, a, e, e.at(f, a.source, source), x, first, rows, steps, ahead)
                start = f.add(f.add(f.mul(image, a.t_n), f.mul(group, a.t_group)),
                              f.add(f.mul(out, a.t_c), f.mul(first, a.t_a)))
                grad, lines = e.at(f, a.weight, start), f.least(a.lines, f.sub(a.grid, first))
                whole = f.emit(f"and i64 {lines}, {-_LINES}")
                for tile, begin, end in ((tiles[0], "0", whole), (tiles[1], whole, lines)):
                    with f.loop(0, a.columns) as column:
                        at = f.at(x, f.add(entry(f, a.table, column), f.mul(f.mul(begin, steps[0]), apart)),
                                  e.element)
                        sums = f.at(f.scratch, f.mul(column, rows * e.lanes), e.element)
                        f.run(tile, at, apart, e.at(f, grad, f.mul(begin, a.t_a)), a.t_a, sums,
                              f.sub(end, begin), width)
            with f.loop(0, a.columns) as column, f.loop(0, rows) as row:
                sums = f.at(f.scratch, f.mul(f.add(f.mul(column, rows), row), e.lanes), e.element)
                place = f.add(f.mul(f.mul(channel, a.columns), rows), f.add(f.mul(row, a.columns), column))
                e.write_one(f, f.total(e.kind, f.read(e.kind, sums)), e.at(f, a.target, place))
    return module.text()


def _sums(module: Module, e: Elements, lines: int, rows: int, steps: tuple[int, int]) -> Function:
    """The sums of a column of the kernel, for some lines at a time."""
    parameters = [("ptr noalias", "%x"), ("i64", "%apart"), ("ptr noalias", "%g"), ("i64", "%g_a"),
                  ("ptr noalias", "%sums"), ("i64", "%lines"), ("i64", "%width")]
    with module.helper(f"sums{lines}", parameters) as f:
        places = [f.at("%sums", k * e.lanes, e.element) for k in range(rows)]
        totals = [f.variable(e.kind, f.read(e.kind, place)) for place in places]
        with f.loop(0, "%lines", lines) as line, f.loop(0, "%width", e.lanes) as w:
            mask = f.first_lanes(f.sub("%width", w), e.lanes)
            grads = [e.read(f, e.at(f, "%g", f.add(f.mul(f.add(line, i), "%g_a"), w)), mask)
                     for i in range(lines)]
            at = f.at("%x", f.add(f.mul(f.mul(line, steps[0]), "%apart"), w), e.element)
            for i in range((lines - 1) * steps[0] + rows):
                # Masked: a zero times what is not finite would be NaN.
                value = f.read_masked(e.kind, f.at(at, f.mul("%apart", i), e.element), mask, e.width)
                for k, total in enumerate(totals):
                    number, rest = divmod(i - k, steps[0])
                    if rest == 0 and 0 <= number < lines:
                        total.set(f.fma(e.kind, value, grads[number], total.get()))
        for place, total in zip(places, totals):
            f.write(e.kind, total.get(), place)
    return f


# --- plans --------------------------------------------------------------------------------------------------

@kernel("depthwise_rows", effort=Effort.FEW)
def _code(name: str, rows: int, steps: tuple[int, int], bias: bool, apart: int) -> str:
    return rows_module(elements(name), rows, steps, bias, apart)


@kernel("depthwise_rows_weight", effort=Effort.FEW)
def _weight_code(name: str, rows: int, steps: tuple[int, int]) -> str:
    return weight_module(elements(name), rows, steps)


def has_rows(problem: Problem) -> bool:
    """Whether there are planes with pixels side by side, and a kernel of few rows."""
    (a, b, w), source = problem.step, problem.source
    return problem.extents[1] == problem.phases[0].grid[1] == problem.span[1] == b == 1 \
        and problem.before[1] == 0 and source.space[2] == 1 and max(a, w) <= 2 \
        and problem.span[0] <= _TALLEST and problem.positions[2] in (1, 2)


class _Cut:
    """How many lines of results are computed at a time, and their X."""

    def __init__(self, problem: Problem, e: Elements) -> None:
        step_a, _, step_w = problem.step
        rows, _, reach = problem.span
        grid, _, width = problem.phases[0].grid     # no other phase has a larger one
        self.columns = sorted({tap.offset[2] for phase in problem.phases for tap in phase.taps} or {0})
        self.x_w = rounded(width + (reach - 1) // step_w, e.lanes)
        self.lines = max(1, min(grid, (_BUDGET // (self.x_w * step_w * e.width) - rows) // step_a + 1))
        self.size = (((self.lines + _LINES) * step_a + rows) * self.x_w * step_w + 2 * e.lanes) * e.width
        self.offsets = [o % step_w * self.x_w + o // step_w for o in self.columns]

    def table(self, problem: Problem) -> list[int]:
        """Offsets of columns in X, phases, and places in the weight."""
        head, tails = [*self.offsets], list[int]()
        for phase in problem.phases:
            places = {tap.offset: tap.weight for tap in phase.taps}
            at = len(self.offsets) + len(PHASE) * len(problem.phases) + len(tails)
            head += [phase.grid[0], phase.grid[2], phase.target, at]
            tails += [places.get((row, 0, column), -1) for column in self.columns
                      for row in range(problem.span[0])]
        return head + tails

    def given(self, problem: Problem, x_at: int) -> dict[str, Argument]:
        """The arguments except for the pointers."""
        source, target, positions = problem.source, problem.target, problem.positions
        return {"batch": problem.batch, "inner": problem.groups, "outs": problem.outs, "lines": self.lines,
                "grid": problem.phases[0].grid[0], "columns": len(self.columns),
                "phases": len(problem.phases), "s_n": source.batch, "s_group": source.group,
                "s_a": source.space[0], "extent_a": problem.extents[0], "extent_w": problem.extents[2],
                "before_a": problem.before[0], "before_w": problem.before[2], "x_w": self.x_w, "x_at": x_at,
                "w_group": problem.weight.group, "w_out": problem.weight.batch, "t_n": target.batch,
                "t_group": target.group, "t_c": target.channel, "t_a": positions[0], "t_w": positions[2]}


def rows_plan(problem: Problem, dtype: Any, source: Geometry, weight: Geometry,
              bias: Geometry | None) -> Plan:
    """The plan of ``convolution`` or ``convolution_input`` with one input channel in each group."""
    e = elements(dtype)
    cut, rows, planes = _Cut(problem, e), problem.span[0], problem.batch * problem.groups
    x_at = rounded(len(cut.columns) * rows * e.width, 64)
    given = {**cut.given(problem, x_at), "source": lambda w: w.input(0, source),
             "weight": lambda w: w.input(1, weight), "target": lambda w: w.output(0),
             "bias": operand(2, bias)}
    function = _code(e.name, rows, (problem.step[0], problem.step[2]), bias is not None, problem.positions[2])
    call = Call(function, words(POINTERS, NUMBERS, given, cut.table(problem)), planes,
                grain=_grain(planes, problem.products, get_threads()), scratch=x_at + cut.size)
    return Plan([call], flops=2.0 * problem.products, traffic=2.0 * source.numel * e.itemsize)


@whole
def _grain(planes: int, products: int, threads: int) -> int:
    """How many planes are taken at once: of the first one nothing has been read ahead."""
    return max(1, _TASK * planes // max(1, products), min(_PLANES, planes // (_THREAD_TASKS * threads)))


def has_weight_rows(problem: Problem, volume: int) -> bool:
    """Whether gradients lie side by side too, and all of the kernel, without gaps."""
    return has_rows(problem) and problem.positions[2] == 1 \
        and problem.span[0] * problem.span[2] == volume == len(problem.phases[0].taps)


def rows_weight_plan(problem: Problem, dtype: Any, grad: Geometry, x: Geometry) -> Plan:
    """The plan of ``convolution_weight`` with one input channel in each group."""
    e = elements(dtype)
    cut, rows, channels = _Cut(problem, e), problem.span[0], problem.groups * problem.outs
    x_at = len(cut.columns) * rows * e.lanes * e.width
    given = {**cut.given(problem, x_at), "source": lambda w: w.input(1, x),
             "weight": lambda w: w.input(0, grad), "target": lambda w: w.output(0),
             "bias": 0}
    function = _weight_code(e.name, rows, (problem.step[0], problem.step[2]))
    call = Call(function, words(POINTERS, NUMBERS, given, cut.table(problem)), channels,
                grain=max(1, _TASK * channels // max(1, problem.products)), scratch=x_at + cut.size)
    return Plan([call], flops=2.0 * problem.products, traffic=2.0 * x.numel * e.itemsize)
