"""The kernel of convolutions, and of gradients by the input, with few results for each pixel.

Kernels that make vectors of output channels (``kernel.py``) would compute mostly what does not exist, where
an image is made of features, or the gradient by an image is wanted. Here vectors are of neighbouring pixels:

    Y[o][pixel] = sum over channels c and taps of W[o][c][tap] X[c][pixel + offset of the tap]

X is a part of the source with the zeros of the padding around it, lines one after the other. Steps being 1,
the pixels that a tap meets lie as the grid does, if this is as wide as a line of X: what is computed at the
end of lines is garbage, and not delivered. So nothing is copied for each tap; vectors are read wherever they
begin. Gradients by the input of a strided convolution have several grids (``problem.py``: phases), all of the
same X.

A task has a range of units of a group; a unit is some lines of the grids of one image. X has a few channels
at a time, so that the first cache holds it, and the tiles ask for what it gets next: results are summed up in
a buffer, M[o][pixel] for each phase, and come from there to the target, where those of a phase may lie apart.
"""

from __future__ import annotations

from ..arguments import Registers, entry, registers
from ..llvm.build import Function, Module, Variable
from ..llvm.machine import machine
from ..products.ahead import Walk
from ..products.microkernel import Tile
from ..vectors import Elements, arithmetic
from .ahead import AHEAD_NUMBERS, Ahead

POINTERS = ("source", "weight", "bias", "target")
NUMBERS = ("batch", "groups", "ranges", "chunks", "lines", "channels", "each", "outs", "phases", "s_n",
           "s_group", "s_c", "s_a", "s_b", "extent_a", "extent_b", "before_a", "before_b", "first", "left",
           "middle", "right", "x_rows", "x_rows_b", "x_w", "x_c", "w_out", "w_in", "w_group", "x_at", "m_at",
           "m_phase", "m_step", "t_n", "t_group", "t_c", "t_a", "t_b", "t_w", *AHEAD_NUMBERS)
# Entries of a phase in the table: the offsets of its taps in X follow, and their places in the weight.
PHASE = ("taps", "offsets", "places", "panels", "target", "grid_a", "grid_b", "grid_w")

MOST_VECTORS = 8        # of pixels in a tile


