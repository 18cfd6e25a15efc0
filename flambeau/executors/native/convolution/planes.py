"""Plans of convolutions of few channels whose pixels lie side by side; see ``planar.py``."""

from __future__ import annotations

from typing import Any

from ....graph.geometry import Geometry
from ..llvm.code import kernel
from ..llvm.effort import Effort
from ..plan import Call, Plan
from .arguments import Argument, words
from .forward import elements, is_merged, narrow_taps, rounded, tile_for
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
    weight_module,
)
from .problem import Problem
from .vectors import Elements

_LEAST = 96             # pixels of a grid: fewer do not fill the columns of tiles
_WIDEST = 1 << 21       # bytes of V of a single line, at most
_FORWARD = 256 << 10    # bytes of V of a unit: a part of the second cache
_WEIGHT = 448 << 10     # more, since each unit ends with adding up lanes
_RANGES = 16
_TASK = 1e6             # multiply-adds worth a task


def has_planes(problem: Problem, volume: int, dtype: Any) -> bool:
    """Whether pixels of lines, and of the results of an image, lie side by side, and weights too."""
    e = elements(dtype)
    phase, source = problem.phases[0], problem.source
    a, b, w = phase.grid
    return e.itemsize == e.width and a * b * w >= _LEAST \
        and problem.step[2] * source.space[2] in (1, 2) and source.space[2] == 1 \
        and len(phase.taps) == volume and (problem.ins == 1 or problem.weight.channel == volume) \
        and all(tap.weight == k for k, tap in enumerate(phase.taps)) \
        and problem.positions[2] == 1 and is_merged(problem, None) \
        and problem.ins * volume * w * e.width <= _WIDEST


class _Cut:
    """How the grid is cut into units and tasks."""

    def __init__(self, problem: Problem, e: Elements, budget: int) -> None:
        phase = problem.phases[0]
        self.depth = problem.ins * len(phase.taps)
        self.width = phase.grid[2]
        self.all_lines = phase.grid[0] * phase.grid[1]
        most = max(1, budget // (self.depth * e.width) // self.width)
        self.chunks = -(-self.all_lines // most)
        self.lines = -(-self.all_lines // self.chunks)
        self.chunks = -(-self.all_lines // self.lines)
        units = problem.batch * self.chunks
        self.ranges = max(1, min(units, _RANGES, int(problem.products / problem.groups / _TASK)))
        # Rows of V an odd number of vectors apart do not meet in the same sets of the cache.
        self.v_step = rounded(self.lines * self.width + 2 * e.lanes, 2 * e.lanes) + e.lanes

    def given(self, problem: Problem, x: Geometry, operand: int, v_at: int) -> dict[str, Argument]:
        """The arguments that both kernels have."""
        source, target, step = problem.source, problem.target, problem.step
        return {
            "source": lambda w: w.input(operand, x),
            "s_n": source.batch, "s_a": source.space[0], "s_b": source.space[1], "s_group": source.group,
            "step_a": step[0], "step_b": step[1],
            "before_a": problem.before[0], "before_b": problem.before[1],
            "extent_a": problem.extents[0], "extent_b": problem.extents[1],
            "grid_b": problem.phases[0].grid[1], "grid_w": self.width,
            "lines": self.all_lines, "lines_each": self.lines, "depth": self.depth,
            "v_at": v_at, "v_step": self.v_step, "batch": problem.batch, "groups": problem.groups,
            "chunks": self.chunks, "ranges": self.ranges, "outs": problem.outs, "t_n": target.batch,
            "t_c": target.channel, "t_group": target.group}


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
    v_at = rounded(problem.outs, tile.rows) * rounded(cut.depth, e.lanes) * e.width
    given = {**cut.given(problem, x, 0, v_at), "weight": lambda w: w.input(1, weight),
             "bias": (lambda w: w.input(2, bias)) if bias is not None else (lambda w: w.constant(0)),
             "target": lambda w: w.output(0), "w_out": problem.weight.batch, "w_group": problem.weight.group}
    table = narrow_taps(problem, problem.phases[0], cut.depth)
    call = Call(_convolve(e.name, bias is not None, problem.step[2]),
                words(FORWARD_POINTERS, FORWARD_NUMBERS, given, table), cut.ranges * problem.groups,
                scratch=v_at + (cut.depth * cut.v_step + tile.columns) * e.width)
    moved = sum(g.numel * g.dtype.itemsize for g in operands if g is not None)
    return Plan([call], flops=2.0 * problem.products, traffic=float(2 * moved))


def weight_plan(problem: Problem, dtype: Any, grad: Geometry, x: Geometry, result: Geometry) -> Plan:
    """The plan of ``convolution_weight``; the problem is that of the forward convolution."""
    e = elements(dtype)
    rows, columns = rows_and_columns(e)
    cut = _Cut(problem, e, _WEIGHT)
    blocks_out = -(-problem.outs // rows)
    sum_range = blocks_out * -(-cut.depth // columns) * e.lanes
    given = {**cut.given(problem, x, 1, 0), "grad": lambda w: w.input(0, grad),
             "sums": lambda w: w.workspace(0), "sum_range": sum_range}
    table = narrow_taps(problem, problem.phases[0], cut.depth)
    tasks = cut.ranges * problem.groups
    sums = Call(_add_up(e.name, problem.step[2]), words(WEIGHT_POINTERS, WEIGHT_NUMBERS, given, table), tasks,
                scratch=rounded(cut.depth, columns) * cut.v_step * e.width)
    ends: dict[str, Argument] = {
        "sums": lambda w: w.workspace(0), "target": lambda w: w.output(0), "ranges": cut.ranges,
        "groups": problem.groups, "sum_range": sum_range, "outs": problem.outs, "depth": cut.depth,
        "blocks_out": blocks_out}
    work = cut.ranges * cut.depth * rows
    total = Call(_finish(e.name), words(FINISH_POINTERS, FINISH_NUMBERS, ends), problem.groups * blocks_out,
                 grain=max(1, (1 << 14) // work))
    moved = (grad.numel + x.numel + result.numel) * e.itemsize
    return Plan([sums, total], workspace=tasks * sum_range * e.width, flops=2.0 * problem.products,
                traffic=float(2 * moved))
