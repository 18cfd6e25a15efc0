"""Plans of convolutions, and of gradients by the input, with few results for each pixel; see ``few.py``."""

from __future__ import annotations

from typing import Any

from ....graph.geometry import Geometry
from ..arguments import Argument, words
from ..llvm.code import kernel
from ..llvm.effort import Effort
from ..plan import Call, Plan
from ..products.microkernel import Tile
from ..vectors import elements
from .ahead import pieces
from .few import MOST_VECTORS, NUMBERS, PHASE, POINTERS, few_module, tiles_of
from .forward import tile_for
from .grid import rounded
from .problem import Problem, Three

MOST_OUTS = 16              # output channels: more fill vectors of them well enough
_LEAST = 32             # pixels of a grid: fewer do not fill the columns of tiles
_HELD = 24 << 10        # bytes of X: a part of the first cache
_BUDGET = 256 << 10     # bytes of M of a unit: a part of the second cache
_WIDEST = 1 << 21       # bytes of X for a single line of the grid, all channels together, at most
_MOST_CHUNKS = 32       # of an image that are tried
_RANGES = 16
_TASK = 1e6             # multiply-adds worth a task
# What it costs to stage a vector, and to add to one of M, in multiply-adds of a vector.
_STAGING, _ADDING = 10.0, 8.0


def has_few(problem: Problem, dtype: Any) -> bool:
    """Whether there are few output channels, and pixels of lines of the source lie side by side."""
    a, b, w = problem.phases[0].grid    # no other phase has a larger one
    return problem.outs <= MOST_OUTS and problem.source.space[2] == 1 and problem.step == (1, 1, 1) \
        and a * b * w >= _LEAST and _Cut(problem, 1, problem.span).size * elements(dtype).width <= _WIDEST


