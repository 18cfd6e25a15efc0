"""Plans of convolutions of a single tap whose pixels lie side by side; see ``point.py``."""

from __future__ import annotations

from operator import mod
from typing import Any

from ....graph.geometry import Geometry
from ..arguments import Argument, operand, words
from ..llvm.compiling.code import kernel
from ..llvm.compiling.effort import Effort
from ..llvm.compiling.machine import LAST_CACHE, LINE, machine
from ..plan import Call, Plan
from ..quantity import whole
from ..vectors import Elements, elements
from .ahead import pieces
from .forward import is_merged, tile_for
from .grid import Share, rounded, share_out
from .point import NUMBERS, POINTERS, TOGETHER, left_over, point_module
from .point_weights import PACK_NUMBERS, PACK_POINTERS, pack_module, panels_of
from .problem import Problem, traffic_of

# Pixels of a unit, and bytes of its X: with panels of W and what is asked for they fill the second cache.
_LEAST, _MOST = 64, 256
_BUDGET = 256 << 10
_FILLING = 512 << 10    # the same if it is not staged,
_WIDEST = 640 << 10     # or one line
_PORTIONS = 16          # of the tasks: a thread takes one after the other
# What it costs elsewhere to transpose a vector, also one of results with zeros between them, in multiply-adds
# of a vector; and here, to write a vector of an image's end. The share of the products that tiles lose here:
_TRANSPOSING, _SPREADING, _ENDING = 8, 24, 24
_LOSING = 1 / 12, 1 / 48    # where X is staged, or where tiles bring it


def has_points(problem: Problem, dtype: Any) -> bool:
    """Whether each result meets one pixel, and pixels lie side by side where they are read and written."""
    phase, source = problem.phases[0], problem.source
    a, b, w = phase.grid
    return len(phase.taps) == 1 and phase.taps[0].offset == problem.before and problem.step == (1, 1, 1) \
        and phase.grid == problem.extents and b == 1 and phase.taps[0].weight == 0 \
        and source.space[2] in (1, 2) and a * w >= elements(dtype).lanes \
        and problem.ins * w * elements(dtype).width <= _WIDEST \
        and ((problem.positions[2] == 1 and is_merged(problem, None)) or _is_spread(problem)) \
        and _is_worth_it(problem, elements(dtype))


def _is_worth_it(problem: Problem, e: Elements) -> bool:
    """Whether transposing costs more than what tiles lose where pixels do not fill vectors."""
    return _is_worth(problem.batch, *problem.phases[0].grid[::2], problem.ins, problem.outs,
                     _is_joined(problem), problem.positions[2] == 1, e)


@whole
def _is_worth(batch: int, a: int, w: int, ins: int, outs: int, joined: bool, dense: bool,
              e: Elements) -> bool:
    image, lanes, share = a * w, e.lanes, Share(*_shared(batch, a, w, ins, joined, e))
    losing = _rounding(a, w, e, share) - 1 + _LOSING[_fills(w, joined, e, share)]
    saved = _TRANSPOSING * ins + (_TRANSPOSING if dense else _SPREADING) * outs
    ends = _ENDING * outs * lanes / image if image % lanes else 0.0
    return saved > ins * outs * losing + ends


def _share(problem: Problem, e: Elements) -> Share:
    """What a task does: if it is some lines, as many as fill its tiles where that can be."""
    return Share(*_shared(problem.batch, *problem.phases[0].grid[::2], problem.ins, _is_joined(problem), e))


