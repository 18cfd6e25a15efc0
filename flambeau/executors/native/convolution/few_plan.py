"""Plans of convolutions, and of gradients by the input, with few results for each pixel; see ``few.py``."""

from __future__ import annotations

import math
from typing import Any

from ....graph.geometry import Geometry
from ..arguments import Argument, operand, words
from ..llvm.compiling.code import kernel
from ..llvm.compiling.effort import Effort
from ..plan import Call, Plan
from ..products.microkernel import Tile
from ..quantity import at_once, least, whole
from ..vectors import elements
from .few import MOST_VECTORS, NUMBERS, PHASE, POINTERS, few_module, tiles_of
from .forward import tile_for
from .grid import rounded
from .problem import Phase, Problem, Tap, Three, traffic_of

MOST_OUTS = 16              # output channels: more fill vectors of them well enough
_LEAST = 32             # pixels of a grid: fewer do not fill the columns of tiles
_HELD = 320 << 10       # bytes of what a unit reads,
_BUDGET = 160 << 10     # and of M: parts of the second cache
_WIDEST = 1 << 20       # bytes of M for a single line of the grid, at most
_LARGEST = 1 << 30      # pixels of a plane: places in it are numbers of 32 bits
_PIXELS = 256           # of a unit at least: fewer take as long to begin as to compute
_TRIED = 64             # numbers of lines
_RANGES = 16
_TASK = 1e6             # multiply-adds worth a task


def has_few(problem: Problem, dtype: Any) -> bool:
    """Whether there are few output channels, and neighbouring pixels of the source lie side by side."""
    a, b, w = problem.phases[0].grid    # no other phase has a larger one
    if problem.outs > MOST_OUTS or problem.step != (1, 1, 1) or a * b * w < _LEAST \
            or problem.extents[0] * _line(problem) > _LARGEST:
        return False
    problem = _flattened(problem)
    return problem.source.space[0 if _is_merged(problem) else 2] == 1 \
        and _rows(problem) * _line(problem) * elements(dtype).width <= _WIDEST


def reads_dense(problem: Problem) -> bool:
    """Whether lines follow one another in the source, as tiles read them."""
    problem = _flattened(problem)
    return _is_dense(problem.source.space, problem.extents)


def _is_dense(space: Three, extents: Three) -> bool:
    """Whether lines of adjacent elements follow one another."""
    wanted = extents[1] * extents[2], extents[2], 1
    return all(n == 1 or s == apart for n, s, apart in zip(extents, space, wanted))


def _line(problem: Problem) -> int:
    return problem.extents[1] * problem.extents[2]


def _is_merged(problem: Problem) -> bool:
    """Whether lines are of a single pixel, here and in the target: several are delivered as one."""
    return _line(problem) == 1 and all(
        p.grid[1:] == (1, 1) and all(shift == problem.before[1:] for shift in _shifts(p))
        for p in problem.phases)


def _lines(phase: Phase) -> list[int]:
    """The lines that the taps of a phase meet: all equally far apart."""
    return sorted({tap.offset[0] for tap in phase.taps})


def _shifts(phase: Phase) -> list[tuple[int, int]]:
    """And within the lines: rows of the product."""
    return sorted({tap.offset[1:] for tap in phase.taps})


def _rows(problem: Problem) -> int:
    return problem.outs * sum(len(_shifts(phase)) for phase in problem.phases)


def _flattened(problem: Problem) -> Problem:
    """The same with lines of a single pixel: of a signal, or where no tap leaves its own place in a line."""
    (a, b, w), (_, before_b, before_w) = problem.extents, problem.before
    grids = [phase.grid for phase in problem.phases]
    if a == b == 1 and all(grid[:2] == (1, 1) for grid in grids) and problem.span[:2] == (1, 1) \
            and problem.before[:2] == (0, 0):
        return _turned(problem, w, problem.source.space[2], problem.positions[2], before_w, 2, 1)
    if len(grids) == 1 and grids[0][1:] == (b, w) and _shifts(problem.phases[0]) == [(before_b, before_w)] \
            and _is_dense(problem.source.space, problem.extents) and _is_dense(problem.positions, grids[0]):
        return _turned(problem, a * b * w, 1, 1, problem.before[0] * b * w, 0, b * w)
    return problem


def _turned(problem: Problem, extent: int, apart: int, position: int, before: int, along: int,
            times: int) -> Problem:
    """Of the dimension ``along`` alone, of which a step is so many pixels."""
    phases = tuple(
        Phase((math.prod(p.grid), 1, 1), p.target,
              tuple(Tap((tap.offset[along] * times, 0, 0), tap.weight) for tap in p.taps))
        for p in problem.phases)
    return problem._replace(extents=(extent, 1, 1), source=problem.source._replace(space=(apart, 1, 1)),
                            before=(before, 0, 0), phases=phases, positions=(position, 1, position))


@kernel("convolve_few", "convolution_few", effort=Effort.FEW)
def _convolve(name: str, bias: bool, step: int) -> str:
    e = elements(name)
    return few_module(e, tile_for(e), bias, step)


