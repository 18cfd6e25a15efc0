"""The kernel of convolutions, and of gradients by the input, with few results for each pixel.

Kernels that make vectors of output channels (``kernel.py``) would compute mostly what does not exist, where
an image is made of features, or the gradient by an image is wanted. Here vectors are of neighbouring pixels,
and what lies along a line of the kernel is a row of the product, like another result:

    M[shift, o][line][pixel] = sum over channels c and lines k of W[o][c][k, shift] X[c][line + k][pixel]
    Y[o][line][pixel] = sum over shifts of M[shift, o][line][pixel + shift]

So a tile reads pixels where they lie in the source, at the ends of vectors mostly: nothing is staged, and
more rows share what was read. What a tile meets above and below an image is masked, and so is what lies
beside it when the shifts are added up, which is little: each term is a sum over all channels. Steps are 1.
Gradients by the input of a strided convolution have several grids (``problem.py``: phases).

A task has a range of units of a group; a unit is some lines of the grids of one image. Of many channels it
takes so many at a time that the second cache holds what it reads. Tiles ask for what the next ones read, more
than once: requests are lost where many wait. Lines of a single pixel, as those of signals and of 1 x 1
convolutions are written, are delivered as one.
"""

from __future__ import annotations

from collections.abc import Callable

from ..arguments import Registers, entry, registers
from ..llvm.build import Function, Module, vector
from ..llvm.compiling.machine import machine
from ..llvm.lanes import shuffle
from ..products.ahead import SECOND_CACHE
from ..products.microkernel import Accumulators, Tile
from ..vectors import Elements, arithmetic

POINTERS = ("source", "weight", "bias", "target")
NUMBERS = ("batch", "groups", "ranges", "chunks", "lines", "channels", "each", "outs", "phases", "s_n",
           "s_group", "s_c", "extent_b", "extent_w", "merged", "line", "plane", "w_out", "w_in", "w_group",
           "m_at", "m_phase", "m_step", "t_n", "t_group", "t_c", "t_a", "t_b", "t_w")
# Entries of a phase in the table: how many lines of the source its taps meet, where the first one lies, and
# how far the others are apart, there and in the weight. For each shift there are three: planes, pixels, and
# the place in the weight.
PHASE = ("lines", "offset", "apart", "w_line", "shifts", "shift_at", "panels", "target", "grid_a", "grid_b",
         "grid_w")

MOST_VECTORS = 8        # of pixels in a tile
TOGETHER = 4            # lines that are delivered at a time
AHEAD = 128             # steps before they are needed tiles ask for pixels, at least


