"""Plans of gradients by the weight of a convolution: sums over ranges of the grid, then their sum."""

from __future__ import annotations

import math
from typing import Any

from ....graph.geometry import Geometry
from ..llvm.code import kernel
from ..llvm.effort import Effort
from ..plan import Call, Plan
from ..products.microkernel import Tile
from .ahead import pieces
from .arguments import Argument, words
from .forward import adjacent_in, adjacent_of, elements, images_each, narrow_taps, rounded, tile_for
from .gradient import (
    FINISH_NUMBERS,
    FINISH_POINTERS,
    NUMBERS,
    POINTERS,
    finish_module,
    gradient_module,
)
from .problem import Problem, Three
from .vectors import Elements
from .winograd import winograd_of

# Bytes of V that a chunk should have, and of sums that all ranges together may have.
_BUDGET = 384 << 10
_SUMS = 16 << 20
# Of taps: bytes of V, of the gradients and of the sums that a task works with, most of the second cache.
_TOGETHER = 768 << 10
# The same of one element of Winograd's tiles, and bytes of V and the gradients of all of them. Where the sums
# take more than this, adding to them costs so much that they decide.
_ELEMENT = 384 << 10
_TILES = 2 << 20
_LARGE = 4 << 20
# What it costs to bring a vector into V, to stage one of gradients, and to add to one of sums, in products.
_COSTS = 4.0, 6.0, 5.0
_TILE_COSTS = 8.0, 8.0, 13.0


@kernel("add_up", "convolution_gradient", effort=Effort.FEW)
def _add_up(name: str, mode: str, adjacent: str, adjacent_grad: str) -> str:
    e = elements(name)
    text = gradient_module(e, tile_for(e), mode, adjacent, adjacent_grad)
    return text


@kernel("finish", "convolution_sum", effort=Effort.FEW)
def _finish(name: str, mode: str, last: bool) -> str:
    e = elements(name)
    return finish_module(e, tile_for(e), mode, last)


