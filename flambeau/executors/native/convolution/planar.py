"""Kernels of convolutions of few channels whose pixels lie side by side: pixels are columns of products.

    V[k][pixel] = source[c][where the tap meets the pixel],  k = (c, tap)
    forward:                   Y[o][pixel] = sum over k of W[o][k] V[k][pixel]
    gradient by the weight:    dW[o][k] = sum over pixels of dY[o][pixel] V[k][pixel]

A row of V is made of parts of lines of the source, so it is read there, or copied, but not gathered
(``planar_units.py``); Y and dY are written and read where they lie. Nothing is transposed, which with few
channels would cost as much as the products.

A unit is some lines of the grid of one image. A task has a range of the units of a group. The forward one
packs W once, then multiplies with the register-tiled microkernel. The gradient's products are sums along
memory in both operands: a tile multiplies vectors of pixels of a few rows of dY with those of a few rows of
V, and adds up lanes at the end of a unit. Ranges are added by a second call, in their order.
"""

from __future__ import annotations

from collections.abc import Callable

from ..arguments import entry, registers
from ..llvm.build import Function, Module, Value
from ..llvm.compiling.machine import machine
from ..llvm.lanes import sums_of
from ..products.ahead import SECOND_CACHE
from ..products.microkernel import Accumulators, Tile, spilled
from ..products.packing import packer, padded_in_code
from ..vectors import Elements, arithmetic, kept
from .planar_units import UNIT_NUMBERS, Units
from .tiles import rows_of_long_tiles, short_rows

FORWARD_POINTERS = ("source", "weight", "bias", "target")
FORWARD_NUMBERS = (*UNIT_NUMBERS, "w_out", "w_group")
WEIGHT_POINTERS = ("source", "grad", "sums")
WEIGHT_NUMBERS = (*UNIT_NUMBERS, "sum_range")
FINISH_POINTERS = ("sums", "target")
FINISH_NUMBERS = ("ranges", "groups", "sum_range", "outs", "depth", "blocks_out")
_READY = 8     # steps of the depth from which on a tile lasts long enough to ask for its place in Y