class _Cut:
    """Lines of X of a unit, and what they take."""

    def __init__(self, problem: Problem, lines: int, span: Three) -> None:
        grid = problem.phases[0].grid
        self.lines = lines
        self.rows = lines + span[0] - 1
        self.rows_b = grid[1] + span[1] - 1
        self.width = grid[2] + span[2] - 1
        self.pixels = lines * self.rows_b * self.width
        self.channel = self.rows * self.rows_b * self.width + span[2]
        self.size = problem.ins * self.channel
        self.ins = problem.ins

    def each(self, width: int) -> int:
        """Channels that X has at a time."""
        most = max(1, _HELD // width // self.channel)
        return -(-self.ins // -(-self.ins // most))


@kernel("convolve_few", "convolution_few", effort=Effort.FEW)
def _convolve(name: str, bias: bool, step: int) -> str:
    e = elements(name)
    return few_module(e, tile_for(e), bias, step)


def _cut(problem: Problem, tile: Tile) -> _Cut:
    """The lines of a unit that cost least for each line of the grid.

    Few of them are staged again and again, many leave room for few channels in X.
    """
    taps, grid, size = sum(len(p.taps) for p in problem.phases), problem.phases[0].grid[0], tile.itemsize
    rows, span = problem.outs * len(problem.phases), problem.span
    columns = next(t.columns for t in tiles_of(tile) if t.rows >= min(problem.outs, tile.rows))

    def cost(cut: _Cut) -> float:
        pixels = rounded(cut.pixels, columns)
        adding = _ADDING * rows * pixels / cut.each(size)
        return (taps * problem.outs * pixels + _STAGING * cut.channel + adding) * -(-grid // cut.lines)

    least = -(-grid // max(1, _BUDGET // size // (rows * _Cut(problem, 1, span).pixels)))
    chunks = range(least, max(least, min(grid, _MOST_CHUNKS)) + 1)
    return min((_Cut(problem, -(-grid // n), span) for n in chunks), key=cost)


def few_plan(problem: Problem, dtype: Any, operands: tuple[Geometry, Geometry, Geometry | None]) -> Plan:
    """The plan of a problem. ``operands``: source, weight and bias."""
    e = elements(dtype)
    tile = tile_for(e)
    cut = _cut(problem, tile)
    each = cut.each(e.width)
    chunks = -(-problem.phases[0].grid[0] // cut.lines)
    ranges = max(1, min(problem.batch * chunks, _RANGES, int(problem.products / problem.groups / _TASK)))
    panel = rounded(problem.outs, tile.rows) * problem.ins * e.width
    x_at = rounded(panel * sum(len(phase.taps) for phase in problem.phases), 64)
    spare = MOST_VECTORS * e.lanes + cut.width     # what tiles read and write behind the last pixel
    x_size = each * cut.channel + cut.rows_b * cut.width * problem.span[0] + spare
    m_at = x_at + rounded(x_size * e.width, 64)
    # Rows an odd number of vectors apart do not meet in the same sets of the cache.
    m_step = rounded(cut.pixels + spare, 2 * e.lanes) + e.lanes
    m_phase = rounded(problem.outs, tile.rows) * m_step
    positions, target, source = problem.positions, problem.target, problem.source
    left, first = min(max(problem.before[2], 0), cut.width), max(-problem.before[2], 0)
    middle = max(0, min(cut.width - left, problem.extents[2] - first))
    x, weight, bias = operands
    given: dict[str, Argument] = {
        "source": lambda w: w.input(0, x), "weight": lambda w: w.input(1, weight),
        "bias": (lambda w: w.input(2, bias)) if bias is not None else (lambda w: w.constant(0)),
        "target": lambda w: w.output(0), "batch": problem.batch, "groups": problem.groups, "ranges": ranges,
        "chunks": chunks, "lines": cut.lines, "channels": problem.ins, "each": each, "outs": problem.outs,
        "phases": len(problem.phases), "s_n": source.batch, "s_group": source.group, "s_c": source.channel,
        "s_a": source.space[0], "s_b": source.space[1], "extent_a": problem.extents[0],
        "extent_b": problem.extents[1], "before_a": problem.before[0], "before_b": problem.before[1],
        "first": first, "left": left, "middle": middle, "right": cut.width - left - middle,
        "x_rows": cut.rows, "x_rows_b": cut.rows_b, "x_w": cut.width, "x_c": cut.channel,
        "w_out": problem.weight.batch, "w_in": problem.weight.channel, "w_group": problem.weight.group,
        "x_at": x_at, "m_at": m_at, "m_phase": m_phase, "m_step": m_step, "t_n": target.batch,
        "t_group": target.group, "t_c": target.channel, "t_a": positions[0], "t_b": positions[1],
        "t_w": positions[2],
        **pieces("in", e, source, problem.extents, 1, chunks == 1),
        **pieces("out", e, target, problem.phases[0].grid, 1, chunks == 1)}
    step = 1 if all(p.grid[2] == 1 for p in problem.phases) else positions[2]
    function = _convolve(e.name, bias is not None, step if step in (1, 2) else 0)
    call = Call(function, words(POINTERS, NUMBERS, given, _table(problem, cut, panel)),
                ranges * problem.groups, scratch=m_at + len(problem.phases) * m_phase * e.width)
    moved = sum(g.numel * g.dtype.itemsize for g in operands if g is not None)
    return Plan([call], flops=2.0 * problem.products, traffic=float(2 * moved))


def _table(problem: Problem, cut: _Cut, panel: int) -> list[int]:
    """Phases, and of each its taps; ``panel``: bytes of the weights of a tap."""
    heads: list[int] = []
    tails: list[int] = []
    before = 0
    for phase in problem.phases:
        count, at = len(phase.taps), len(PHASE) * len(problem.phases) + len(tails)
        tails += [(tap.offset[0] * cut.rows_b + tap.offset[1]) * cut.width + tap.offset[2]
                  for tap in phase.taps]
        tails += [tap.weight for tap in phase.taps]
        heads += [count, at, at + count, before * panel, phase.target, *phase.grid]
        before += count
    return heads + tails