def tiles_of(tile: Tile) -> list[Tile]:
    """Tiles of results: the fewer rows, the more vectors. Registers hold these, the pixels and weights."""
    rows = [n for n in (1, 2, 3, 4, 6, 8) if n < tile.rows] + [tile.rows]
    room = machine().registers
    return [tile._replace(rows=n, vectors=max(2, min(MOST_VECTORS, (room - n) // (n + 1)))) for n in rows]


def few_module(e: Elements, tile: Tile, bias: bool, step: int) -> str:
    """Code of ``convolve_few``; ``step``: of neighbouring results in the target: 1, 2, or 0 for any."""
    module = Module()
    tiles = [(t, _tile(module, e, t, tile.rows)) for t in tiles_of(tile)]
    with module.kernel("convolve_few") as f:
        a = registers(f, POINTERS, NUMBERS)
        x, m = f.at(f.scratch, a.x_at, "i8"), f.at(f.scratch, a.m_at, "i8")
        ahead = Ahead(f)
        with f.loop(f.begin, f.end) as task:
            group, range_ = f.rem(task, a.groups), f.div(task, a.groups)
            with f.loop(0, a.phases) as number:
                _pack(f, a, e, tile, e.at(f, a.weight, f.mul(group, a.w_group)), _phase(f, a, number))
            _clear_sides(f, a, e, x)
            total = f.mul(a.batch, a.chunks)
            last = f.div(f.mul(f.add(range_, 1), total), a.ranges)
            with f.loop(f.div(f.mul(range_, total), a.ranges), last) as unit:
                image, line = _image_and_line(f, a, unit)
                source = e.at(f, a.source, f.mul(group, a.s_group))
                with f.loop(0, a.channels, a.each) as first:
                    part = f.least(f.sub(a.channels, first), a.each), first
                    _begin_next(f, a, e, ahead, source, (unit, last), f.add(first, a.each))
                    _stage(f, a, e, e.at(f, source, f.mul(image, a.s_n)), x, line, part)
                    with f.loop(0, a.phases) as number:
                        phase = _phase(f, a, number)
                        pixels = f.mul(f.mul(_lines_of(f, a, phase, line), a.x_rows_b), a.x_w)
                        to = f.at(m, f.mul(number, a.m_phase), e.element)
                        _multiply(f, a, e, tiles, (x, to), phase, pixels, part, ahead)
                place = f.add(f.mul(image, a.t_n), f.mul(group, a.t_group))
                with f.loop(0, a.phases) as number:
                    phase = _phase(f, a, number)
                    to = f.add(f.add(place, phase.target), f.mul(line, a.t_a))
                    added = e.at(f, a.bias, f.mul(group, a.outs)) if bias else ""
                    _deliver(f, a, e, f.at(m, f.mul(number, a.m_phase), e.element), e.at(f, a.target, to),
                             phase, _lines_of(f, a, phase, line), added, step)
    return module.text()


def _image_and_line(f: Function, a: Registers, unit: str) -> tuple[str, str]:
    return f.div(unit, a.chunks), f.mul(f.rem(unit, a.chunks), a.lines)


def _lines_of(f: Function, a: Registers, phase: Registers, line: str) -> str:
    """How many lines a phase has of a unit's."""
    return f.most(f.least(a.lines, f.sub(phase.grid_a, line)), 0)


def _begin_next(f: Function, a: Registers, e: Elements, ahead: Ahead, source: str, units: tuple[str, str],
                first: str) -> None:
    """Ask for what is staged next: channels from ``first`` on, or the first ones of the next unit."""
    unit, last = units
    over = f.compare("sge", first, a.channels)
    unit, first = f.choose(over, "i64", f.add(unit, 1), unit), f.choose(over, "i64", 0, first)
    image, line = _image_and_line(f, a, unit)
    source = e.at(f, source, f.mul(first, a.s_c))
    part = {"source": source, "first_image": image, "images": "1", "first_a": line, "rows": a.x_rows}
    count = f.least(f.sub(a.channels, first), a.each)
    ahead.begin_source(f, a, e, part, count, f.compare("slt", unit, last))


def _phase(f: Function, a: Registers, number: str) -> Registers:
    head = f.at(a.table, f.mul(number, len(PHASE)), "i64")
    found = {name: entry(f, head, k) for k, name in enumerate(PHASE)}
    for name in ("offsets", "places"):
        found[name] = f.at(a.table, found[name], "i64")
    found["panels"] = f.at(f.scratch, found["panels"], "i8")
    return Registers(found)


def _pack(f: Function, a: Registers, e: Elements, tile: Tile, weight: str, phase: Registers) -> None:
    """Panels of weights, [channel][tap][rows]; of rows that do not exist they are undefined."""
    size = f.mul(a.channels, phase.taps)
    with f.loop(0, a.outs, tile.rows) as out:
        panel = f.at(phase.panels, f.mul(out, size), e.element)
        rows = f.least(f.sub(a.outs, out), tile.rows)
        with f.loop(0, a.channels) as c, f.loop(0, phase.taps) as tap:
            place = f.add(f.add(f.mul(out, a.w_out), f.mul(c, a.w_in)), entry(f, phase.places, tap))
            to = f.at(panel, f.mul(f.add(f.mul(c, phase.taps), tap), tile.rows), e.element)
            with f.loop(0, rows) as i:
                value = e.read_one(f, e.at(f, weight, f.add(place, f.mul(i, a.w_out))))
                f.write(e.element, value, f.at(to, i, e.element), e.width)


# --- X ------------------------------------------------------------------------------------------------------

def _clear_sides(f: Function, a: Registers, e: Elements, x: str) -> None:
    """Zeros at both ends of the lines of X: they stay from unit to unit."""
    rows = f.mul(a.x_rows, a.x_rows_b)
    with f.loop(0, a.each) as c, f.loop(0, rows) as row:
        place = f.at(x, f.add(f.mul(c, a.x_c), f.mul(row, a.x_w)), e.element)
        _zeros(f, e, place, a.left)
        _zeros(f, e, f.at(place, f.add(a.left, a.middle), e.element), a.right)


def _stage(f: Function, a: Registers, e: Elements, source: str, x: str, line: str,
           part: tuple[str, str]) -> None:
    """X[c][a][b][w]: lines from ``line`` on; what a line writes too much are zeros, in place of the next.

    ``part``: how many channels, and the first one.
    """
    count, first = part
    rows = _inside(f, a.before_a, line, a.extent_a, a.x_rows)
    planes = _inside(f, a.before_b, "0", a.extent_b, a.x_rows_b)
    # What does not change from line to line is computed once: it is most of what a short line takes.
    plane_size = f.mul(a.x_rows_b, a.x_w)
    above, below = f.mul(rows[0], plane_size), f.mul(f.sub(a.x_rows, rows[1]), plane_size)
    front, behind = f.mul(planes[0], a.x_w), f.mul(f.sub(a.x_rows_b, planes[1]), a.x_w)
    whole = f.emit(f"and i64 {a.middle}, {-e.lanes}")
    rest = f.sub(a.middle, whole)
    counts = whole, f.compare("sgt", rest, 0), f.first_lanes(rest, e.lanes)
    lines = f.mul(f.most(f.sub(line, a.before_a), 0), a.s_a), f.mul(f.most(f.sub(0, a.before_b), 0), a.s_b)
    start = f.add(f.add(*lines), a.first)
    with f.loop(0, count) as c:
        place = f.add(f.mul(f.add(first, c), a.s_c), start)
        from_ = f.variable("ptr", e.at(f, source, place))
        to = f.variable("ptr", f.at(x, f.mul(c, a.x_c), e.element))

        def clear(size: str, to: Variable = to) -> None:
            _zeros(f, e, to.get(), size)
            to.set(f.at(to.get(), size, e.element))

        clear(above)
        with f.loop(*rows):
            clear(front)
            plane_from = f.variable("ptr", from_.get())
            with f.loop(*planes):
                _copy(f, e, plane_from.get(), f.at(to.get(), a.left, e.element), counts)
                plane_from.set(e.at(f, plane_from.get(), a.s_b))
                to.set(f.at(to.get(), a.x_w, e.element))
            clear(behind)
            from_.set(e.at(f, from_.get(), a.s_a))
        clear(below)


def _inside(f: Function, before: str, first: str, extent: str, count: str) -> tuple[str, str]:
    """Of ``count`` lines from ``first`` on, ``before`` of which are padding, those that the source has."""
    begin = f.least(f.most(f.sub(before, first), 0), count)
    return begin, f.most(f.least(f.sub(f.add(extent, before), first), count), begin)


def _zeros(f: Function, e: Elements, target: str, count: str) -> None:
    with f.loop(0, count, e.lanes) as w:
        f.write(e.kind, "zeroinitializer", f.at(target, w, e.element), e.width)


def _copy(f: Function, e: Elements, source: str, target: str, counts: tuple[str, str, str]) -> None:
    """A line: elements in whole vectors, whether there are more, and which these are of a vector."""
    whole, some, mask = counts
    with f.loop(0, whole, e.lanes) as w:
        f.write(e.kind, e.read(f, e.at(f, source, w)), f.at(target, w, e.element), e.width)
    with f.when(some):
        f.write(e.kind, e.read(f, e.at(f, source, whole), mask), f.at(target, whole, e.element), e.width)


# --- products -----------------------------------------------------------------------------------------------

def _tile(module: Module, e: Elements, tile: Tile, apart: int) -> Function:
    """M = W X for a tile, or M + W X if there is ``more`` in it; ``apart``: the rows of a packed panel."""
    parameters = [("ptr noalias", "%w"), ("ptr noalias", "%x"), ("ptr noalias", "%m"),
                  ("ptr noalias", "%offsets"), ("i64", "%channels"), ("i64", "%taps"), ("i64", "%x_c"),
                  ("i64", "%m_step"), ("i1", "%more"), ("ptr", "%in")]
    with module.helper(f"tile{tile.rows}", parameters) as f:
        rows, vectors = range(tile.rows), range(tile.vectors)
        acc = [[f.variable(e.kind, "zeroinitializer") for _ in vectors] for _ in rows]
        places = [[f.at("%m", f.add(f.mul("%m_step", i), j * e.lanes), e.element) for j in vectors]
                  for i in rows]
        with f.when("%more"):
            for row, to in zip(acc, places):
                for total, place in zip(row, to):
                    total.set(f.read(e.kind, place, e.width))
        weights, plane = f.variable("ptr", "%w"), f.variable("ptr", "%x")
        walk = Walk(f, "%in", cache=1)
        with f.loop(0, "%channels"):
            x = plane.get()
            with f.loop(0, "%taps") as tap:
                walk.step()
                w = weights.get()
                at = f.at(x, entry(f, "%offsets", tap), e.element)
                read = [f.read(e.kind, f.at(at, j * e.lanes, e.element), e.width)
                        for j in range(tile.vectors)]
                for i, row in enumerate(acc):
                    factor = f.splat(f.read(e.element, f.at(w, i, e.element), e.width), e.lanes, e.element)
                    for total, value in zip(row, read):
                        total.set(f.fma(e.kind, factor, value, total.get()))
                weights.set(f.at(w, apart, e.element))
            plane.set(f.at(x, "%x_c", e.element))
        walk.save()
        for row, to in zip(acc, places):
            for total, place in zip(row, to):
                f.write(e.kind, total.get(), place, e.width)
    return f


def _multiply(f: Function, a: Registers, e: Elements, tiles: list[tuple[Tile, Function]],
              pointers: tuple[str, str], phase: Registers, pixels: str, part: tuple[str, str],
              ahead: Ahead) -> None:
    """All pixels of a unit; of rows the smallest tile that has so many."""
    (x, m), (count, first) = pointers, part
    size, most = f.mul(a.channels, phase.taps), tiles[-1][0].rows
    more, before = f.compare("sgt", first, 0), f.mul(f.mul(first, phase.taps), most)
    with f.loop(0, a.outs, most) as out:
        panel = f.at(phase.panels, f.add(f.mul(out, size), before), e.element)
        to, rows, below = f.at(m, f.mul(out, a.m_step), e.element), f.sub(a.outs, out), 0
        for tile, function in tiles:
            fits = f.compare("sgt", rows, below)
            if tile.rows < most:
                fits = f.emit(f"and i1 {fits}, {f.compare('sle', rows, tile.rows)}")
            with f.when(fits), f.loop(0, pixels, tile.columns) as column:
                f.run(function, panel, f.at(x, column, e.element), f.at(to, column, e.element), phase.offsets,
                      count, phase.taps, a.x_c, a.m_step, more, ahead.states["in"])
            below = tile.rows


# --- results ------------------------------------------------------------------------------------------------

def _deliver(f: Function, a: Registers, e: Elements, m: str, target: str, phase: Registers, lines: str,
             bias: str, step: int) -> None:
    """Write the results of a unit to the target, line by line, and add the bias."""
    with f.loop(0, a.outs) as out:
        added = ""
        if bias:
            added = f.splat(e.read_one(f, e.at(f, bias, out)), e.lanes, e.element)
        from_, to = f.at(m, f.mul(out, a.m_step), e.element), e.at(f, target, f.mul(out, a.t_c))
        with f.loop(0, lines) as row, f.loop(0, phase.grid_b) as plane:
            number = f.add(f.mul(row, a.x_rows_b), plane)
            place = e.at(f, to, f.add(f.mul(row, a.t_a), f.mul(plane, a.t_b)))
            _line(f, a, e, f.at(from_, f.mul(number, a.x_w), e.element), place, phase.grid_w, added, step)


def _line(f: Function, a: Registers, e: Elements, source: str, target: str, count: str, bias: str,
          step: int) -> None:
    """A line of results that lie ``step`` elements apart in the target."""
    n = e.lanes
    with f.loop(0, count, n) as w:
        value = f.read(e.kind, f.at(source, w, e.element), e.width)
        if bias:
            value = arithmetic(f, "fadd", e.kind, value, bias)
        rest = f.sub(count, w)
        if step == 1:
            e.write(f, value, e.at(f, target, w), f.first_lanes(rest, n))
        elif step == 2:     # what lies between two results belongs to another phase
            even = ", ".join(["i1 true", "i1 false"] * (n // 2))
            for k in range(2):
                mask = f.first_lanes(f.sub(f.mul(rest, 2), k * n), n)
                picks = ", ".join(f"i32 {k * n // 2 + lane // 2}" for lane in range(n))
                spread = f.emit(f"shufflevector {e.kind} {value}, {e.kind} poison, <{n} x i32> <{picks}>")
                e.write(f, spread, e.at(f, target, f.add(f.mul(w, 2), k * n)),
                        f.emit(f"and <{n} x i1> {mask}, <{even}>"))
        else:
            for i in range(n):
                with f.when(f.compare("sgt", rest, i)):
                    one = f.emit(f"extractelement {e.kind} {value}, i32 {i}")
                    e.write_one(f, one, e.at(f, target, f.mul(f.add(w, i), a.t_w)))
