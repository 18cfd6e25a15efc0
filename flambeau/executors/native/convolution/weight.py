"""Plans of gradients by the weight of a convolution: sums over ranges of the grid, then their sum."""

from __future__ import annotations

import math
from typing import Any

from ....graph.geometry import Geometry
from ..arguments import Argument, words
from ..llvm.compiling.code import kernel
from ..llvm.compiling.effort import Effort
from ..plan import Call, Plan
from ..products.microkernel import Tile
from ..quantity import whole
from ..vectors import Elements, elements
from .ahead import pieces
from .forward import adjacent_in, adjacent_of, is_merged, narrow_taps, tile_for
from .gradient import (
    FINISH_NUMBERS,
    FINISH_POINTERS,
    NUMBERS,
    POINTERS,
    THERE,
    finish_module,
    gradient_module,
)
from .grid import follow, rounded, share_out, window_of
from .problem import Phase, Problem, Three, traffic_of
from .tiles import is_covered
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
# Gradients that are read where they lie are read for each block of channels: where these are as narrow as
# that, it costs what staging does.
_NARROW_BLOCK = 16
# Lines of as many pixels are read where they are staged; of fewer, tiles would begin anew too often.
_LINE = 8


@kernel("add_up", "convolution_gradient", effort=Effort.FEW)
def _add_up(name: str, mode: str, adjacent: str, adjacent_grad: str) -> str:
    e = elements(name)
    return gradient_module(e, tile_for(e), mode, adjacent, adjacent_grad)


@kernel("finish", "convolution_sum", effort=Effort.FEW)
def _finish(name: str, mode: str, last: bool) -> str:
    e = elements(name)
    return finish_module(e, tile_for(e), mode, last)


def _lies_there(problem: Problem, e: Elements, tile: Tile) -> bool:
    """Whether tiles may read gradients where they lie: once, pixels side by side, and no row is missing."""
    rest = problem.outs % tile.columns
    return len(problem.phases[0].taps) == 1 and problem.positions[2] == 1 and is_merged(problem, None) \
        and e.itemsize == e.width and all(
            is_covered(tile, n * tile.columns + more) for n in range(tile.rows) for more in (0, rest))