def _cut(problem: Problem, tile: Tile, tasks: int) -> int:
    """The lines of a unit: M fits into the cache, all threads have some, and tiles are full.

    As few as these allow: what a unit reads, and M, are then still in the cache.
    """
    rows = problem.outs * len(_shifts(problem.phases[0]))
    columns = next((t.columns for t in reversed(tiles_of(tile)) if t.rows <= rows), 1)
    return _lines_of_unit(problem.phases[0].grid[0], _line(problem), _rows(problem) * tile.itemsize,
                          -(-tasks // problem.batch), columns)


@whole
def _lines_of_unit(grid: int, line: int, size: int, parts: int, columns: int) -> int:
    """``size``: bytes of M for each pixel; ``parts``: of an image, at least."""
    most = max(1, min(_BUDGET // max(1, size * line), grid // parts))
    fewest = min(most, -(-_PIXELS // line))

    def cost(lines: int) -> tuple[int, int]:
        full, rest = divmod(grid, lines)
        return rounded(lines * line, columns) * full + rounded(rest * line, columns), lines

    return min(range(fewest, most + 1, -(-most // _TRIED)), key=cost)


def _each(problem: Problem, rows: int, itemsize: int) -> int:
    """How many channels a unit reads at a time."""
    most = max(1, _HELD // (itemsize * rows * _line(problem)))
    return -(-problem.ins // -(-problem.ins // most))


def few_plan(problem: Problem, dtype: Any, operands: tuple[Geometry, Geometry, Geometry | None]) -> Plan:
    """The plan of a problem. ``operands``: source, weight and bias."""
    e, problem = elements(dtype), _flattened(problem)
    tile = tile_for(e)
    tasks = least(_RANGES, at_once(problem.products / problem.groups, _TASK))
    grid, line = problem.phases[0].grid[0], _line(problem)
    lines, merged = _cut(problem, tile, tasks), _is_merged(problem)
    x_rows, chunks = lines + problem.span[0] - 1, -(-grid // lines)
    ranges = least(problem.batch * chunks, tasks)
    # Rows an odd number of vectors apart do not meet in the same sets of the cache.
    m_step = rounded(lines * line + MOST_VECTORS * e.lanes, 2 * e.lanes) + e.lanes
    m_phase = problem.outs * max(len(_shifts(phase)) for phase in problem.phases) * m_step
    m_at, table = _table(problem, e.width)
    target, source, positions = problem.target, problem.source, problem.positions
    along = positions[0 if merged else 2]
    x, weight, bias = operands
    given: dict[str, Argument] = {
        "source": lambda w: w.input(0, x), "weight": lambda w: w.input(1, weight),
        "bias": operand(2, bias),
        "target": lambda w: w.output(0), "batch": problem.batch, "groups": problem.groups, "ranges": ranges,
        "chunks": chunks, "lines": lines, "channels": problem.ins,
        "each": _each(problem, x_rows, e.itemsize), "outs": problem.outs, "phases": len(problem.phases),
        "s_n": source.batch, "s_group": source.group, "s_c": source.channel,
        "extent_b": problem.extents[1], "extent_w": problem.extents[2], "merged": int(merged),
        "line": line, "plane": problem.extents[0] * line,
        "w_out": problem.weight.batch, "w_in": problem.weight.channel, "w_group": problem.weight.group,
        "m_at": m_at, "m_phase": m_phase, "m_step": m_step, "t_n": target.batch, "t_group": target.group,
        "t_c": target.channel, "t_a": positions[0], "t_b": positions[1], "t_w": along}
    step = 1 if not merged and all(p.grid[2] == 1 for p in problem.phases) else along
    function = _convolve(e.name, bias is not None, step if step in (1, 2) else 0)
    call = Call(function, words(POINTERS, NUMBERS, given, table), ranges * problem.groups,
                scratch=m_at + len(problem.phases) * m_phase * e.width)
    return Plan([call], flops=2.0 * problem.products, traffic=traffic_of(operands))


def _table(problem: Problem, width: int) -> tuple[int, list[int]]:
    """The bytes of all panels of weights, and phases, each with its lines and shifts."""
    heads: list[int] = []
    tails: list[int] = []
    before, line = 0, _line(problem)
    for phase in problem.phases:
        lines, shifts, at = _lines(phase), _shifts(phase), len(PHASE) * len(problem.phases) + len(tails)
        places = {tap.offset: tap.weight for tap in phase.taps}
        offset = apart = w_line = 0
        if lines:
            offset = (lines[0] - problem.before[0]) * line
        if len(lines) > 1:
            apart = (lines[1] - lines[0]) * line
            w_line = places[(lines[1], *shifts[0])] - places[(lines[0], *shifts[0])]
        for b, w in shifts:
            tails += [b - problem.before[1], w - problem.before[2], places[(lines[0], b, w)]]
        heads += [len(lines), offset, apart, w_line, len(shifts), at, before, phase.target, *phase.grid]
        before += rounded(len(phase.taps) * problem.outs * problem.ins * width, 64)
    return before, heads + tails