@whole
def _shared(batch: int, a: int, w: int, ins: int, joined: bool, e: Elements) -> tuple[int, int, int]:
    wanted = max(_LEAST, min(_MOST, _BUDGET // (ins * e.width)))
    share = share_out(batch, (a, 1, w), wanted)
    if share.chunks == 1:
        return share
    most = max(1, wanted // w)
    more = min(a, _MOST // w, _FILLING // (ins * w * e.width))
    shares = [Share(1, -(-a // n), n) for n in (*range(most, most // 2, -1), *range(most + 1, more + 1))]
    filling = [share for share in shares if _fills(w, joined, e, share)]
    return min(filling, key=lambda share: (share.lines > most, _rounding(a, w, e, share)), default=share)


def _fills(w: int, joined: bool, e: Elements, share: Share) -> bool:
    """Whether all vectors of a task's tiles are pixels side by side."""
    run = share.lines * w if joined else w
    return not any(left_over(mod, run, share.images * share.lines * w, e, tile_for(e)))


def _is_joined(problem: Problem) -> bool:
    """Whether lines follow one another in the source."""
    source, (a, _, w) = problem.source, problem.phases[0].grid
    return source.space[2] == 1 and (a == 1 or source.space[0] == w)


def _rounding(a: int, w: int, e: Elements, share: Share) -> float:
    """Elements of vectors for each pixel."""
    tasks, rest = divmod(a, share.lines)
    of_task = rounded(share.images * share.lines * w, e.lanes) / share.images
    return (tasks * of_task + rounded(rest * w, e.lanes)) / (a * w)


def _is_spread(problem: Problem) -> bool:
    """Whether there is a zero behind each result, and maybe lines of them behind each line."""
    first, *others = problem.phases
    return problem.positions[1:] == (0, 2) and problem.target.space[2] == 1 and first.grid[2] > 1 \
        and not any(phase.taps for phase in others) \
        and (problem.target.space[0] == _width(problem) or first.grid[0] == 1)


def _width(problem: Problem) -> int:
    """Of a line of a target with zeros."""
    even, odd = problem.phases[:2]
    return even.grid[2] + odd.grid[2]


@kernel("pack_points", "convolution_weights", effort=Effort.FEW)
def _pack(name: str) -> str:
    e = elements(name)
    return pack_module(e, tile_for(e))


@kernel("convolve_points", "convolution_points", effort=Effort.FEW)
def _convolve(name: str, bias: bool, gap: int, step: int) -> str:
    e = elements(name)
    return point_module(e, tile_for(e), bias, gap, step)


def point_plan(problem: Problem, dtype: Any, operands: tuple[Geometry, Geometry, Geometry | None]) -> Plan:
    """The plan of a problem. ``operands``: source, weight and bias."""
    e = elements(dtype)
    tile = tile_for(e)
    source, target, (a, _, w) = problem.source, problem.target, problem.phases[0].grid
    step, gap = problem.positions[2], source.space[2]
    images, chunks, lines = _share(problem, e)
    pixels, panels = images * lines * w, panels_of(tile, problem.outs)
    u_group = panels * rounded(problem.ins, e.lanes) * tile.rows
    x_step = (problem.ins + 1) * tile.columns     # from panel to panel: not a large power of two
    m_at = (pixels // tile.columns + 2) * x_step * e.width
    x, weight, bias = operands
    packing: dict[str, Argument] = {
        "weight": lambda w: w.input(1, weight), "packed": lambda w: w.workspace(0),
        "w_group": problem.weight.group, "w_out": problem.weight.batch, "w_in": problem.weight.channel,
        "u_group": u_group, "panels": panels, "outs": problem.outs, "depth": problem.ins}
    given: dict[str, Argument] = {
        "source": lambda w: w.input(0, x), "packed": lambda w: w.workspace(0),
        "bias": operand(2, bias),
        "target": lambda w: w.output(0), "s_n": source.batch, "s_group": source.group, "s_c": source.channel,
        "s_a": source.space[0], "joined": int(_is_joined(problem)), "grid_a": a, "grid_w": w,
        "lines_each": lines, "images_each": images, "chunks": chunks, "batch": problem.batch,
        "groups": problem.groups, "outs": problem.outs, "depth": problem.ins, "u_group": u_group,
        "x_step": x_step, "m_at": m_at, "t_n": target.batch, "t_c": target.channel, "t_group": target.group,
        "past": int(_goes_past(problem, e)), **_lines(problem),
        **pieces("in", e, source, problem.extents, images, chunks)}
    tasks = -(-problem.batch // images) * chunks * problem.groups
    scratch = m_at + (TOGETHER * tile.rows * tile.columns + e.lanes) * e.width
    calls = [Call(_pack(e.name), words(PACK_POINTERS, PACK_NUMBERS, packing), problem.groups * panels),
             Call(_convolve(e.name, bias is not None, gap, step), words(POINTERS, NUMBERS, given), tasks,
                  max(1, tasks // _PORTIONS), scratch=scratch)]
    return Plan(calls, workspace=problem.groups * u_group * e.width, flops=2.0 * problem.products,
                traffic=traffic_of(operands))


def _lines(problem: Problem) -> dict[str, int]:
    """How lines lie in the target."""
    a, _, w = problem.phases[0].grid
    if problem.positions[2] == 1:
        return {"width": w, "apart": w, "size": a * w}
    width = _width(problem)
    height = sum(phase.grid[0] for phase in problem.phases[::2])
    return {"width": width, "apart": problem.positions[0] or height * width, "size": height * width}


def _goes_past(problem: Problem, e: Elements) -> bool:
    """Whether results go past the caches, in whole lines: none would be there when they are read."""
    target, (a, _, w), found = problem.target, problem.phases[0].grid, _lines(problem)
    _, chunks, lines = _share(problem, e)
    count = problem.batch * problem.groups * problem.outs * found["size"]
    if not machine().passes or count * e.width < LAST_CACHE:
        return False
    if problem.positions[2] == 2:   # as ``spreads`` asks
        return w % e.lanes == 0 and found == {"width": 2 * w, "apart": 4 * w, "size": 4 * a * w} \
            and problem.ins >= tile_for(e).rows
    run, pixels = LINE // e.width, a * w if chunks == 1 else lines * w
    return all(n % run == 0 for n in (target.batch, target.channel, pixels))