class Blocking:
    """How the grid is cut into chunks and ranges, and the output channels into slices."""

    def __init__(self, problem: Problem, e: Elements, tile: Tile, mode: str) -> None:
        phase = problem.phases[0]
        narrow = mode == "narrow"
        w = winograd_of(mode)
        self.taps = w.elements**2 if w else 1 if narrow else len(phase.taps)
        self.matrices = w.weights**2 if w else self.taps        # of sums
        depth = problem.ins * (len(phase.taps) if narrow else 1)
        self.columns = tile.columns
        self.blocks = -(-depth // self.columns)
        self.padded_outs = rounded(problem.outs, self.columns)
        self.direct = mode == "direct"
        step = w.results if w else 1
        self.sum_block = self.padded_outs * self.columns
        self.sum_range = self.matrices * self.blocks * self.sum_block
        # Input channels of a task: all blocks of them, where V is transformed rather than copied.
        self.blocks_each = self.blocks
        self.slice = max(64, self.columns)
        row = self.taps * self.blocks * self.columns * e.width
        wanted = max(64, min(256, _BUDGET // row))
        self.there = not narrow and not w and _lies_there(problem, e, tile)
        # Elements that share sums add to them more often.
        if not narrow and (not w or w.weights < w.elements or self.sum_range * e.width > _LARGE):
            wanted = self._cut(e, w is not None)
        self.grid: Three = (-(-phase.grid[0] // step), phase.grid[1], -(-phase.grid[2] // step))
        self.images, self.chunks, lines = share_out(problem.batch, self.grid, wanted)
        self.lines = lines * step
        self.rows = self.images * lines * self.grid[1] * self.grid[2]
        self.total = -(-problem.batch // self.images) * self.chunks
        self._share(problem, e)

    def _share(self, problem: Problem, e: Elements) -> None:
        """Slices first, since they need no memory of their own; each repeats the transforms of the source."""
        self.slices = -(-self.padded_outs // self.slice)
        self.slice = rounded(-(-self.padded_outs // self.slices), self.columns)
        self.slices = -(-self.padded_outs // self.slice)
        self.parts = -(-self.blocks // self.blocks_each)
        apart = self.slices * self.parts * problem.groups
        room = max(1, _SUMS // (self.sum_range * problem.groups * e.width))
        self.ranges = _ranges(problem.products, apart, room, self.total)
        self.tasks = self.ranges * apart

    def _cut(self, e: Elements, tiles: bool) -> int:
        """Blocks of input channels and the slice of output channels of a task; how many pixels it takes.

        Many of either make it worth while to bring the other one into the cache, many pixels to add to the
        sums: what fits together decides. ``tiles``: an element of all tiles is computed after the other.
        """
        best, least = 0, float("inf")
        filling, staging, adding = _TILE_COSTS if tiles else _COSTS
        if self.there and self.columns > _NARROW_BLOCK:
            staging = 0.0
        if self.direct:     # each pixel is staged once
            filling = staging / self.taps
        for blocks in {-(-self.blocks // n) for n in (1, 2, 4, 8)}:
            for slice_ in {min(self.padded_outs, n) for n in (64, 128, 256, 512)}:
                if tiles:
                    inner = blocks * self.columns
                    room = min(_TILES // self.taps, _ELEMENT) // e.width // (inner + slice_)
                else:
                    inner = self.taps * blocks * self.columns
                    held = 2 * inner // self.taps if self.direct else 2 * inner
                    room = (_TOGETHER // e.width - inner * slice_) // (held + slice_)
                pixels = max(16, min(256, room))
                cost = filling / slice_ + staging / inner + adding / pixels
                if cost < least:
                    best, least = pixels, cost
                    self.blocks_each, self.slice = blocks, slice_
        return best


@whole
def _ranges(products: int, apart: int, room: int, total: int) -> int:
    """How many ranges of the grid have sums of their own."""
    return max(1, min(-(-8 // apart) if products > 1 << 19 else 1, room, total))


def weight_plan(problem: Problem, dtype: Any, grad: Geometry, x: Geometry, result: Geometry,
                mode: str) -> Plan:
    """The plan of ``convolution_weight``; the problem is that of the forward convolution.

    The result is contiguous, or channels last (but of a narrow one).
    """
    e = elements(dtype)
    tile = tile_for(e)
    if mode == "taps" and problem.phases[0].grid[2] >= _LINE:
        mode = "direct"
    b = Blocking(problem, e, tile, mode)
    calls = [_sum_call(problem, e, (grad, x), b, mode), _finish_call(problem, e, b, result, mode)]
    size = b.ranges * problem.groups * b.sum_range * e.width
    return Plan(calls, workspace=size, flops=2.0 * problem.products, traffic=traffic_of((grad, x, result)))


class _Scratch:
    """Where a task keeps what it computes with: the window, V, the gradients and their tiles."""

    def __init__(self, e: Elements, b: Blocking, mode: str, pixels: int, of_gradient: int) -> None:
        w, columns = winograd_of(mode), b.columns
        self.block = b.rows + 1 if mode == "pointwise" else b.images * pixels   # of the window
        window = b.blocks_each * b.images * pixels * columns if mode not in ("narrow", "pointwise") else 0
        self.v_step = (b.rows + 1) * columns if mode == "pointwise" else b.rows * columns + 5 * e.lanes
        self.h_step = b.rows * columns + 5 * e.lanes
        blocks = b.slice // columns
        self.v_at = rounded(window * e.width, 64)
        v_size = 0 if b.direct else b.taps * b.blocks_each * self.v_step
        self.g_at = self.v_at + rounded((v_size + columns) * e.width, 64)
        self.h_at = self.g_at + rounded((blocks * b.images * of_gradient + e.lanes) * columns * e.width, 64)
        self.size = self.h_at + ((w.elements**2 * blocks * self.h_step + 2 * columns) * e.width if w else 0)

    def words(self) -> dict[str, Argument]:
        """The places, and the steps between what is there."""
        return {"x_block": self.block, "v_step": self.v_step, "h_step": self.h_step,
                "v_at": self.v_at, "g_at": self.g_at, "h_at": self.h_at}


def _gradient_words(problem: Problem, phase: Phase, b: Blocking, width: int) -> dict[str, Argument]:
    """The arguments by which the gradients of results are staged, in lines of some width."""
    places = problem.target
    pixels = b.lines * b.grid[1] * width
    return {
        "g_group": places.group, "g_c": places.channel,
        "g_s_n": places.batch, "g_s_c": places.channel, "g_s_a": places.space[0], "g_s_b": places.space[1],
        "g_s_w": places.space[2], "g_extent_a": phase.grid[0], "g_extent_b": phase.grid[1], "g_channels": 0,
        "g_before_a": 0, "g_before_b": 0, "g_left": 0, "g_middle": phase.grid[2],
        "g_right": width - phase.grid[2], "g_first": 0, "g_x_n": pixels, "g_x_a": b.grid[1] * width,
        "g_x_b": width, "g_x_block": b.images * pixels, "g_x_rows_b": b.grid[1], "g_span_a": b.lines,
        "g_dense": _lies_dense(*phase.grid, width, b.lines, places.space[0], places.space[2])}


@whole
def _lies_dense(a: int, b: int, w: int, width: int, lines: int, line: int, pixel: int) -> int:
    """Whether gradients lie as they are staged (1 or 0: Note: formulas)."""
    return int((b, w) == (1, width) and a % lines == 0 and follow(width, (line, 0, pixel)))


def _sum_call(problem: Problem, e: Elements, operands: tuple[Geometry, Geometry], b: Blocking,
              mode: str) -> Call:
    grad, x = operands
    phase, w = problem.phases[0], winograd_of(mode)
    window = window_of(problem, b.grid, b.lines, w)
    width = w.results * b.grid[2] if w else phase.grid[2]       # of a line of gradients
    scratch = _Scratch(e, b, mode, window.pixels, 0 if b.there else b.lines * b.grid[1] * width)
    adjacent_grad = THERE if b.there else adjacent_in(problem.target, phase.grid)
    columns, g_blocks = b.columns, b.slice // b.columns
    vectors = columns // e.lanes
    given: dict[str, Argument] = {
        "source": lambda w: w.input(1, x), "grad": lambda w: w.input(0, grad),
        "sums": lambda w: w.workspace(0),
        **window.words(problem), **scratch.words(), **_gradient_words(problem, phase, b, width),
        "blocks": b.blocks, "vectors": vectors, "x_pixel": columns, "v_pixel": columns,
        "depth": b.blocks * columns, "narrow_width": columns,
        "g_blocks": g_blocks, "g_vectors": vectors, "g_x_pixel": columns,
        "batch": problem.batch, "groups": problem.groups, "images_each": b.images, "chunks": b.chunks,
        "rows_each": b.lines, "ranges": b.ranges, "total": b.total, "slices": b.slices, "slice": b.slice,
        "parts": b.parts, "blocks_each": b.blocks_each, "outs": problem.outs, "taps": b.taps,
        "grid_a": phase.grid[0], "grid_b": phase.grid[1], "grid_w": phase.grid[2],
        "grid_step": problem.step[0], "sum_range": b.sum_range, "sum_block": b.sum_block,
        "blocks_out": g_blocks,
        **pieces("in", e, problem.source, problem.extents, b.images, b.chunks),
        **pieces("out", e, problem.target, phase.grid, b.images, b.chunks)}
    _, staged_b, staged_w = window.extents
    table = narrow_taps(problem, phase, b.blocks * columns) if mode == "narrow" else [
        (tap.offset[0] * staged_b + tap.offset[1]) * staged_w + tap.offset[2] for tap in phase.taps]
    if b.direct:
        table = [number for tap, place in zip(phase.taps, table) for number in (place, *tap.offset[:2])]
    function = _add_up(e.name, mode, adjacent_of(problem, mode), adjacent_grad)
    return Call(function, words(POINTERS, NUMBERS, given, table), b.tasks, scratch=scratch.size)


def _finish_call(problem: Problem, e: Elements, b: Blocking, result: Geometry, mode: str) -> Call:
    volume = math.prod(result.shape[2:])
    narrow = mode == "narrow" or volume == 1
    how = mode if winograd_of(mode) else "narrow" if narrow else "run" if volume <= e.lanes else "taps"
    given: dict[str, Argument] = {
        "sums": lambda w: w.workspace(0), "target": lambda w: w.output(0), "ranges": b.ranges,
        "groups": problem.groups, "sum_range": b.sum_range, "sum_block": b.sum_block, "taps": b.matrices,
        "blocks": b.blocks, "outs": problem.outs,
        "channels": problem.ins * (volume if mode == "narrow" else 1),
        "volume": 1 if narrow else volume, "t_out": problem.ins * volume,
        "chunks": b.padded_outs // b.columns}
    work = b.ranges * b.taps * b.columns * b.columns
    last = not narrow and not result.is_contiguous
    return Call(_finish(e.name, how, last), words(FINISH_POINTERS, FINISH_NUMBERS, given),
                problem.groups * b.blocks * b.padded_outs // b.columns, grain=max(1, (1 << 14) // work))