def tiles_of(tile: Tile) -> list[Tile]:
    """Tiles of results: the fewer rows, the more vectors. Registers hold these, the pixels and a weight."""
    room = machine().registers
    return [tile._replace(rows=n, vectors=min(MOST_VECTORS, (room - 1) // (n + 1)))
            for n in (1, 2, 3, 4, 6, 9, 12) if 2 * n < room - 2]


def few_module(e: Elements, tile: Tile, bias: bool, step: int) -> str:
    """Code of ``convolve_few``; ``step``: of neighbouring results in the target: 1, 2, or 0 for any."""
    module = Module()
    tiles = [_Tile(module, e, t) for t in tiles_of(tile)]
    pack = _pack_rows(module, e)
    with module.kernel("convolve_few") as f:
        a = registers(f, POINTERS, NUMBERS)
        m = f.at(f.scratch, a.m_at, "i8")
        with f.loop(f.begin, f.end) as task:
            group, range_ = f.rem(task, a.groups), f.div(task, a.groups)
            with f.loop(0, a.phases) as number:
                _pack(f, a, e, tiles, pack, e.at(f, a.weight, f.mul(group, a.w_group)), _phase(f, a, number))
            total = f.mul(a.batch, a.chunks)
            last = f.div(f.mul(f.add(range_, 1), total), a.ranges)
            with f.loop(f.div(f.mul(range_, total), a.ranges), last) as unit:
                image, line = f.div(unit, a.chunks), f.mul(f.rem(unit, a.chunks), a.lines)
                source = e.at(f, a.source, f.mul(group, a.s_group))
                with f.loop(0, a.channels, a.each) as first:
                    part = f.least(f.sub(a.channels, first), a.each), first
                    x = e.at(f, source, f.add(f.mul(image, a.s_n), f.mul(first, a.s_c)))
                    with f.loop(0, a.phases) as number:
                        to = f.at(m, f.mul(number, a.m_phase), e.element)
                        _multiply(f, a, e, tiles, (x, to), _phase(f, a, number), line, part)
                place = f.add(f.mul(image, a.t_n), f.mul(group, a.t_group))
                with f.loop(0, a.phases) as number:
                    phase = _phase(f, a, number)
                    to = f.add(f.add(place, phase.target), f.mul(line, a.t_a))
                    added = e.at(f, a.bias, f.mul(group, a.outs)) if bias else ""
                    _deliver(f, a, e, f.at(m, f.mul(number, a.m_phase), e.element), e.at(f, a.target, to),
                             phase, _lines_of(f, a, phase, line), added, step)
    return module.text()


def _lines_of(f: Function, a: Registers, phase: Registers, line: str) -> str:
    """How many lines a phase has of a unit's."""
    return f.most(f.least(a.lines, f.sub(phase.grid_a, line)), 0)


def _phase(f: Function, a: Registers, number: str) -> Registers:
    head = f.at(a.table, f.mul(number, len(PHASE)), "i64")
    found = {name: entry(f, head, k) for k, name in enumerate(PHASE)}
    found["shift_at"] = f.at(a.table, found["shift_at"], "i64")
    found["panels"] = f.at(f.scratch, found["panels"], "i8")
    found["rows"] = f.mul(found["shifts"], a.outs)
    return Registers(found)


def _in_tiles(f: Function, tiles: list[_Tile], rows: str, each: Callable[[_Tile, str], None]) -> None:
    """Write ``each(tile, first row)`` for all rows: the tallest tiles that they fill."""
    first = "0"
    for tile in reversed(tiles):
        left = f.sub(rows, first)
        stop = f.sub(rows, f.rem(left, tile.rows))
        with f.loop(first, stop, tile.rows) as row:
            each(tile, row)
        first = stop


# --- weights ------------------------------------------------------------------------------------------------

def _pack_rows(module: Module, e: Elements) -> Function:
    """Channels of some rows from ``first`` on: [line][channel][row]; a row is a shift and an output."""
    parameters = [("ptr noalias", "%weight"), ("ptr noalias", "%panel"), ("ptr", "%shifts"),
                  ("i64", "%lines"), ("i64", "%w_line"), ("i64", "%channels"), ("i64", "%outs"),
                  ("i64", "%w_out"), ("i64", "%w_in"), ("i64", "%first"), ("i64", "%rows")]
    with module.helper("pack", parameters) as f:
        f.attributes = "noinline #0"
        with f.loop(0, "%rows") as i, f.loop(0, "%lines") as line:
            row = f.add("%first", i)
            shift, out = f.div(row, "%outs"), f.rem(row, "%outs")
            place = f.add(f.add(f.mul(out, "%w_out"), f.mul(line, "%w_line")),
                          entry(f, "%shifts", f.add(f.mul(shift, 3), 2)))
            from_ = f.variable("ptr", e.at(f, "%weight", place))
            at = f.add(f.mul(f.mul(line, "%channels"), "%rows"), i)
            to = f.variable("ptr", f.at("%panel", at, e.element))
            with f.loop(0, "%channels"):
                f.write(e.element, e.read_one(f, from_.get()), to.get(), e.width)
                from_.set(e.at(f, from_.get(), "%w_in"))
                to.set(f.at(to.get(), "%rows", e.element))
    return f


def _pack(f: Function, a: Registers, e: Elements, tiles: list[_Tile], pack: Function, weight: str,
          phase: Registers) -> None:
    size = f.mul(a.channels, phase.lines)

    def each(tile: _Tile, row: str) -> None:
        with f.loop(0, a.channels, a.each) as channel:
            before = f.add(f.mul(row, size), f.mul(f.mul(channel, phase.lines), tile.rows))
            f.run(pack, e.at(f, weight, f.mul(channel, a.w_in)), f.at(phase.panels, before, e.element),
                  phase.shift_at, phase.lines, phase.w_line, f.least(f.sub(a.channels, channel), a.each),
                  a.outs, a.w_out, a.w_in, row, tile.rows)
    _in_tiles(f, tiles, phase.rows, each)


# --- products -----------------------------------------------------------------------------------------------

class _Tile:
    """The functions for some rows of M: of a tile within a plane, and of vectors that may reach beyond."""

    def __init__(self, module: Module, e: Elements, tile: Tile) -> None:
        self.rows, self.columns = tile.rows, tile.columns
        edge = tile._replace(vectors=max(1, MOST_VECTORS // tile.rows))
        self.edge_columns = edge.columns
        self.inside, self.edge = _product(module, e, tile), _product(module, e, edge, tile.columns)


def _product(module: Module, e: Elements, tile: Tile, edge: int = 0) -> Function:
    """M = W X for a tile, or M + W X if there is ``more`` in it; ``edge``: columns of the tile it is part of.

    ``x`` points at the tile's first pixel in the first of the lines that taps read, the ``first``-th of the
    plane; the other lines follow so far ``apart``.
    """
    parameters = [("ptr noalias", "%w"), ("ptr noalias", "%x"), ("ptr noalias", "%m"), ("i64", "%lines"),
                  ("i64", "%apart"), ("i64", "%count"), ("i64", "%s_c"), ("i64", "%m_step"),
                  ("i64", "%first"), ("i64", "%plane"), ("i1", "%more"), ("i64", "%s_n")]
    with module.helper(f"{'edge' if edge else 'tile'}{tile.rows}", parameters) as f:
        acc = Accumulators(f, tile)
        places = [[f.at("%m", f.add(f.mul("%m_step", i), j * e.lanes), e.element)
                   for j in range(tile.vectors)] for i in range(tile.rows)]
        with f.when("%more"):
            for i, row in enumerate(places):
                for j, place in enumerate(row):
                    acc.set(i, j, f.read(e.kind, place, e.width))
        if edge:
            _at_edges(f, e, tile, acc, edge)
        else:
            _within(f, e, tile, acc)
        for i, row in enumerate(places):
            for j, place in enumerate(row):
                f.write(e.kind, acc.get(i, j), place, e.width)
    return f


def _within(f: Function, e: Elements, tile: Tile, acc: Accumulators) -> None:
    """All lines and channels in one loop."""
    last = f.mul("%apart", f.sub("%lines", 1))
    # Low tiles have less time; their lines ask for different parts of what comes next.
    asked = tile.vectors if tile.rows >= 6 else -(-tile.vectors // 2)
    turn = f.sub("%apart", f.mul("%s_c", f.sub("%count", 1)))
    ahead = f.variable("i64", _following(f, e, tile.columns, last))
    weights, pixels, left = f.variable("ptr", "%w"), f.variable("ptr", "%x"), f.variable("i64", "%count")
    with f.loop(0, f.mul("%lines", "%count")):
        w, x = weights.get(), pixels.get()
        following = f.behind(x, ahead.get())
        for j in range(asked):
            f.prefetch(e.at(f, following, j * e.lanes), SECOND_CACHE)
        acc.add_product(f, w, [e.read(f, e.at(f, x, j * e.lanes)) for j in range(tile.vectors)])
        rest = f.sub(left.get(), 1)
        over = f.compare("eq", rest, 0)
        left.set(f.choose(over, "i64", "%count", rest))
        weights.set(f.at(w, tile.rows, e.element))
        pixels.set(e.at(f, x, f.choose(over, "i64", turn, "%s_c")))


def _at_edges(f: Function, e: Elements, tile: Tile, acc: Accumulators, columns: int) -> None:
    """Line by line: of each there are other pixels."""
    weights = f.variable("ptr", "%w")
    ahead = _following(f, e, columns, f.mul("%apart", f.sub("%lines", 1)))
    with f.loop(0, "%lines") as line:
        offset = f.mul(line, "%apart")
        first, pixels = f.add("%first", offset), f.variable("ptr", e.at(f, "%x", offset))
        masks = [_inside(f, e, f.add(first, j * e.lanes), "%plane") for j in range(tile.vectors)]
        with f.loop(0, "%count"):
            w, x = weights.get(), pixels.get()
            following = f.behind(x, ahead)
            for j in range(tile.vectors):
                f.prefetch(e.at(f, following, j * e.lanes), SECOND_CACHE)
            read = [e.read(f, e.at(f, x, j * e.lanes), mask) for j, mask in enumerate(masks)]
            acc.add_product(f, w, read)
            weights.set(f.at(w, tile.rows, e.element))
            pixels.set(e.at(f, x, "%s_c"))


def _following(f: Function, e: Elements, columns: int, last: str) -> str:
    """How many bytes behind what a tile reads lies what a next one does; ``last``: how far its lines reach.

    Behind the last pixel of a plane the next image begins.
    """
    steps = f.mul("%lines", "%count")
    pixels = f.mul(f.add(f.div(AHEAD, f.most(steps, 1)), 1), columns)
    over = f.compare("sge", f.add(f.add("%first", last), pixels), "%plane")
    return f.mul(f.choose(over, "i64", f.add(f.sub("%s_n", "%plane"), pixels), pixels), e.itemsize)


def _inside(f: Function, e: Elements, first: str, extent: str) -> str:
    """The mask of the lanes, of which ``first`` is the number of the first one, from 0 to ``extent``."""
    n, kind = e.lanes, vector(e.lanes, "i32")
    first, extent = (f.splat(f.emit(f"trunc i64 {x} to i32"), n, "i32") for x in (first, extent))
    lanes = ", ".join(f"i32 {lane}" for lane in range(n))
    return f.emit(f"icmp ult {kind} {f.emit(f'add {kind} {first}, <{lanes}>')}, {extent}")


def _multiply(f: Function, a: Registers, e: Elements, tiles: list[_Tile], pointers: tuple[str, str],
              phase: Registers, line: str, part: tuple[str, str]) -> None:
    """All pixels of a unit. ``part``: how many channels, and the first one."""
    (x, m), (count, channel) = pointers, part
    more, size = f.compare("sgt", channel, 0), f.mul(a.channels, phase.lines)
    pixels = f.mul(_lines_of(f, a, phase, line), a.line)
    start = f.add(f.mul(line, a.line), phase.offset)
    last = f.mul(phase.apart, f.sub(phase.lines, 1))

    def each(tile: _Tile, row: str) -> None:
        before = f.add(f.mul(row, size), f.mul(f.mul(channel, phase.lines), tile.rows))
        panel, to = f.at(phase.panels, before, e.element), f.at(m, f.mul(row, a.m_step), e.element)

        def run(function: Function, column: str) -> None:
            first = f.add(start, column)
            f.run(function, panel, e.at(f, x, first), f.at(to, column, e.element), phase.lines, phase.apart,
                  count, a.s_c, a.m_step, first, a.plane, more, a.s_n)

        with f.loop(0, pixels, tile.columns) as column:
            first, stop = f.add(start, column), f.add(column, tile.columns)
            exists = f.compare("sle", f.add(f.add(first, last), tile.columns), a.plane)
            whole = f.emit(f"and i1 {exists}, {f.compare('sge', first, 0)}")
            whole = f.emit(f"and i1 {whole}, {f.compare('sle', stop, pixels)}")
            with f.when(whole):
                run(tile.inside, column)
            with f.otherwise(whole), f.loop(column, f.least(stop, pixels), tile.edge_columns) as there:
                run(tile.edge, there)
    _in_tiles(f, tiles, phase.rows, each)


# --- results ------------------------------------------------------------------------------------------------

def _deliver(f: Function, a: Registers, e: Elements, m: str, target: str, phase: Registers, lines: str,
             bias: str, step: int) -> None:
    """Write the results of a unit to the target: the sums over all shifts, and the bias."""
    merged = f.compare("ne", a.merged, 0)
    rows = f.choose(merged, "i64", f.least(lines, 1), lines)
    width = f.choose(merged, "i64", lines, phase.grid_w)
    extent = f.choose(merged, "i64", lines, a.extent_w)
    apart = f.mul(a.extent_b, extent)
    several = f.choose(f.compare("sge", rows, TOGETHER), "i64", rows, 0)
    with f.loop(0, a.outs) as out:
        added = "zeroinitializer"
        if bias:
            added = f.splat(e.read_one(f, e.at(f, bias, out)), e.lanes, e.element)
        to, from_ = e.at(f, target, f.mul(out, a.t_c)), f.at(m, f.mul(out, a.m_step), e.element)
        for count, start, stop in ((TOGETHER, "0", several), (1, several, rows)):
            with f.loop(start, stop, count) as group, f.loop(0, phase.grid_b) as plane:
                row = f.least(group, f.sub(rows, count))    # the last ones may be written twice
                source = f.at(from_, f.mul(row, apart), e.element)
                place = e.at(f, to, f.add(f.mul(row, a.t_a), f.mul(plane, a.t_b)))
                with f.loop(0, width, e.lanes) as w:
                    totals = _shifted(f, a, e, phase, source, (plane, w, extent), apart, [added] * count)
                    masks = _masks(f, e, f.sub(width, w), step)
                    for i, total in enumerate(totals):
                        at = e.at(f, place, f.add(f.mul(w, step or a.t_w), f.mul(a.t_a, i)))
                        _write(f, a, e, total, at, f.sub(width, w), masks)


def _shifted(f: Function, a: Registers, e: Elements, phase: Registers, source: str, at: tuple[str, str, str],
             apart: str, totals: list[str]) -> list[str]:
    """The totals and the sums over all shifts at a place in some lines, which lie so far ``apart``.

    ``at``: plane, pixel, and how many pixels a line has.
    """
    plane, w, extent = at
    found = [f.variable(e.kind, total) for total in totals]
    with f.loop(0, phase.shifts) as k:
        triple = f.mul(k, 3)
        beside = f.add(plane, entry(f, phase.shift_at, triple))
        pixel = f.add(w, entry(f, phase.shift_at, f.add(triple, 1)))
        mask = _inside(f, e, pixel, f.choose(f.compare("ult", beside, a.extent_b), "i64", extent, 0))
        place = f.add(f.add(f.mul(beside, extent), pixel), f.mul(k, f.mul(a.outs, a.m_step)))
        start = f.at(source, place, e.element)
        for i, total in enumerate(found):
            term = f.read_masked(e.kind, f.at(start, f.mul(apart, i), e.element), mask, e.width)
            total.set(arithmetic(f, "fadd", e.kind, total.get(), term))
    return [total.get() for total in found]


def _masks(f: Function, e: Elements, rest: str, step: int) -> list[str]:
    """Where in the target results are written: of each of its vectors; ``step`` as in ``few_module``."""
    if step < 2:
        return [f.first_lanes(rest, e.lanes)] * step
    even = ", ".join(["i1 true", "i1 false"] * (e.lanes // 2))     # the others belong to another phase
    counts = [f.sub(f.mul(rest, 2), k * e.lanes) for k in range(2)]
    return [f.emit(f"and <{e.lanes} x i1> {f.first_lanes(n, e.lanes)}, <{even}>") for n in counts]


def _write(f: Function, a: Registers, e: Elements, value: str, target: str, rest: str,
           masks: list[str]) -> None:
    """A vector of results, of which ``rest`` exist, as far apart as there are ``masks``; none: ``t_w``."""
    n = e.lanes
    if len(masks) == 1:
        e.write(f, value, target, masks[0])
    for k, mask in enumerate(masks if len(masks) == 2 else []):
        picks = [k * n // 2 + lane // 2 for lane in range(n)]
        e.write(f, shuffle(f, e.kind, n, value, value, picks), e.at(f, target, k * n), mask)
    for i in range(n if not masks else 0):
        with f.when(f.compare("sgt", rest, i)):
            one = f.emit(f"extractelement {e.kind} {value}, i32 {i}")
            e.write_one(f, one, e.at(f, target, f.mul(i, a.t_w)))
