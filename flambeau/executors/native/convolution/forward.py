"""Plans of forward convolutions and of gradients by the input: weights into panels, then the products."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from ....graph.geometry import Geometry
from ..arguments import Argument, operand, words
from ..llvm.compiling.code import kernel
from ..llvm.compiling.effort import Effort
from ..llvm.emitter import BFLOAT16
from ..plan import Call, Plan
from ..products.microkernel import Tile, tile_of
from ..products.packing_pairs import multiplies_pairs
from ..quantity import most, whole
from ..vectors import Elements, Pairs, elements
from .ahead import lines_of, pieces, written
from .grid import rounded, share_out, window_of
from .kernel import CHANNELS, NUMBERS, PHASE, POINTERS, forward_module
from .packing import PACK_NUMBERS, PACK_POINTERS, pack_module
from .packing_pairs import pair_module
from .problem import Phase, Problem, Tensor, Three, joined, traffic_of
from .staging import WIDTH
from .tiles import DIRECT, is_covered
from .winograd import Winograd, winograd_of

# Bytes of V that a task should have: with a panel of weights they fill the second cache.
BUDGET = 640 << 10
_PORTIONS = 32      # of the tasks: a thread takes one after the other
_NOWHERE = 1 << 40
# The next source is asked for during the last panels, so many times as many as have steps for all its lines.
_ASKING = 2


def tile_for(e: Elements) -> Tile:
    """The tile of the microkernel that computes with these elements."""
    return tile_of(e.width)


@kernel("convolve", "convolution", effort=Effort.FEW)
def _convolve(name: str, pairs: bool, mode: str, adjacent: str, bias: bool, step: int) -> str:
    e = PAIRS() if pairs else elements(name)
    return forward_module(e, tile_for(e), mode, adjacent, bias, step)


@kernel("pack_weights", "convolution_weights", effort=Effort.FEW)
def _pack_pairs(narrow: bool, run: bool, beside: str) -> str:
    return pair_module(tile_of(), "narrow" if narrow else "run" if run else beside)


@kernel("pack_weights", "convolution_weights", effort=Effort.FEW)
def _pack(name: str, mode: str, lowest: bool, beside: str) -> str:
    e = elements(name)
    return pack_module(e, tile_for(e), mode, lowest, beside)


PAIRS = functools.cache(Pairs)


def has_pairs(mode: str, dtype: Any) -> bool:
    """Whether pairs of channels are multiplied at once."""
    return dtype == BFLOAT16 and not winograd_of(mode) and multiplies_pairs()


def adjacent_in(tensor: Tensor, extents: Three) -> str:
    """What lies side by side in a tensor: pixels, channels, every other pixel, or nothing."""
    if tensor.space[2] == 1 or extents[2] == 1:
        return "pixels"
    if tensor.channel == 1:
        return "channels"
    return "other" if tensor.space[2] == 2 else "nothing"


def beside_in(problem: Problem) -> str:
    """What lies side by side in the weight: input or output channels of a tap, or the taps of both."""
    if problem.weight.channel == 1 and problem.ins > 1:
        return "channels"
    return "outs" if problem.weight.batch == 1 and problem.outs > 1 else "taps"


def adjacent_of(problem: Problem, mode: str) -> str:
    """What lies side by side in the source; of few channels, whether every or every other pixel is read."""
    if mode == "narrow":
        return {1: "every", 2: "other"}.get(problem.step[2] * problem.source.space[2], "nothing")
    return adjacent_in(problem.source, problem.extents)


class Blocking:
    """How channels are cut into blocks, and the grid into tasks."""

    def __init__(self, problem: Problem, e: Elements, tile: Tile, mode: str) -> None:
        w = winograd_of(mode)
        taps = w.elements**2 if w else max(1, *(len(p.taps) for p in problem.phases))
        depth = problem.ins * taps if mode == "narrow" else problem.ins
        self.blocks = -(-depth // WIDTH)
        self.width = -(-depth // self.blocks)          # channels of a block
        if self.blocks > 1:                            # blocks start at whole vectors
            widths = range(e.lanes, WIDTH + 1, e.lanes)
            self.width = min(widths, key=lambda n: (rounded(depth, n), -n))
            self.blocks = -(-depth // self.width)
        self.vectors = -(-self.width // e.lanes)
        self.depth = self.blocks if mode == "narrow" else taps * self.blocks
        self.steps = -(-self.width // 2) if isinstance(e, Pairs) else self.width   # of a block
        self.padded = self.blocks * self.steps
        self.panels = -(-problem.outs // tile.columns)
        step = w.results if w else 1
        lines, rows, cells = (max(p.grid[d] for p in problem.phases) for d in range(3))
        self.grid: Three = (-(-lines // step), rows, -(-cells // step))
        self._cut(problem, e, step, mode)

    def _cut(self, problem: Problem, e: Elements, step: int, mode: str) -> None:
        held = 2 * self.blocks if mode in DIRECT else self.depth    # of a pixel: V, or the staged image
        wanted = max(48, min(240, BUDGET // (held * WIDTH * e.staged_size)))
        self.images, self.chunks, lines = share_out(problem.batch, self.grid, wanted)
        self.lines = lines * step
        self.rows = self.images * lines * self.grid[1] * self.grid[2]
        tasks = -(-problem.batch // self.images) * self.chunks * problem.groups
        self.splits = _splits(tasks, problem.products, self.panels)
        self.tasks = tasks * self.splits


@whole
def _splits(tasks: int, products: int, panels: int) -> int:
    """Among how many tasks the panels of each are shared out."""
    return min(panels, -(-8 // tasks)) if tasks < 8 and products > 1 << 19 else 1


def product_plan(problem: Problem, dtype: Any, operands: tuple[Geometry, Geometry, Geometry | None],
                 volume: int, mode: str, turned: bool) -> Plan:
    """The plan of a problem. ``operands``: source, weight and bias; ``volume``: adjacent taps, or 0.

    ``turned`` (Winograd): the kernel is turned by half.
    """
    e = PAIRS() if has_pairs(mode, dtype) else elements(dtype)
    tile = tile_for(e)
    products = problem.products
    problem, zeros = without_empty(joined(problem) or problem if mode == "winograd_doubled" else problem)
    mode = _direct(problem, tile) if mode == "taps" else mode
    blocking = Blocking(problem, e, tile, mode)
    packing = _packing_call(problem, e, tile, operands[1], blocking, volume, mode, turned)
    main = _main_call(problem, e, tile, operands, blocking, mode, zeros)
    w = winograd_of(mode)
    taps = w.weights**2 if w else sum(len(p.taps) for p in problem.phases)
    depth = blocking.padded if mode == "narrow" else blocking.padded * taps
    size = problem.groups * blocking.panels * depth * tile.columns * e.width
    return Plan([packing, main], workspace=size, flops=2.0 * products, traffic=traffic_of(operands))


def _direct(problem: Problem, tile: Tile) -> str:
    """The mode of tiles that read the staged image, where those of a line have no more pixels than it."""
    if all(is_covered(tile, phase.grid[2]) for phase in problem.phases):
        return next((mode for mode, step in DIRECT.items() if step == problem.step[2]), "taps")
    return "taps"


class _Zeros(NamedTuple):
    """Results that meet no taps, which are written with those before them."""

    between: bool = False   # one behind each result of a line,
    missing: int = 0        # but so many, 0 or 1, of the last ones,
    lines: int = 0          # and a line of zeros behind each of so many lines


def without_empty(problem: Problem) -> tuple[Problem, _Zeros]:
    """The phases but those of every other pixel, if these have no taps; nor of every other line."""
    even, odd = problem.phases[::2], problem.phases[1::2]
    width, space = even[0].grid[2], problem.target.space
    if problem.positions[2] != 2 or space[2] != 1 or width == 1 or any(p.taps for p in odd):
        return problem, _Zeros()
    zeros = _Zeros(True, width - odd[0].grid[2])
    lines = even[1:]
    if len(lines) == 1 and not lines[0].taps and lines[0].target == space[0]:
        even, zeros = even[:1], zeros._replace(lines=lines[0].grid[0])
    return problem._replace(phases=even), zeros


def _packing_call(problem: Problem, e: Elements, tile: Tile, weight: Geometry, blocking: Blocking,
                  volume: int, mode: str, turned: bool) -> Call:
    taps = [tap.weight for phase in problem.phases for tap in phase.taps]
    channels, padded, step_in = problem.ins, blocking.padded, problem.weight.channel
    if mode == "narrow":
        # Every (channel, tap) is a tap of one channel, whose place is in the table.
        taps = [c * step_in + tap for c in range(channels) for tap in taps]
        taps += [-1] * (blocking.padded * (2 if isinstance(e, Pairs) else 1) - len(taps))
        channels = padded = 1
    is_run = 1 < volume <= e.lanes and mode in ("taps", *DIRECT)
    how = mode if winograd_of(mode) else "run" if is_run else "taps"
    beside = beside_in(problem) if mode != "narrow" and how != "run" else "taps"
    run = max(1, min(padded, (1 << 14) // max(1, len(taps) * tile.columns)))
    pairs = isinstance(e, Pairs)
    if beside == "channels":
        run = rounded(run, e.lanes)
    runs = -(-padded // run)
    given: dict[str, Argument] = {
        "weight": lambda w: w.input(1, weight), "packed": lambda w: w.workspace(0),
        "w_group": problem.weight.group, "w_out": problem.weight.batch, "w_in": step_in, "outs": problem.outs,
        "channels": channels, "panels": blocking.panels, "taps": len(taps), "padded": padded,
        "volume": volume, "runs": runs, "run": run}
    function = _pack_pairs(mode == "narrow", how == "run", beside) if pairs \
        else _pack(e.name, how, turned and how == mode != "taps", beside)
    arguments = words(PACK_POINTERS, PACK_NUMBERS, given, taps)
    return Call(function, arguments, problem.groups * blocking.panels * runs)


class _Scratch:
    """Where a task keeps what it computes with: the window, V, M and Winograd's results."""

    def __init__(self, e: Elements, tile: Tile, b: Blocking, mode: str, pixels: int) -> None:
        w = winograd_of(mode)
        most = rounded(b.rows, tile.rows) + tile.rows
        self.block = most + 1 if mode == "pointwise" else b.images * pixels     # of the window
        window = b.images * pixels * b.blocks * WIDTH if mode not in ("narrow", "pointwise") else 0
        # The odd vectors keep the matrices of Winograd from meeting in the same sets of the cache.
        self.v_step = (most + 1) * WIDTH if mode == "pointwise" else most * WIDTH + 5 * e.lanes
        self.m_step = (most + e.lanes) * tile.columns + 5 * e.lanes
        m_size = self.m_step * (w.elements**2 if w else 1)
        p_size = (w.results**2 * b.rows + e.lanes) * tile.columns if w else 0
        self.v_at = rounded(window * e.staged_size, 64)
        v_size = b.depth * self.v_step if mode not in DIRECT else 0
        self.m_at = self.v_at + rounded(v_size * e.staged_size, 64)
        self.p_at = self.m_at + rounded(m_size * e.width, 64)
        self.size = self.p_at + p_size * e.width + 64 * WIDTH

    def words(self) -> dict[str, Argument]:
        """The places, and the steps between what is there."""
        return {"x_block": self.block, "x_pixel": WIDTH, "v_step": self.v_step, "v_pixel": WIDTH,
                "v_at": self.v_at, "m_at": self.m_at, "p_at": self.p_at, "m_step": self.m_step}