def forward_module(e: Elements, tile: Tile, bias: bool, step: int) -> str:
    """Code of ``convolve_planes``; ``step``: how far apart the pixels of neighbouring results lie, 1 or 2."""
    module = Module()
    pack = packer(module, "pack_a", e.dtype, tile.rows, e.lanes)
    short = short_rows(tile).rows
    tiles = {n: _tile(module, e, tile._replace(rows=n), tile.rows, bias)
             for n in (short // 2, short, tile.rows)}
    with module.kernel("convolve_planes") as f:
        a = registers(f, FORWARD_POINTERS, FORWARD_NUMBERS)
        size = padded_in_code(f, a.depth, e.lanes)
        long = rows_of_long_tiles(f, tile, a.outs)
        shares = [(tile.rows, "0", long), (short, long, a.outs)]

        def panel(out: str, rows: int) -> str:
            number = f.div(f.sub(out, long), short)
            place = out if rows > short else f.add(long, f.mul(number, tile.rows))
            return f.at(f.scratch, f.mul(place, size), e.element)

        with f.loop(f.begin, f.end) as task:
            group = f.rem(task, a.groups)
            weight = e.at(f, a.weight, f.mul(group, a.w_group))
            for rows, start, stop in shares:
                with f.loop(start, stop, rows) as out:
                    f.run(pack, e.at(f, weight, f.mul(out, a.w_out)), panel(out, rows),
                          f.least(f.sub(a.outs, out), rows), a.depth, a.w_out, 1)
            with Units(f, a, e, task, step) as unit:
                target = e.at(f, a.target, unit.place)
                for rows, start, stop in shares:
                    with f.loop(start, stop, rows) as out, _Pairs(f, e, unit) as pair:
                        left = f.sub(a.outs, out)
                        c = e.at(f, target, f.mul(out, a.t_c))
                        added = e.at(f, a.bias, f.add(f.mul(group, a.outs), out)) if bias else a.bias
                        arguments = (panel(out, rows), *pair.sources, *(e.at(f, c, x) for x in pair.targets),
                                     added, unit.offsets, a.depth, left, *pair.counts, a.t_c)
                        if rows == tile.rows:
                            f.run(tiles[rows], *arguments)
                            continue
                        few = f.compare("sle", left, short // 2)
                        with f.when(few):
                            f.run(tiles[short // 2], *arguments)
                        with f.otherwise(few):
                            f.run(tiles[short], *arguments)
    return module.text()


class _Pairs:
    """The loop over the vectors of pixels of a unit, two at a time, of the same line or not.

    ``sources``: where V's first row has them; ``targets``: and the results; ``counts``: how many are pixels.
    """

    def __init__(self, f: Function, e: Elements, unit: Units) -> None:
        self.f, self.e, self.unit = f, e, unit
        self.line, self.column = f.variable("i64", 0), f.variable("i64", 0)

    def __enter__(self) -> _Pairs:
        f, n, unit = self.f, self.e.lanes, self.unit
        total = f.mul(unit.lines, f.div(f.add(unit.width, n - 1), n))
        self._loop = f.loop(0, total, 2)
        number = self._loop.__enter__()
        first, second = self._next(), self._next()
        several = f.compare("slt", f.add(number, 1), total)
        source, target, count = (f.choose(several, "i64", x, y)
                                 for x, y in zip(second, (first[0], first[1], "0")))
        self.sources = [f.at(unit.rows, x, self.e.element) for x in (first[0], source)]
        self.targets, self.counts = (first[1], target), (first[2], count)
        return self

    def _next(self) -> tuple[str, str, str]:
        """A vector's place in a row of V, in a row of Y, and how many pixels it has."""
        f, unit, line, column = self.f, self.unit, self.line.get(), self.column.get()
        source, target = (f.add(f.mul(line, x), column) for x in (unit.apart, unit.width))
        after = f.add(column, self.e.lanes)
        over = f.compare("sge", after, unit.width)
        self.column.set(f.choose(over, "i64", 0, after))
        self.line.set(f.add(line, f.emit(f"zext i1 {over} to i64")))
        return source, target, f.sub(unit.width, column)

    def __exit__(self, *error: object) -> None:
        self._loop.__exit__(None, None, None)


_TILE = (("ptr noalias", "%a"), ("ptr noalias", "%b0"), ("ptr noalias", "%b1"), ("ptr", "%c0"),
         ("ptr", "%c1"), ("ptr noalias", "%bias"), ("ptr noalias", "%offsets"), ("i64", "%depth"),
         ("i64", "%rows"), ("i64", "%count0"), ("i64", "%count1"), ("i64", "%apart"))


def _tile(module: Module, e: Elements, tile: Tile, apart: int, bias: bool) -> Function:
    """Y = W V for two vectors of pixels; ``apart``: the rows of a packed panel."""
    with module.helper(f"tile{tile.rows}", _TILE) as f:
        targets = ("%c0", "%c1")
        with f.when(f.compare("sge", "%depth", _READY)):
            for i in range(tile.rows):
                for c in targets:
                    f.prefetch(e.at(f, c, f.mul("%apart", i)), 1, write=True)
        acc, weights = Accumulators(f, tile), f.variable("ptr", "%a")
        with f.loop(0, "%depth") as k:
            w, at = weights.get(), entry(f, "%offsets", k)
            read = [f.read(e.kind, f.at(b, at, e.element), e.width) for b in ("%b0", "%b1")]
            acc.add_product(f, w, read)
            weights.set(f.at(w, apart, e.element))

        def emit(i: Value, j: int, value: str, mask: str) -> None:
            if bias:
                added = f.splat(e.read_one(f, e.at(f, "%bias", i)), e.lanes, e.element)
                value = arithmetic(f, "fadd", e.kind, value, added)
            e.write(f, value, e.at(f, targets[j], f.mul("%apart", i)), mask)
        _finish(f, e, acc, emit)
    return f


def _finish(f: Function, e: Elements, acc: Accumulators,
            emit: Callable[[Value, int, str, str], None]) -> None:
    """Hand the vectors to ``emit``: from their registers if there are all rows, else in a loop."""
    tile = acc.tile
    masks = [f.first_lanes(count, e.lanes) for count in ("%count0", "%count1")]
    deep = f.compare("sge", "%rows", tile.rows)
    wide = f.emit(f"and i1 {f.compare('sge', '%count0', e.lanes)}, {f.compare('sge', '%count1', e.lanes)}")
    with f.when(deep):
        for whole, condition in ((True, f.when), (False, f.otherwise)):
            with condition(wide):
                for j in range(tile.vectors):
                    for i in range(tile.rows):
                        emit(i, j, acc.get(i, j), "" if whole else masks[j])
    with f.otherwise(deep):
        buffer = spilled(f, acc, tile.columns)
        with f.loop(0, "%rows") as row:
            for j, mask in enumerate(masks):
                at = f.at(buffer, f.add(f.mul(row, tile.columns), j * tile.lanes), e.element)
                emit(row, j, f.read(e.kind, at, e.width), mask)


# --- the gradient by the weight -----------------------------------------------------------------------------

def rows_and_columns() -> tuple[int, int]:
    """Rows of dY and of V that a tile multiplies. Rows of V come for each tap: mostly a multiple of 3."""
    return (8 if machine().registers == 32 else 4), 3


def sums_of_tile(e: Elements) -> int:
    """Whole vectors."""
    rows, columns = rows_and_columns()
    return -(-rows * columns // e.lanes) * e.lanes


def weight_module(e: Elements, step: int) -> str:
    """Code of ``add_up_planes``: sums[range][group][out / rows][k / columns][rows][columns]."""
    module = Module()
    rows, columns = rows_and_columns()
    size, tiles = sums_of_tile(e), [_sum_tile(module, e, n, columns) for n in (rows // 2, rows)]
    with module.kernel("add_up_planes") as f:
        a = registers(f, WEIGHT_POINTERS, WEIGHT_NUMBERS)
        with f.loop(f.begin, f.end) as task, Units(f, a, e, task, step) as unit:
            grad = e.at(f, a.grad, unit.place)
            first = f.emit(f"zext i1 {unit.first} to i64")
            to = f.variable("ptr", f.at(a.sums, f.mul(task, a.sum_range), e.element))
            with f.loop(0, a.outs, rows) as out:
                left, following = f.sub(a.outs, out), f.variable("i64", f.add(out, rows))
                few = f.compare("sle", left, rows // 2)
                with f.loop(0, a.depth, columns) as k:
                    g, offsets = e.at(f, grad, f.mul(out, a.t_c)), f.at(unit.offsets, k, "i64")
                    # Each tile asks for a row of those that come next.
                    ahead = e.at(f, grad, f.mul(f.least(following.get(), f.sub(a.outs, 1)), a.t_c))
                    following.set(f.add(following.get(), 1))
                    arguments = (g, unit.rows, offsets, to.get(), ahead, a.t_c, unit.lines, unit.width,
                                 unit.apart, left, first)
                    with f.when(few):
                        f.run(tiles[0], *arguments)
                    with f.otherwise(few):
                        f.run(tiles[1], *arguments)
                    to.set(f.at(to.get(), size, e.element))
    return module.text()


def _sum_tile(module: Module, e: Elements, rows: int, columns: int) -> Function:
    """S (+)= dY V^T for a tile: sums along both; of ``left`` rows the last one stands for those missing."""
    parameters = [("ptr noalias", "%g"), ("ptr noalias", "%rows"), ("ptr noalias", "%offsets"),
                  ("ptr noalias", "%s"), ("ptr", "%ahead"), ("i64", "%g_step"), ("i64", "%lines"),
                  ("i64", "%width"), ("i64", "%apart"), ("i64", "%left"), ("i64", "%first")]
    with module.helper(f"sums{rows}", parameters) as f:
        last = f.sub("%left", 1)
        grads = [e.at(f, "%g", f.mul(f.least(i, last), "%g_step")) for i in range(rows)]
        firsts = [f.at("%rows", entry(f, "%offsets", j), e.element) for j in range(columns)]
        pixels = [f.variable("ptr", first) for first in firsts]
        acc = [f.variable(e.kind, "zeroinitializer") for _ in range(rows * columns)]

        def step(at: str, mask: str) -> None:
            x = [e.read(f, e.at(f, grad, at), mask) for grad in grads]
            places = [f.at(row.get(), at, e.element) for row in pixels]
            y = [f.read_masked(e.kind, place, mask, e.width) if mask else f.read(e.kind, place, e.width)
                 for place in places]
            for i in range(rows):
                for j in range(columns):
                    total = acc[i * columns + j]
                    total.set(f.fma(e.kind, x[i], y[j], total.get()))
        whole = f.emit(f"and i64 %width, {-e.lanes}")
        rest, between = f.sub("%width", whole), f.sub("%apart", "%width")
        some, mask = f.compare("sgt", rest, 0), f.first_lanes(rest, e.lanes)
        with f.loop(0, "%lines") as line:
            start = f.mul(line, "%width")
            end = f.add(start, whole)
            with f.loop(start, end, e.lanes) as at:
                f.prefetch(e.at(f, "%ahead", at), SECOND_CACHE)
                step(at, "")
            with f.when(some):
                step(end, mask)
            for row in pixels:
                row.set(f.at(row.get(), between, e.element))
        _add_lanes(f, e, [total.get() for total in acc])
    return f


def _add_lanes(f: Function, e: Elements, vectors: list[str]) -> None:
    """S (+)= the sum of the lanes of each vector."""
    fresh = f.compare("ne", "%first", 0)
    for first in range(0, len(vectors), e.lanes):
        some = vectors[first:first + e.lanes]
        while len(some) & len(some) - 1:    # pairs, pairs of pairs, ...
            some.append(some[0])
        sums, to = sums_of(f, e.kind, e.lanes, some), f.at("%s", first, e.element)
        with f.when(fresh):
            f.write(e.kind, sums, to, e.width)
        with f.otherwise(fresh):
            f.write(e.kind, arithmetic(f, "fadd", e.kind, f.read(e.kind, to, e.width), sums), to, e.width)


def finish_module(e: Elements) -> str:
    """Code of ``finish_planes``: a task adds the ranges of a few output channels of a group."""
    module = Module()
    rows, columns = rows_and_columns()
    size = sums_of_tile(e)
    with module.kernel("finish_planes") as f:
        a = registers(f, FINISH_POINTERS, FINISH_NUMBERS)
        blocks = f.div(f.add(a.depth, columns - 1), columns)
        with f.loop(f.begin, f.end) as task:
            group, out = f.div(task, a.blocks_out), f.mul(f.rem(task, a.blocks_out), rows)
            first = f.add(f.mul(group, a.sum_range), f.mul(f.div(out, rows), f.mul(blocks, size)))
            target = e.at(f, a.target, f.mul(f.add(f.mul(group, a.outs), out), a.depth))
            count = f.least(f.sub(a.outs, out), rows)
            with f.loop(0, blocks) as block:
                place = f.at(a.sums, f.add(first, f.mul(block, size)), e.element)
                totals = []
                for lane in range(0, size, e.lanes):
                    total = f.variable(e.kind, f.read(e.kind, f.at(place, lane, e.element), e.width))
                    with f.loop(1, a.ranges) as k:
                        at = f.at(place, f.add(f.mul(k, f.mul(a.groups, a.sum_range)), lane), e.element)
                        total.set(arithmetic(f, "fadd", e.kind, total.get(), f.read(e.kind, at, e.width)))
                    totals.append(total.get())
                square = kept(f, e, totals)
                k = f.mul(block, columns)
                with f.loop(0, count) as i, f.loop(0, f.least(f.sub(a.depth, k), columns)) as j:
                    one = f.read(e.element, f.at(square, f.add(f.mul(i, columns), j), e.element), e.width)
                    e.write_one(f, one, e.at(f, target, f.add(f.mul(i, a.depth), f.add(k, j))))
    return module.text()