class Blocking:
    """How the grid is cut into chunks and ranges, and the output channels into slices."""

    def __init__(self, problem: Problem, e: Elements, tile: Tile, mode: str) -> None:
        phase = problem.phases[0]
        narrow = mode == "narrow"
        w = winograd_of(mode)
        self.taps = w.elements**2 if w else 1 if narrow else len(phase.taps)
        depth = problem.ins * (len(phase.taps) if narrow else 1)
        self.columns = tile.columns
        self.blocks = -(-depth // self.columns)
        self.padded_outs = rounded(problem.outs, self.columns)
        step = w.results if w else 1
        self.sum_block = self.padded_outs * self.columns
        self.sum_range = self.taps * self.blocks * self.sum_block
        # Input channels of a task: all blocks of them, where V is transformed rather than copied.
        self.blocks_each = self.blocks
        self.slice = max(64, self.columns)
        row = self.taps * self.blocks * self.columns * e.width
        wanted = max(64, min(256, _BUDGET // row))
        if not narrow and (not w or self.sum_range * e.width > _LARGE):
            wanted = self._cut(e, w is not None)
        self.grid: Three = (-(-phase.grid[0] // step), phase.grid[1], -(-phase.grid[2] // step))
        line, cells = self.grid[1] * self.grid[2], math.prod(self.grid)
        if cells >= wanted:
            self.images = 1
            self.chunks = -(-self.grid[0] // max(1, wanted // line))
            lines = -(-self.grid[0] // self.chunks)
            self.chunks = -(-self.grid[0] // lines)
        else:
            self.chunks, lines = 1, self.grid[0]
            self.images = images_each(problem.batch, cells, wanted)
        self.lines = lines * step
        self.rows = self.images * lines * line
        self.total = -(-problem.batch // self.images) * self.chunks
        self._share(problem, e)

    def _share(self, problem: Problem, e: Elements) -> None:
        """Slices first, since they need no memory of their own; each repeats the transforms of the source."""
        self.slices = -(-self.padded_outs // self.slice)
        self.slice = rounded(-(-self.padded_outs // self.slices), self.columns)
        self.slices = -(-self.padded_outs // self.slice)
        self.parts = -(-self.blocks // self.blocks_each)
        apart = self.slices * self.parts * problem.groups
        wanted = -(-8 // apart) if problem.products > 1 << 19 else 1
        room = max(1, _SUMS // (self.sum_range * problem.groups * e.width))
        self.ranges = max(1, min(wanted, room, self.total))
        self.tasks = self.ranges * apart

    def _cut(self, e: Elements, tiles: bool) -> int:
        """Blocks of input channels and the slice of output channels of a task; how many pixels it takes.

        Many of either make it worth while to bring the other one into the cache, many pixels to add to the
        sums: what fits together decides. ``tiles``: an element of all tiles is computed after the other.
        """
        best, least = 0, float("inf")
        filling, staging, adding = _TILE_COSTS if tiles else _COSTS
        for blocks in {-(-self.blocks // n) for n in (1, 2, 4, 8)}:
            for slice_ in {min(self.padded_outs, n) for n in (64, 128, 256, 512)}:
                if tiles:
                    inner = blocks * self.columns
                    room = min(_TILES // self.taps, _ELEMENT) // e.width // (inner + slice_)
                else:
                    inner = self.taps * blocks * self.columns
                    room = (_TOGETHER // e.width - inner * slice_) // (2 * inner + slice_)
                pixels = max(16, min(256, room))
                cost = filling / slice_ + staging / inner + adding / pixels
                if cost < least:
                    best, least = pixels, cost
                    self.blocks_each, self.slice = blocks, slice_
        return best


def weight_plan(problem: Problem, dtype: Any, grad: Geometry, x: Geometry, result: Geometry,
                mode: str) -> Plan:
    """The plan of ``convolution_weight``; the problem is that of the forward convolution.

    The result is contiguous, or channels last (but of a narrow one).
    """
    e = elements(dtype)
    tile = tile_for(e)
    b = Blocking(problem, e, tile, mode)
    calls = [_sum_call(problem, e, tile, (grad, x), b, mode), _finish_call(problem, e, b, result, mode)]
    size = b.ranges * problem.groups * b.sum_range * e.width
    moved = (grad.numel + x.numel + result.numel) * e.itemsize
    return Plan(calls, workspace=size, flops=2.0 * problem.products, traffic=float(2 * moved))


def _sum_call(problem: Problem, e: Elements, tile: Tile, operands: tuple[Geometry, Geometry], b: Blocking,
              mode: str) -> Call:
    grad, x = operands
    phase, span, step, extent = problem.phases[0], problem.span, problem.step, problem.extents
    w = winograd_of(mode)
    staged_w = w.results * b.grid[2] + 2 if w else (b.grid[2] - 1) * step[2] + span[2]
    staged_b = (b.grid[1] - 1) * step[1] + span[1]
    staged_a = (b.lines - 1) * step[0] + span[0]
    left, first = min(max(problem.before[2], 0), staged_w), max(-problem.before[2], 0)
    middle = max(0, min(staged_w - left, extent[2] - first))
    x_n = staged_a * staged_b * staged_w
    columns = tile.columns
    vectors = columns // e.lanes
    x_size = b.blocks_each * b.images * x_n * columns if mode not in ("narrow", "pointwise") else 0
    v_step = (b.rows + 1) * columns if mode == "pointwise" else b.rows * columns + 5 * e.lanes
    grad_w = w.results * b.grid[2] if w else phase.grid[2]
    g_blocks = b.slice // columns
    g_n = b.lines * b.grid[1] * grad_w
    h_step = b.rows * columns + 5 * e.lanes
    v_at = rounded(x_size * e.width, 64)
    g_at = v_at + rounded((b.taps * b.blocks_each * v_step + columns) * e.width, 64)
    h_at = g_at + rounded((g_blocks * b.images * g_n + 2) * columns * e.width, 64)
    end = h_at + ((w.elements**2 * g_blocks * h_step + 2 * columns) * e.width if w else 0)
    places, strides = problem.target, problem.target.space
    given: dict[str, Argument] = {
        "source": lambda w: w.input(1, x), "grad": lambda w: w.input(0, grad),
        "sums": lambda w: w.workspace(0),
        "s_n": problem.source.batch, "s_c": problem.source.channel, "s_a": problem.source.space[0],
        "s_b": problem.source.space[1], "s_w": problem.source.space[2], "extent_a": extent[0],
        "extent_b": extent[1], "channels": problem.ins, "before_a": problem.before[0],
        "before_b": problem.before[1], "left": left, "middle": middle, "right": staged_w - left - middle,
        "first": first, "x_n": x_n, "x_a": staged_b * staged_w, "x_b": staged_w,
        "x_block": b.rows + 1 if mode == "pointwise" else b.images * x_n,
        "x_pixel": columns, "blocks": b.blocks, "vectors": vectors, "x_rows_b": staged_b, "span_a": span[0],
        "step_a": step[0], "step_b": step[1], "step_w": step[2], "v_step": v_step, "v_pixel": columns,
        "depth": b.blocks * columns, "narrow_width": columns,
        "g_s_n": places.batch, "g_s_c": places.channel, "g_s_a": strides[0], "g_s_b": strides[1],
        "g_s_w": strides[2], "g_extent_a": phase.grid[0], "g_extent_b": phase.grid[1], "g_channels": 0,
        "g_before_a": 0, "g_before_b": 0, "g_left": 0, "g_middle": phase.grid[2],
        "g_right": grad_w - phase.grid[2], "g_first": 0, "g_x_n": g_n, "g_x_a": b.grid[1] * grad_w,
        "g_x_b": grad_w, "g_x_block": b.images * g_n, "g_x_pixel": columns, "g_blocks": g_blocks,
        "g_vectors": vectors, "g_x_rows_b": b.grid[1], "g_span_a": b.lines,
        "batch": problem.batch, "groups": problem.groups, "images_each": b.images, "chunks": b.chunks,
        "rows_each": b.lines, "ranges": b.ranges, "total": b.total, "slices": b.slices, "slice": b.slice,
        "parts": b.parts, "blocks_each": b.blocks_each,
        "outs": problem.outs, "s_group": problem.source.group, "g_group": places.group, "g_c": places.channel,
        "v_at": v_at, "g_at": g_at, "h_at": h_at, "h_step": h_step, "taps": b.taps, "grid_a": phase.grid[0],
        "grid_b": phase.grid[1], "grid_w": phase.grid[2], "grid_step": step[0], "sum_range": b.sum_range,
        "sum_block": b.sum_block, "blocks_out": g_blocks,
        **pieces("in", e, problem.source, extent, b.images, b.chunks == 1),
        **pieces("out", e, places, phase.grid, b.images, b.chunks == 1)}
    table = narrow_taps(problem, phase, b.blocks * columns) if mode == "narrow" else [
        (tap.offset[0] * staged_b + tap.offset[1]) * staged_w + tap.offset[2] for tap in phase.taps]
    function = _add_up(e.name, mode, adjacent_of(problem, mode), adjacent_in(places, phase.grid))
    return Call(function, words(POINTERS, NUMBERS, given, table), b.tasks, scratch=end)


def _finish_call(problem: Problem, e: Elements, b: Blocking, result: Geometry, mode: str) -> Call:
    volume = math.prod(result.shape[2:])
    narrow = mode == "narrow" or volume == 1
    how = mode if winograd_of(mode) else "narrow" if narrow else "run" if volume <= e.lanes else "taps"
    given: dict[str, Argument] = {
        "sums": lambda w: w.workspace(0), "target": lambda w: w.output(0), "ranges": b.ranges,
        "groups": problem.groups, "sum_range": b.sum_range, "sum_block": b.sum_block, "taps": b.taps,
        "blocks": b.blocks, "outs": problem.outs,
        "channels": problem.ins * (volume if mode == "narrow" else 1),
        "volume": 1 if narrow else volume, "t_out": problem.ins * volume,
        "chunks": b.padded_outs // b.columns}
    work = b.ranges * b.taps * b.columns * b.columns
    last = not narrow and not result.is_contiguous
    return Call(_finish(e.name, how, last), words(FINISH_POINTERS, FINISH_NUMBERS, given),
                problem.groups * b.blocks * b.padded_outs // b.columns, grain=max(1, (1 << 14) // work))