def _main_call(problem: Problem, e: Elements, tile: Tile,
               operands: tuple[Geometry, Geometry, Geometry | None], b: Blocking, mode: str,
               zeros: _Zeros) -> Call:
    source, _, bias = operands
    w = winograd_of(mode)
    window = window_of(problem, b.grid, b.lines, w)
    scratch = _Scratch(e, tile, b, mode, window.pixels)
    tap_step = b.padded * tile.columns if mode != "narrow" else 0
    columns = rounded(b.blocks * b.width, e.lanes)
    table, u_panel = _phase_table(problem, mode, tap_step, (columns, *window.extents[1:]),
                                  [block * scratch.block for block in range(b.blocks)])
    packed_panel = b.padded * tile.columns if mode == "narrow" else w.weights**2 * tap_step if w else u_panel
    walk = pieces("in", e, problem.source, problem.extents, b.images, b.chunks)
    # Each step of a panel asks for a line.
    steps = -(-b.rows // tile.rows) * b.depth * b.steps
    asking = most(_ASKING, -(-_ASKING * lines_of(walk, (b.images, window.extents[0], problem.ins)) // steps))
    given: dict[str, Argument] = {
        "source": lambda w: w.input(0, source), "packed": lambda w: w.workspace(0),
        "bias": operand(2, bias),
        "target": lambda w: w.output(0),
        **window.words(problem), **scratch.words(),
        "blocks": b.blocks, "vectors": b.vectors, "depth": columns, "depth_each": b.steps,
        "narrow_width": b.width if b.blocks > 1 else WIDTH,
        "batch": problem.batch, "groups": problem.groups, "images_each": b.images, "chunks": b.chunks,
        "rows_each": b.lines, "splits": b.splits, "panels": b.panels, "outs": problem.outs,
        "t_group": problem.target.group, "t_n": problem.target.batch, "t_c": problem.target.channel,
        "t_a": problem.positions[0], "t_b": problem.positions[1], "t_w": problem.positions[2],
        "u_group": packed_panel * b.panels, "u_panel": packed_panel,
        "phases": len(problem.phases), "merged": _merged(problem, w),
        "between": int(zeros.between), "missing": zeros.missing, "zero_lines": zeros.lines,
        "zero_line": problem.target.space[0],
        "asking": asking, **walk,
        **pieces("out", e, *written(problem, zeros.lines > 0), b.images, b.chunks)}
    function = _convolve(e.name, isinstance(e, Pairs), mode, adjacent_of(problem, mode), bias is not None,
                         _between_results(problem))
    return Call(function, words(POINTERS, NUMBERS, given, table), b.tasks, max(1, b.tasks // _PORTIONS),
                scratch=scratch.size)


def _between_results(problem: Problem) -> int:
    """How the results of a line lie in the target: 1 or 2 elements apart, by channels, or 0: otherwise."""
    if problem.target.channel == 1 and problem.outs > 1:    # also of lines of one pixel: ``is_merged``
        return CHANNELS
    step = 1 if all(p.grid[2] == 1 for p in problem.phases) else problem.positions[2]
    return step if step in (1, 2) else 0


def is_merged(problem: Problem, winograd: Winograd | None) -> bool:
    """Whether the results of an image are a line in the target, and in M."""
    phase, (a, b, w) = problem.phases[0], problem.positions
    return len(problem.phases) == 1 and (phase.grid[2] == 1 or w == 1) \
        and (phase.grid[1] == 1 or b == phase.grid[2] * w) \
        and (phase.grid[0] == 1 or a == phase.grid[1] * phase.grid[2] * w) \
        and (winograd is None or bool(_fills(phase.grid[2], winograd.results)))


def _merged(problem: Problem, winograd: Winograd | None) -> int:
    """The same as a number, in which widths may differ (Note: formulas)."""
    if winograd is None or not is_merged(problem, None):
        return int(is_merged(problem, winograd))
    return _fills(problem.phases[0].grid[2], winograd.results)


@whole
def _fills(width: int, results: int) -> int:
    """Whether tiles fill a line."""
    return int(width % results == 0)


def _phase_table(problem: Problem, mode: str, tap_step: int,
                 staged: tuple[int, int, int], blocks: list[int]) -> tuple[list[int], int]:
    """The table of phases and their taps, and how many packed elements a panel has.

    ``blocks``: where those of channels begin in the staged image.
    """
    columns, staged_b, staged_w = staged
    heads: list[int] = []
    tails: list[int] = []
    at = len(PHASE) * len(problem.phases)
    u = 0
    for phase in problem.phases:
        count = len(phase.taps)
        entries = narrow_taps(problem, phase, columns) if mode == "narrow" else [
            (tap.offset[0] * staged_b + tap.offset[1]) * staged_w + tap.offset[2] for tap in phase.taps]
        if mode in DIRECT:
            entries = [number for tap, place in zip(phase.taps, entries) for block in blocks
                       for number in (place + block, *tap.offset[:2])]
        heads += [1 if mode == "narrow" else count, at + len(tails), u, phase.target, *phase.grid]
        tails += entries
        u += count * tap_step
    return heads + tails, u


def narrow_taps(problem: Problem, phase: Phase, padded: int) -> list[int]:
    """The table of ``fill_narrow``: what each (channel, tap) reads, and nothing up to ``padded`` entries."""
    strides, found = problem.source.space, []
    for c in range(problem.ins):
        for tap in phase.taps:
            shift = tap.offset[2] - problem.before[2]
            step = problem.step[2]
            first = min(phase.grid[2], max(0, -(shift // step)))
            last = max(first, min(phase.grid[2], -(-(problem.extents[2] - shift) // step)))
            place = c * problem.source.channel + shift * strides[2] \
                + tap.offset[0] * strides[0] + tap.offset[1] * strides[1]
            found += [place, tap.offset[0], tap.offset[1], first, last]
    found += [0, _NOWHERE, 0, 0, 0] * (padded - len(found) // 5)
    return found
