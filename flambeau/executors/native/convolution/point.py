"""Kernels of convolutions of a single tap whose pixels lie side by side: pixels are columns of products.

    Y[o][pixel] = sum over c of W[o][c] X[c][pixel]

forward, and in the gradient by the input with the roles of o and c exchanged. Nothing is transposed: X has
the pixels that are met, every one or every other one of a line, the lines of a unit one after the other; so
vectors of pixels may go on from a line, or an image, to the next one. A unit is some images, or some lines
of one, and a task.

Tiles write to Y where their pixels lie in one image. Else they write to M, and from there vectors are written
in parts; so are those of a gradient with zeros between the pixels (``step`` 2), the zeros with them.
"""

from __future__ import annotations

from ..arguments import Registers, registers
from ..llvm.build import Function, Module
from ..llvm.lanes import shuffle
from ..products.ahead import begin
from ..products.microkernel import Accumulators, Tile, accumulate
from ..products.packing import packer, padded_in_code
from ..vectors import Elements, pixels_apart, pixels_between
from .ahead import AHEAD_NUMBERS, Ahead, Walks
from .kernel import rows_of_long_tiles, short_rows

PACK_POINTERS = ("weight", "packed")
PACK_NUMBERS = ("w_group", "w_out", "w_in", "u_group", "panels", "outs", "depth")
POINTERS = ("source", "packed", "bias", "target")
# ``joined``: lines follow one another in the source; ``width``: of a line of the target, ``apart``: elements
# from a line of results to the next one, ``size``: of a channel of an image.
NUMBERS = ("s_n", "s_group", "s_c", "s_a", "joined", "grid_a", "grid_w", "lines_each", "images_each",
           "chunks", "batch", "groups", "outs", "depth", "u_group", "x_step", "m_at", "t_n", "t_c", "t_group",
           "width", "apart", "size", *AHEAD_NUMBERS[:len(AHEAD_NUMBERS) // 2])
TOGETHER = 10   # panels of W, which are multiplied with one of X after the other
_DEPTH = 256    # channels that a tile sums up at a time: those of X stay in the first cache


def point_module(e: Elements, tile: Tile, bias: bool, gap: int, step: int) -> str:
    """Code of ``convolve_points``.

    ``gap``: how far apart neighbouring pixels lie in the source, ``step``: in the target; 1 or 2 both.
    """
    module = Module()
    tiles = Tiles(module, e, tile, bias)
    write = _spread(module, e, tile) if step == 2 else _parts(module, e, tile)
    with module.kernel("convolve_points") as f:
        a, ahead = registers(f, POINTERS, NUMBERS), Ahead(f)
        with f.loop(f.begin, f.end) as task:
            unit, next_ = _Unit(f, a, task), _Unit(f, a, f.add(task, 1))
            ahead.begin(f, a, "in", e.at(f, a.source, next_.source), next_.counts(a.depth),
                        f.compare("slt", f.add(task, 1), f.end))
            unit.stage(e, e.at(f, a.source, unit.source), gap, tile.columns)
            added = e.at(f, a.bias, f.mul(unit.group, a.outs)) if bias else a.bias
            packed, target = f.mul(unit.group, a.u_group), e.at(f, a.target, unit.target)
            pointers, panels = (f.at(a.packed, packed, e.element), target, added), Panels(f, e, tile, a)
            _Products(f, e, a, unit, panels, pointers).write(tiles, ahead, write, step)
    return module.text()


def pack_module(e: Elements, tile: Tile) -> str:
    """Code of ``pack_points``: a task packs a panel of a group."""
    module = Module()
    pack = packer(module, "pack_a", e.dtype, tile.rows, e.lanes)
    with module.kernel("pack_points") as f:
        a = registers(f, PACK_POINTERS, PACK_NUMBERS)
        panels = Panels(f, e, tile, a)
        with f.loop(f.begin, f.end) as task:
            panel, group = f.rem(task, a.panels), f.div(task, a.panels)
            out, rows = panels.part(panel)
            place = f.add(f.mul(group, a.w_group), f.mul(out, a.w_out))
            to = panels.at(f.at(a.packed, f.mul(group, a.u_group), e.element), panel)
            with f.when(f.compare("slt", out, a.outs)):
                f.run(pack, e.at(f, a.weight, place), to, rows, a.depth, a.w_out, a.w_in)
    return module.text()


class Panels:
    """W in panels of as many rows as a tile has; the last ones may be multiplied by short tiles."""

    def __init__(self, f: Function, e: Elements, tile: Tile, a: Registers) -> None:
        outs = a.outs
        self.f, self.e, self.outs, self.rows, self.short = f, e, outs, tile.rows, short_rows(tile).rows
        self._size = f.mul(padded_in_code(f, a.depth, e.lanes), tile.rows)
        self._long = rows_of_long_tiles(f, tile, outs)
        self._longs = f.div(self._long, tile.rows)
        rest = f.add(f.sub(outs, self._long), self.short - 1)
        self.count = f.add(self._longs, f.div(rest, self.short))

    def at(self, packed: str, panel: str) -> str:
        """Where it begins."""
        return self.f.at(packed, self.f.mul(panel, self._size), self.e.element)

    def is_long(self, panel: str) -> str:
        return self.f.compare("slt", panel, self._longs)

    def is_whole(self, panel: str) -> str:
        """Whether no row of its tile is missing."""
        f = self.f
        most = f.choose(self.is_long(panel), "i64", self.rows, self.short)
        return f.compare("sge", self.part(panel)[1], most)

    def part(self, panel: str) -> tuple[str, str]:
        """Its first output channel, and how many there are."""
        f = self.f
        short = f.add(self._long, f.mul(f.sub(panel, self._longs), self.short))
        out = f.choose(self.is_long(panel), "i64", f.mul(panel, self.rows), short)
        most = f.choose(self.is_long(panel), "i64", self.rows, self.short)
        return out, f.least(f.sub(self.outs, out), most)


def panels_of(tile: Tile, outs: int) -> int:
    """How many there are, or one more."""
    return -(-outs // tile.rows) + 1


class _Unit:
    """Some images, or some lines of one: where they begin, and how many there are."""

    def __init__(self, f: Function, a: Registers, task: str) -> None:
        self.f, self.a = f, a
        self.group, number = f.rem(task, a.groups), f.div(task, a.groups)
        image = f.mul(f.div(number, a.chunks), a.images_each)
        line = f.mul(f.rem(number, a.chunks), a.lines_each)
        self.images = f.least(a.images_each, f.sub(a.batch, image))
        self.lines = f.least(a.lines_each, f.sub(a.grid_a, line))
        self.source = f.add(f.mul(self.group, a.s_group), f.add(f.mul(image, a.s_n), f.mul(line, a.s_a)))
        self.target = f.add(f.mul(self.group, a.t_group), f.add(f.mul(image, a.t_n), f.mul(line, a.apart)))
        self.each = f.mul(self.lines, a.grid_w)     # pixels of an image
        self.pixels = f.mul(self.images, self.each)
        self.rest = f.sub(a.size, f.mul(line, a.apart))

    def counts(self, channels: str) -> tuple[str, str, str]:
        return self.images, self.lines, channels

    def place(self, pixel: str) -> tuple[str, str]:
        """Where a result lies in the target, and how many come then in the same image."""
        f = self.f
        image = f.div(pixel, self.each)
        at = f.sub(pixel, f.mul(image, self.each))
        return f.add(f.mul(image, self.a.t_n), at), f.sub(self.each, at)

    def line(self, number: str) -> str:
        """Where a line of results begins in the target."""
        f, image = self.f, self.f.div(number, self.lines)
        line = f.sub(number, f.mul(image, self.lines))
        return f.add(f.mul(image, self.a.t_n), f.mul(line, self.a.apart))

    def stage(self, e: Elements, source: str, gap: int, columns: int) -> None:
        """X in panels of so many pixels, [image][line][pixel], of all channels.

        What is too much of a line is where the next one is written.
        """
        f, a, n = self.f, self.a, e.lanes
        joined = f.compare("ne", a.joined, 0)
        run = f.choose(joined, "i64", self.each, a.grid_w)
        rows = f.choose(joined, "i64", 1, self.lines)
        line = f.mul(f.sub(run, 1), gap)
        with f.loop(0, a.depth) as c, f.loop(0, self.images) as image:
            # To the last pixel of the last channel: what lies between may be read.
            below = f.add(f.mul(f.sub(rows, 1), a.s_a), f.mul(f.sub(f.sub(a.depth, 1), c), a.s_c))
            extent = f.variable("i64", f.add(below, line))
            from_ = f.variable("ptr", e.at(f, source, f.add(f.mul(c, a.s_c), f.mul(image, a.s_n))))
            first = f.variable("i64", f.mul(image, self.each))
            to = f.at(f.scratch, f.mul(c, columns), e.element)
            with f.loop(0, rows):
                with f.loop(0, run, n) as w:
                    pixel = f.add(first.get(), w)
                    column, at = f.rem(pixel, columns), f.mul(w, gap)
                    place = f.at(to, f.add(f.mul(f.div(pixel, columns), a.x_step), column), e.element)
                    left = f.sub(extent.get(), at), f.sub(columns, column)
                    self._stage(e, e.at(f, from_.get(), at), place, gap, left, columns)
                extent.set(f.sub(extent.get(), a.s_a))
                from_.set(e.at(f, from_.get(), a.s_a))
                first.set(f.add(first.get(), run))

    def _stage(self, e: Elements, source: str, to: str, gap: int, left: tuple[str, str],
               columns: int) -> None:
        """A vector of pixels; ``left``: elements behind the first one, and columns of the panel."""
        f, a, n = self.f, self.a, e.lanes
        (extent, room), value = left, f.variable(e.kind)
        inside, fits = f.compare("sge", extent, gap * (n - 1)), f.compare("sge", room, n)
        with f.when(inside):
            value.set(pixels_apart(f, e, source, gap))
        with f.otherwise(inside):
            value.set(pixels_between(f, e, source, gap, 0, f.add(f.div(f.most(extent, 0), gap), 1)))
        with f.when(fits):
            f.write(e.kind, value.get(), to, e.width)
        with f.otherwise(fits):
            here, following = f.first_lanes(room, n), f.at(to, f.sub(a.x_step, columns), e.element)
            beyond = f.emit(f"xor <{n} x i1> {here}, {f.splat('true', n, 'i1')}")
            for panel, mask in ((to, here), (following, beyond)):
                f.write_masked(e.kind, value.get(), panel, mask, e.width)


class Tiles:
    """Functions that compute tiles of one or two vectors of pixels, of all rows or fewer."""

    def __init__(self, module: Module, e: Elements, tile: Tile, bias: bool) -> None:
        self.tile = tile
        self._found = [[_tile(module, e, tile._replace(rows=rows, vectors=vectors), tile, bias)
                        for vectors in (2, 1)] for rows in (tile.rows, short_rows(tile).rows)]

    def run(self, f: Function, is_long: str, left: str, *arguments: str) -> None:
        """``left``: how many pixels there are."""
        wide = f.compare("sgt", left, self.tile.lanes)
        for condition, functions in ((f.when, self._found[0]), (f.otherwise, self._found[1])):
            with condition(is_long):
                with f.when(wide):
                    f.run(functions[0], *arguments)
                with f.otherwise(wide):
                    f.run(functions[1], *arguments)


def _tile(module: Module, e: Elements, tile: Tile, panel: Tile, bias: bool) -> Function:
    """C = W X for a tile, or C = M + W X where there are ``more`` sums; ``panel``: the tile of the panels."""
    parameters = [("ptr noalias", "%w"), ("ptr noalias", "%x"), ("ptr", "%m"), ("ptr", "%c"),
                  ("ptr noalias", "%bias"), *Walks.PARAMETERS, ("i64", "%depth"), ("i64", "%c_step"),
                  ("i64", "%rows"), ("i64", "%more")]
    with module.helper(f"tile{tile.rows}x{tile.vectors}", parameters) as f:
        places = [(i, j) for i in range(tile.rows) for j in range(tile.vectors)]
        acc, walks, more = Accumulators(f, tile), Walks(f, write=True), f.compare("ne", "%more", 0)
        with f.when(more):
            for i, j in places:
                at = f.at("%m", i * panel.columns + j * tile.lanes, e.element)
                acc.set(i, j, f.read(e.kind, at, e.width))
        if bias:
            with f.otherwise(more):
                for i in range(tile.rows):
                    added = e.read_one(f, e.at(f, "%bias", f.least(i, f.sub("%rows", 1))))
                    for j in range(tile.vectors):
                        acc.set(i, j, f.splat(added, e.lanes, e.element))
        accumulate(f, acc, "%depth", "%w", "%x", a_row=1, a_step=panel.rows, b_step=panel.columns,
                   each=walks.step)
        walks.save()
        for i, j in places:
            at = f.at("%c", f.add(f.mul("%c_step", i), j * tile.lanes), e.element)
            f.write(e.kind, acc.get(i, j), at, e.width)
    return f


class _Products:
    """The results of a unit."""

    def __init__(self, f: Function, e: Elements, a: Registers, unit: _Unit, panels: Panels,
                 pointers: tuple[str, str, str]) -> None:
        self.f, self.e, self.a, self.unit, self.panels = f, e, a, unit, panels
        self.packed, self.target, self.bias = pointers
        self.m = f.at(f.scratch, a.m_at, "i8")

    def write(self, tiles: Tiles, ahead: Ahead, write: Function, step: int) -> None:
        """Some panels with each panel of X in turn, which stays in the first cache."""
        f, a, unit, panels, columns = self.f, self.a, self.unit, self.panels, tiles.tile.columns
        with f.loop(0, panels.count, TOGETHER) as block, f.loop(0, unit.pixels, columns) as pixel:
            self._ask(ahead, block, f.add(pixel, columns), tiles.tile, step)
            stop = f.least(f.add(block, TOGETHER), panels.count)
            place = unit.place(pixel) if step == 1 else None
            with f.loop(0, a.depth, _DEPTH) as k, f.loop(block, stop) as panel:
                m = f.at(self.m, f.mul(f.sub(panel, block), tiles.tile.rows * columns), self.e.element)
                self._tile(tiles, ahead, write, (panel, pixel, k), m, place)

    def _tile(self, tiles: Tiles, ahead: Ahead, write: Function, at: tuple[str, str, str], m: str,
              where: tuple[str, str] | None) -> None:
        """``where``: of results that may be written at once, their place, and how many an image has there."""
        f, e, a, unit, tile = self.f, self.e, self.a, self.unit, tiles.tile
        panel, pixel, k = at
        out, rows = self.panels.part(panel)
        long, left = self.panels.is_long(panel), f.sub(unit.pixels, pixel)
        y, depth = e.at(f, self.target, f.mul(out, a.t_c)), f.sub(a.depth, k)
        c, c_step = m, f.add(0, tile.columns)
        ready = f.compare("sle", depth, _DEPTH)
        if where:
            place, rest = where
            width = f.choose(f.compare("sgt", left, e.lanes), "i64", tile.columns, e.lanes)
            whole = f.emit(f"and i1 {self.panels.is_whole(panel)}, {f.compare('sle', width, rest)}")
            whole = f.emit(f"and i1 {ready}, {whole}")
            c = f.choose(whole, "ptr", e.at(f, y, place), m)
            c_step = f.choose(whole, "i64", a.t_c, tile.columns)
            ready = f.emit(f"xor i1 {whole}, {ready}")
        x = f.add(f.mul(f.div(pixel, tile.columns), a.x_step), f.mul(k, tile.columns))
        w = f.at(self.panels.at(self.packed, panel), f.mul(k, tile.rows), e.element)
        pointers = w, f.at(f.scratch, x, e.element), m, c, e.at(f, self.bias, out), *ahead.states.values()
        tiles.run(f, long, left, *pointers, f.least(depth, _DEPTH), c_step, rows, k)
        with f.when(ready):
            counts = f.least(left, tile.columns), rows
            if where:
                f.run(write, m, y, pixel, *counts, unit.each, a.t_n, a.t_c)
            else:
                f.run(write, m, y, pixel, *counts, a.grid_w, unit.lines, unit.rest, a.t_n, a.t_c, a.width,
                      a.apart)

    def _ask(self, ahead: Ahead, block: str, pixel: str, tile: Tile, step: int) -> None:
        """For the lines that are overwritten next: of the next panel of X, or of the next ones of W."""
        f, a, e, unit = self.f, self.a, self.e, self.unit
        over = f.compare("sge", pixel, unit.pixels)
        pixel = f.choose(over, "i64", 0, pixel)
        block = f.choose(over, "i64", f.least(f.add(block, TOGETHER), f.sub(self.panels.count, 1)), block)
        out, _ = self.panels.part(block)
        if step == 1:
            place, size = unit.place(pixel)[0], f.add(0, tile.columns)
        else:
            place = unit.line(f.div(pixel, a.grid_w))
            size = f.mul(f.div(f.add(a.grid_w, tile.columns - 1), a.grid_w), a.apart)
        first = e.at(f, self.target, f.add(f.mul(out, a.t_c), place))
        begin(f, ahead.states["out"], first, f.least(f.sub(a.outs, out), TOGETHER * tile.rows),
              f.mul(size, e.itemsize), f.mul(a.t_c, e.itemsize))


_PARTS = (("ptr noalias", "%m"), ("ptr noalias", "%y"), ("i64", "%first"), ("i64", "%count"),
          ("i64", "%rows"))


def _parts(module: Module, e: Elements, tile: Tile) -> Function:
    """Write a tile of which some rows or pixels are missing, or which goes on in the next image."""
    with module.helper("write_parts", [*_PARTS, *_numbers("each", "t_n", "t_c")]) as f:
        stop = f.add("%first", "%count")
        with f.loop(f.div("%first", "%each"), f.add(f.div(f.sub(stop, 1), "%each"), 1)) as image:
            start = f.mul(image, "%each")
            high = f.least(stop, f.add(start, "%each"))
            with f.loop(f.most(start, "%first"), high, e.lanes) as at:
                mask = f.first_lanes(f.sub(high, at), e.lanes)
                x = f.at("%m", f.sub(at, "%first"), e.element)
                y = e.at(f, "%y", f.add(f.mul(image, "%t_n"), f.sub(at, start)))
                with f.loop(0, "%rows") as row:
                    value = f.read(e.kind, f.at(x, f.mul(row, tile.columns), e.element), e.width)
                    e.write(f, value, e.at(f, y, f.mul(row, "%t_c")), mask)
    return f


def _numbers(*names: str) -> list[tuple[str, str]]:
    return [("i64", f"%{name}") for name in names]


def _spread(module: Module, e: Elements, tile: Tile) -> Function:
    """Write a tile with zeros between the pixels, and between the lines."""
    names = ("grid_w", "lines", "rest", "t_n", "t_c", "width", "apart")
    n = e.lanes
    with module.helper("spread", [*_PARTS, *_numbers(*names)]) as f:
        stop = f.add("%first", "%count")
        with f.loop(f.div("%first", "%grid_w"), f.add(f.div(f.sub(stop, 1), "%grid_w"), 1)) as line:
            start = f.mul(line, "%grid_w")
            high, number = f.least(stop, f.add(start, "%grid_w")), f.rem(line, "%lines")
            end = f.least(f.sub("%rest", f.mul(number, "%apart")), "%apart")
            place = f.add(f.mul(f.div(line, "%lines"), "%t_n"), f.mul(number, "%apart"))
            last = f.least(f.mul(f.sub(high, start), 2), "%width")
            with f.loop(f.most(start, "%first"), high, n) as at:
                x, column = f.at("%m", f.sub(at, "%first"), e.element), f.mul(f.sub(at, start), 2)
                y = e.at(f, "%y", f.add(place, column))
                counts = [f.sub(last, f.add(column, k * n)) for k in range(2)]
                masks = [f.first_lanes(count, n) for count in counts]
                some = [f.compare("sgt", count, 0) for count in counts]
                with f.loop(0, "%rows") as row:
                    value = f.read(e.kind, f.at(x, f.mul(row, tile.columns), e.element), e.width)
                    to = e.at(f, y, f.mul(row, "%t_c"))
                    for k, mask in enumerate(masks):
                        picks = [(k * n + lane) // 2 if lane % 2 == 0 else n for lane in range(n)]
                        spread = shuffle(f, e.kind, n, value, "zeroinitializer", picks)
                        with f.when(some[k]):
                            e.write(f, spread, e.at(f, to, k * n), mask)
                            with f.loop("%width", end, "%width") as between:
                                e.write(f, "zeroinitializer", e.at(f, to, f.add(between, k * n)), mask)
    return f
