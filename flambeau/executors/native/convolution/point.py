"""Kernels of convolutions of a single tap whose pixels lie side by side: pixels are columns of products.

    Y[o][pixel] = sum over c of W[o][c] X[c][pixel]

forward, and in the gradient by the input with the roles of o and c exchanged. Nothing is transposed: X has
the pixels that are met, every one or every other one of a line, the lines of a unit one after the other; so
vectors of pixels may go on from a line, or an image, to the next one. A unit is some images, or some lines
of one, and a task. Where no vector of a unit does, the tiles of the first panel of W read X in the source and
write it to its panels while they multiply. Other units are staged before.

Tiles write to Y where their pixels lie in one image. Else they write to M, and from there vectors are written
in parts; so are those of a gradient with zeros between the pixels (``step`` 2), the zeros with them
(``point_results.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ..arguments import Registers, registers
from ..llvm.build import Function, Module
from ..llvm.compiling.machine import machine
from ..products.ahead import begin
from ..products.microkernel import Accumulators, Tile, accumulate
from ..vectors import Elements, pixels_apart, pixels_between
from .ahead import AHEAD_NUMBERS, Ahead, Walks
from .point_results import Late, begin_late, begins_line, parts_function, spread_function, store
from .point_weights import Panels
from .tiles import short_rows

POINTERS = ("source", "packed", "bias", "target")
# ``joined``: lines follow one another in the source; ``width``: of a line of the target, ``apart``: elements
# from a line of results to the next one, ``size``: of a channel of an image; ``past``: 1, results go past the
# caches.
NUMBERS = ("s_n", "s_group", "s_c", "s_a", "joined", "grid_a", "grid_w", "lines_each", "images_each",
           "chunks", "batch", "groups", "outs", "depth", "u_group", "x_step", "m_at", "t_n", "t_c", "t_group",
           "width", "apart", "size", "past", *AHEAD_NUMBERS[:len(AHEAD_NUMBERS) // 2])
TOGETHER = 12   # panels of W, which are multiplied with one of X after the other
_DEPTH = 256    # channels that a tile sums up at a time: those of X stay in the first cache
N = TypeVar("N", int, str)


def point_module(e: Elements, tile: Tile, bias: bool, gap: int, step: int) -> str:
    """Code of ``convolve_points``.

    ``gap``: how far apart neighbouring pixels lie in the source, ``step``: in the target; 1 or 2 both.
    """
    module = Module()
    tiles = Tiles(module, e, tile, bias, gap, step)
    write = spread_function(module, e, tile) if step == 2 else parts_function(module, e, tile)
    with module.kernel("convolve_points") as f:
        a, ahead = registers(f, POINTERS, NUMBERS), Ahead(f)
        a = a.replaced(past=f.choose(begins_line(f, a.target), "i64", a.past, 0))
        late = begin_late(f, module, e, tile, (a.t_c, a.width), f.least(a.depth, _DEPTH), a.past) \
            if step == 2 else None
        with f.loop(f.begin, f.end) as task:
            unit, next_ = _Unit(f, a, task), _Unit(f, a, f.add(task, 1))
            ahead.begin(f, a, "in", e.at(f, a.source, next_.source), next_.counts(a.depth),
                        f.compare("sgt", next_.images, 0))
            source, panels = e.at(f, a.source, unit.source), Panels(f, e, tile, a)
            there = f.emit(f"and i1 {unit.fills(e, tile)}, {panels.is_long('0')}")
            with f.otherwise(there):
                unit.stage(e, source, gap, tile.columns)
            added = e.at(f, a.bias, f.mul(unit.group, a.outs)) if bias else a.bias
            packed, target = f.mul(unit.group, a.u_group), e.at(f, a.target, unit.target)
            pointers = f.at(a.packed, packed, e.element), target, added
            once = f.emit(f"and i1 {there}, {f.compare('sle', panels.count, TOGETHER)}")
            fresh = _Fresh(there, source, gap, f.choose(once, "i64", 0, a.x_step))
            _Products(f, e, a, (unit, next_), panels, pointers, fresh, late).write(tiles, ahead, write)
            if late:
                late.finish()
        if machine().passes:
            with f.when(f.compare("ne", a.past, 0)):
                f.settle()
    return module.text()


def left_over(rest: Callable[[N, int], N], run: N, pixels: N, e: Elements, tile: Tile) -> tuple[N, N]:
    """What vectors leave of a run of adjacent pixels, and tiles of all the pixels of a task.

    ``rest``: of a division, of numbers or in generated code. Where nothing is left, a vector's pixels lie
    side by side.
    """
    return rest(run, e.lanes), rest(pixels, tile.columns)


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

    def spread(self, pixel: str) -> str:
        """Where its result lies in a target with zeros."""
        f, line = self.f, self.f.div(pixel, self.a.grid_w)
        return f.add(self.line(line), f.mul(f.sub(pixel, f.mul(line, self.a.grid_w)), 2))

    def fills(self, e: Elements, tile: Tile) -> str:
        """Whether all vectors of all panels of X are pixels side by side."""
        f, a = self.f, self.a
        run = f.choose(f.compare("ne", a.joined, 0), "i64", self.each, a.grid_w)
        of_runs, of_tiles = left_over(f.rem, run, self.pixels, e, tile)
        return f.compare("eq", f.emit(f"or i64 {of_runs}, {of_tiles}"), 0)

    def spreads(self, e: Elements, tile: Tile) -> str:
        """Whether all vectors of all tiles lie within a line, and have a vector of zeros next to them."""
        f, a = self.f, self.a
        same = ((f.rem(a.grid_w, e.lanes), "0"), (f.rem(self.pixels, tile.columns), "0"),
                (f.mul(a.grid_w, 2), a.width), (f.mul(a.width, 2), a.apart), (f.rem(a.size, a.apart), "0"))
        all_ = f.compare("sge", a.depth, tile.rows)
        for x, y in same:
            all_ = f.emit(f"and i1 {all_}, {f.compare('eq', x, y)}")
        return all_

    def found(self, pixel: str, gap: int) -> str:
        """Where it lies in the source, from the first one."""
        f, a = self.f, self.a
        image = f.div(pixel, self.each)
        at = f.sub(pixel, f.mul(image, self.each))
        line = f.choose(f.compare("ne", a.joined, 0), "i64", 0, f.div(at, a.grid_w))
        inside = f.mul(f.sub(at, f.mul(line, a.grid_w)), gap)
        return f.add(f.mul(image, a.s_n), f.add(f.mul(line, a.s_a), inside))

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
    """Functions that compute tiles of one or two vectors of pixels, of all rows or fewer.

    ``fresh`` ones bring X themselves.
    """

    def __init__(self, module: Module, e: Elements, tile: Tile, bias: bool, gap: int, step: int) -> None:
        self.tile = tile
        self.fresh = _tile(module, e, tile, tile, bias, step, gap)
        self._found = [[_tile(module, e, tile._replace(rows=rows, vectors=vectors), tile, bias, step)
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


def _tile(module: Module, e: Elements, tile: Tile, panel: Tile, bias: bool, step: int,
          gap: int = 0) -> Function:
    """C = W X for a tile, or C = M + W X where there are ``more`` sums; ``panel``: the tile of the panels.

    With a ``gap`` X is brought from the source, two vectors of each channel, and written to its panel.
    """
    parameters = [("ptr noalias", "%w"), ("ptr noalias", "%x"), ("ptr", "%m"), ("ptr", "%c"),
                  ("ptr noalias", "%bias"), *Walks.PARAMETERS, ("i64", "%depth"), ("i64", "%c_step"),
                  ("i64", "%rows"), ("i64", "%more")]
    parameters.append(("ptr", "%late") if step == 2 else ("i64", "%past"))
    if gap:
        parameters += [("ptr", "%first"), ("ptr", "%second"), ("i64", "%s_c")]
    with module.helper(f"tile{tile.rows}x{tile.vectors}{'fresh' if gap else ''}", parameters) as f:
        places = [(i, j) for i in range(tile.rows) for j in range(tile.vectors)]
        acc, walks, more = Accumulators(f, tile), Walks(f, write=True), f.compare("ne", "%more", 0)
        late = Late(f, e, panel, "%late") if step == 2 and tile.vectors == 2 else None

        def each() -> None:
            walks.step()
            if late:
                late.step()
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
                   each=each, bring=_bring(f, e, gap) if gap else None)
        walks.save()
        if late:
            late.save()
        found = [(acc.get(i, j), f.at("%c", f.add(f.mul("%c_step", i), j * tile.lanes), e.element))
                 for i, j in places]
        store(f, e, found, "0" if step == 2 else "%past")
    return f


def _bring(f: Function, e: Elements, gap: int) -> Callable[[str], list[str]]:
    """Reads pixels of one channel after the other where they lie."""
    sources = [f.variable("ptr", name) for name in ("%first", "%second")]

    def bring(to: str) -> list[str]:
        found = []
        for j, source in enumerate(sources):
            found.append(pixels_apart(f, e, source.get(), gap))
            f.write(e.kind, found[j], f.at(to, j * e.lanes, e.element), e.width)
            source.set(e.at(f, source.get(), "%s_c"))
        return found
    return bring


class _Fresh(NamedTuple):
    """X as it lies in the source: whether tiles of the first panel of W bring it.

    ``step``: from panel to panel of X; where each is needed for some tiles alone, all have the same place.
    """

    there: str
    source: str
    gap: int
    step: str


class _Products:
    """The results of the first one of two units; the other one comes then, if it exists."""

    def __init__(self, f: Function, e: Elements, a: Registers, units: tuple[_Unit, _Unit], panels: Panels,
                 pointers: tuple[str, str, str], fresh: _Fresh, late: Late | None) -> None:
        self.f, self.e, self.a, self.panels, self.fresh, self.late = f, e, a, panels, fresh, late
        self.unit, self.next = units
        self.packed, self.target, self.bias = pointers
        self.m = f.at(f.scratch, a.m_at, "i8")

    def write(self, tiles: Tiles, ahead: Ahead, write: Function) -> None:
        """Some panels with each panel of X in turn, which stays in the first cache."""
        f, a, unit, panels, columns = self.f, self.a, self.unit, self.panels, tiles.tile.columns
        late = unit.spreads(self.e, tiles.tile) if self.late else None
        with f.loop(0, panels.count, TOGETHER) as block, f.loop(0, unit.pixels, columns) as pixel:
            self._ask(ahead, block, f.add(pixel, columns), tiles.tile)
            stop = f.least(f.add(block, TOGETHER), panels.count)
            if late:
                where = late, *[unit.spread(f.add(pixel, j * self.e.lanes)) for j in range(2)]
            else:
                where = unit.place(pixel)
            with f.loop(0, a.depth, _DEPTH) as k, f.loop(block, stop) as panel:
                m = f.at(self.m, f.mul(f.sub(panel, block), tiles.tile.rows * columns), self.e.element)
                self._tile(tiles, ahead, write, (panel, pixel, k), m, where)

    def _tile(self, tiles: Tiles, ahead: Ahead, write: Function, at: tuple[str, str, str], m: str,
              where: tuple[str, ...]) -> None:
        """``where``: of results, their place, and how many an image has there.

        With zeros between them: whether all vectors are whole, and the places of two.
        """
        f, e, a, unit, tile = self.f, self.e, self.a, self.unit, tiles.tile
        panel, pixel, k = at
        out, rows = self.panels.part(panel)
        long, left = self.panels.is_long(panel), f.sub(unit.pixels, pixel)
        y, depth = e.at(f, self.target, f.mul(out, a.t_c)), f.sub(a.depth, k)
        c, c_step, past = m, f.add(0, tile.columns), "0"
        ready = f.compare("sle", depth, _DEPTH)
        if not self.late:
            place, rest = where
            width = f.choose(f.compare("sgt", left, e.lanes), "i64", tile.columns, e.lanes)
            whole = f.emit(f"and i1 {self.panels.is_whole(panel)}, {f.compare('sle', width, rest)}")
            whole = f.emit(f"and i1 {ready}, {whole}")
            c = f.choose(whole, "ptr", e.at(f, y, place), m)
            c_step = f.choose(whole, "i64", a.t_c, tile.columns)
            past = f.choose(whole, "i64", a.past, 0)
            ready = f.emit(f"xor i1 {whole}, {ready}")
        x = f.add(f.mul(f.div(pixel, tile.columns), self.fresh.step), f.mul(k, tile.columns))
        w = f.at(self.panels.at(self.packed, panel), f.mul(k, tile.rows), e.element)
        pointers = w, f.at(f.scratch, x, e.element), m, c, e.at(f, self.bias, out), *ahead.states.values()
        numbers = (f.least(depth, _DEPTH), c_step, rows, k, self.late.state if self.late else past)
        fresh = f.emit(f"and i1 {self.fresh.there}, {f.compare('eq', panel, 0)}")
        with f.when(fresh):
            channel = e.at(f, self.fresh.source, f.mul(k, a.s_c))
            found = [e.at(f, channel, unit.found(f.add(pixel, j * e.lanes), self.fresh.gap))
                     for j in range(2)]
            f.run(tiles.fresh, *pointers, *numbers, *found, a.s_c)
        with f.otherwise(fresh):
            tiles.run(f, long, left, *pointers, *numbers)
        with f.when(ready):
            counts = f.least(left, tile.columns), rows
            if not self.late:
                f.run(write, m, y, pixel, *counts, unit.each, a.t_n, a.t_c)
                return
            whole, *places = where
            with f.when(whole):
                self.late.begin(m, [e.at(f, y, place) for place in places], rows)
            with f.otherwise(whole):
                f.run(write, m, y, pixel, *counts, a.grid_w, unit.lines, unit.rest, a.t_n, a.t_c, a.width,
                      a.apart)

    def _ask(self, ahead: Ahead, block: str, pixel: str, tile: Tile) -> None:
        """For the lines that are overwritten next, but past the caches.

        They are those of the next panel of X, or of the next ones of W, or of the next unit's first ones.
        """
        f, a, e, unit = self.f, self.a, self.e, self.unit
        over = f.compare("sge", pixel, unit.pixels)
        pixel = f.choose(over, "i64", 0, pixel)
        block = f.choose(over, "i64", f.add(block, TOGETHER), block)
        last = f.compare("sge", block, self.panels.count)
        target = f.choose(last, "ptr", e.at(f, a.target, self.next.target), self.target)
        out, _ = self.panels.part(f.choose(last, "i64", 0, block))
        if not self.late:
            place, size = unit.place(pixel)[0], f.add(0, tile.columns)
        else:
            place = unit.line(f.div(pixel, a.grid_w))
            size = f.mul(f.div(f.add(a.grid_w, tile.columns - 1), a.grid_w), a.apart)
        some = f.choose(last, "i64", self.next.images, 1)
        some = f.choose(f.compare("ne", a.past, 0), "i64", 0, some)
        rows = f.least(f.sub(a.outs, out), TOGETHER * tile.rows)
        first = e.at(f, target, f.add(f.mul(out, a.t_c), place))
        some = f.compare("sgt", some, 0)
        rows, size = (f.choose(some, "i64", x, 1) for x in (rows, size))
        first = f.choose(some, "ptr", first, self.m)
        begin(f, ahead.states["out"], first, rows, f.mul(size, e.itemsize), f.mul(a.t_c, e.itemsize))
