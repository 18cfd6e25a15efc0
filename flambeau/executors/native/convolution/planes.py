"""Plans of convolutions of few channels whose pixels lie side by side; see ``planar.py``."""

from __future__ import annotations

from typing import Any

from ....graph.geometry import Geometry
from ..arguments import Argument, operand, words
from ..llvm.compiling.code import kernel
from ..llvm.compiling.effort import Effort
from ..plan import Call, Plan
from ..quantity import at_once, least, most, whole
from ..vectors import Elements, elements
from .forward import is_merged, tile_for
from .grid import rounded
from .planar import (
    FINISH_NUMBERS,
    FINISH_POINTERS,
    FORWARD_NUMBERS,
    FORWARD_POINTERS,
    WEIGHT_NUMBERS,
    WEIGHT_POINTERS,
    finish_module,
    forward_module,
    rows_and_columns,
    sums_of_tile,
    weight_module,
)
from .problem import Problem, traffic_of

_LEAST = 96             # pixels of a grid: fewer do not fill the columns of tiles
_WIDEST = 1 << 21       # bytes of V of a single line, at most
_FORWARD = 256 << 10    # bytes of V, or of X, of a unit: a part of the second cache
_WEIGHT = 448 << 10     # more, since each unit ends with adding up lanes,
_HELD = 32 << 10        # as long as the rows of dY of a tile, which others read too, stay in the first cache
_FILLING = 4            # the output channels for which products cost as much as filling V,
_FILLING_SUMS = 8       # and for which sums of products do
_RANGES = 16
_TASK = 1e6             # multiply-adds worth a task


def has_planes(problem: Problem, volume: int, dtype: Any) -> bool:
    """Whether pixels of lines, and of the results of an image, lie side by side, and weights too."""
    e = elements(dtype)
    phase, source = problem.phases[0], problem.source
    a, b, w = phase.grid
    return a * b * w >= _LEAST \
        and problem.step[2] * source.space[2] in (1, 2) and source.space[2] == 1 \
        and len(phase.taps) == volume and (problem.ins == 1 or problem.weight.channel == volume) \
        and all(tap.weight == k for k, tap in enumerate(phase.taps)) \
        and problem.positions[2] == 1 and is_merged(problem, None) \
        and problem.ins * volume * w * e.width <= _WIDEST


class _Cut:
    """How the grid is cut into units and tasks, and what a unit's X and V are.

    ``budget``: bytes of V, or of X where V is not filled; ``held``: of a row of it; ``filling``: output
    channels for which products cost as much as filling V.
    """

    def __init__(self, problem: Problem, e: Elements, budget: int, held: int = _WIDEST,
                 filling: int = _FILLING) -> None:
        self.problem, phase, span = problem, problem.phases[0], problem.span
        # The lines of a unit are neighbours in the last dimension but one that there is.
        self.outer, self.line = (1, 0) if problem.extents[1] == phase.grid[1] == 1 else (0, 1)
        self.depth = problem.ins * len(phase.taps)
        self.width, grid = phase.grid[2], phase.grid[self.line]
        self.step = problem.step[2]
        self.x_w = self.width + (span[2] - 1) // self.step
        outs = problem.outs
        self.filled = _is_filled(self.width, e.lanes, outs, filling)
        read = problem.ins * span[self.outer] * problem.step[self.line] * self.step * self.x_w
        line = self.depth * self.width * self.filled + read * (1 - self.filled)
        lines = most(1, least(budget // e.width // line, held // e.width // self.width))
        self.chunks = -(-grid // lines)
        self.lines = -(-grid // self.chunks)
        self.chunks = -(-grid // self.lines)
        units = problem.batch * phase.grid[self.outer] * self.chunks
        self.ranges = least(least(units, _RANGES), at_once(problem.products / problem.groups, _TASK))
        # Rows of V an odd number of vectors apart do not meet in the same sets of the cache.
        self.v_step = rounded(self.lines * self.width + 2 * e.lanes, 2 * e.lanes) + e.lanes
        self.x_rows = (self.lines - 1) * problem.step[self.line] + span[self.line]
        rows = problem.ins * span[self.outer] * self.x_rows
        self.x_size = rounded((rows * self.step * self.x_w + 2 * e.lanes) * e.width, 64)
        self.padded = rounded(self.depth, rows_and_columns()[1])
        self.v_size = self.padded * self.v_step * e.width * self.filled

    def given(self, x: Geometry, number: int, at: int) -> dict[str, Argument]:
        """The arguments that both kernels have; X lies ``at`` a place in the scratch, V behind it."""
        problem, source, target = self.problem, self.problem.source, self.problem.target
        found: dict[str, Argument] = {
            "source": operand(number, x), "s_n": source.batch, "s_group": source.group,
            "s_c": source.channel, "before_w": problem.before[2], "extent_w": problem.extents[2],
            "grid_w": self.width, "lines_each": self.lines, "channels": problem.ins, "depth": self.depth,
            "x_at": at, "x_rows": self.x_rows, "x_w": self.x_w, "v_at": at + self.x_size,
            "v_step": self.v_step, "filled": self.filled, "rows_at": self.padded * self.filled,
            "batch": problem.batch, "groups": problem.groups, "chunks": self.chunks, "ranges": self.ranges,
            "outs": problem.outs, "t_n": target.batch, "t_c": target.channel, "t_group": target.group}
        for name, axis in (("a", self.outer), ("b", self.line)):
            found |= {f"s_{name}": source.space[axis], f"step_{name}": problem.step[axis],
                      f"before_{name}": problem.before[axis], f"extent_{name}": problem.extents[axis],
                      f"span_{name}": problem.span[axis], f"grid_{name}": problem.phases[0].grid[axis]}
        return found

    def table(self) -> list[int]:
        """Where each row of V begins in X, and in V, if it is filled; behind the last one it is the first."""
        problem, outer = self.problem, self.problem.span[self.outer]
        offsets = [tap.offset for tap in problem.phases[0].taps]
        rows = [((c * outer + o[self.outer]) * self.x_rows + o[self.line]) * self.step * self.x_w
                + o[2] % self.step * self.x_w + o[2] // self.step
                for c in range(problem.ins) for o in offsets]
        rows += [0] * (self.padded - self.depth)
        return rows + [self.v_step * k for k in range(self.padded)]


@whole
def _is_filled(width: int, lanes: int, outs: int, filling: int) -> int:
    """Whether V is filled: 1 or 0 (Note: formulas)."""
    return int(rounded(width, lanes) * (outs - filling) >= width * outs)


@kernel("convolve_planes", "convolution_planes", effort=Effort.FEW)
def _convolve(name: str, bias: bool, step: int) -> str:
    e = elements(name)
    return forward_module(e, tile_for(e), bias, step)


@kernel("add_up_planes", "convolution_planes_gradient", effort=Effort.FEW)
def _add_up(name: str, step: int) -> str:
    return weight_module(elements(name), step)


@kernel("finish_planes", "convolution_planes_sum", effort=Effort.FEW)
def _finish(name: str) -> str:
    return finish_module(elements(name))


def forward_plan(problem: Problem, dtype: Any, operands: tuple[Geometry, Geometry, Geometry | None]) -> Plan:
    """The plan of ``convolution``."""
    e = elements(dtype)
    tile = tile_for(e)
    x, weight, bias = operands
    cut = _Cut(problem, e, _FORWARD)
    x_at = rounded(problem.outs, tile.rows) * rounded(cut.depth, e.lanes) * e.width
    given = {**cut.given(x, 0, x_at), "weight": lambda w: w.input(1, weight),
             "bias": operand(2, bias),
             "target": lambda w: w.output(0), "w_out": problem.weight.batch, "w_group": problem.weight.group}
    call = Call(_convolve(e.name, bias is not None, problem.step[2]),
                words(FORWARD_POINTERS, FORWARD_NUMBERS, given, cut.table()), cut.ranges * problem.groups,
                scratch=x_at + cut.x_size + cut.v_size + tile.columns * e.width)
    return Plan([call], flops=2.0 * problem.products, traffic=traffic_of(operands))


def weight_plan(problem: Problem, dtype: Any, grad: Geometry, x: Geometry, result: Geometry) -> Plan:
    """The plan of ``convolution_weight``; the problem is that of the forward convolution."""
    e = elements(dtype)
    rows, columns = rows_and_columns()
    cut = _Cut(problem, e, _WEIGHT, _HELD // rows, _FILLING_SUMS)
    blocks_out = -(-problem.outs // rows)
    sum_range = blocks_out * -(-cut.depth // columns) * sums_of_tile(e)
    given = {**cut.given(x, 1, 0), "grad": lambda w: w.input(0, grad),
             "sums": lambda w: w.workspace(0), "sum_range": sum_range}
    tasks = cut.ranges * problem.groups
    arguments = words(WEIGHT_POINTERS, WEIGHT_NUMBERS, given, cut.table())
    sums = Call(_add_up(e.name, problem.step[2]), arguments, tasks,
                scratch=cut.x_size + cut.v_size)
    ends: dict[str, Argument] = {
        "sums": lambda w: w.workspace(0), "target": lambda w: w.output(0), "ranges": cut.ranges,
        "groups": problem.groups, "sum_range": sum_range, "outs": problem.outs, "depth": cut.depth,
        "blocks_out": blocks_out}
    work = cut.ranges * cut.depth * rows
    total = Call(_finish(e.name), words(FINISH_POINTERS, FINISH_NUMBERS, ends), problem.groups * blocks_out,
                 grain=max(1, (1 << 14) // work))
    return Plan([sums, total], workspace=tasks * sum_range * e.width, flops=2.0 * problem.products,
                traffic=traffic_of((grad, x, result)))
