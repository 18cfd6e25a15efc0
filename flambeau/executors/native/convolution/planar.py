"""Kernels of convolutions of few channels whose pixels lie side by side: pixels are columns of products.

    V[k][pixel] = source[c][where the tap meets the pixel],  k = (c, tap)
    forward:                   Y[o][pixel] = sum over k of W[o][k] V[k][pixel]
    gradient by the weight:    dW[o][k] = sum over pixels of dY[o][pixel] V[k][pixel]

A row of V is made of parts of lines of the source, so it is copied, not gathered; Y and dY are written and
read where they lie. Nothing is transposed, which with few channels would cost as much as the products.

A unit is some lines of the grid of one image. A task has a range of the units of a group. The forward one
packs W once, then multiplies with the register-tiled microkernel. The gradient's products are sums along
memory in both operands: a tile multiplies vectors of pixels of a few rows of dY with those of a few rows of
V, and adds up lanes at the end of a unit. Ranges are added by a second call, in their order.
"""

from __future__ import annotations

from ..llvm.build import Function, Module, Value
from ..products.lanes import sums_of
from ..products.microkernel import Accumulators, Tile, accumulate, finish
from ..products.packing import packer, padded_in_code
from .arguments import Registers, entry, registers
from .vectors import Elements, arithmetic, kept, pixels_apart, pixels_between

_NUMBERS = ("s_n", "s_a", "s_b", "s_group", "step_a", "step_b", "before_a", "before_b", "extent_a",
            "extent_b", "grid_b", "grid_w", "lines", "lines_each", "depth", "v_at", "v_step", "batch",
            "groups", "chunks", "ranges", "outs", "t_n", "t_c", "t_group")
FORWARD_POINTERS = ("source", "weight", "bias", "target")
FORWARD_NUMBERS = (*_NUMBERS, "w_out", "w_group")
WEIGHT_POINTERS = ("source", "grad", "sums")
WEIGHT_NUMBERS = (*_NUMBERS, "sum_range")
FINISH_POINTERS = ("sums", "target")
FINISH_NUMBERS = ("ranges", "groups", "sum_range", "outs", "depth", "blocks_out")
_READY = 48     # steps of the depth from which on a tile lasts long enough to ask for its place in Y


def forward_module(e: Elements, tile: Tile, bias: bool, step: int) -> str:
    """Code of ``convolve_planes``; ``step``: how far apart the pixels of neighbouring results lie, 1 or 2."""
    module = Module()
    pack = packer(module, "pack_a", e.dtype, tile.rows, e.lanes)
    counts = [n for n in (4, 8) if n < tile.rows] + [tile.rows]
    tiles = [(n, _tile(module, e, tile._replace(rows=n), tile.rows, bias)) for n in counts]
    with module.kernel("convolve_planes") as f:
        a = registers(f, FORWARD_POINTERS, FORWARD_NUMBERS)
        size = padded_in_code(f, a.depth, e.lanes)
        v = f.at(f.scratch, a.v_at, "i8")
        with f.loop(f.begin, f.end) as task:
            group = f.rem(task, a.groups)
            weight = e.at(f, a.weight, f.mul(group, a.w_group))
            with f.loop(0, a.outs, tile.rows) as out:
                panel = f.at(f.scratch, f.mul(out, size), e.element)
                f.run(pack, e.at(f, weight, f.mul(out, a.w_out)), panel,
                      f.least(f.sub(a.outs, out), tile.rows), a.depth, a.w_out, 1)
            with _Units(f, a, e, task, v, step) as unit:
                target = e.at(f, a.target, unit.place)
                with f.loop(0, a.outs, tile.rows) as out, f.loop(0, unit.pixels, tile.columns) as column:
                    rows, columns = f.sub(a.outs, out), f.sub(unit.pixels, column)
                    c = e.at(f, target, f.add(f.mul(out, a.t_c), column))
                    added = e.at(f, a.bias, f.add(f.mul(group, a.outs), out)) if bias else a.bias
                    w, x = f.at(f.scratch, f.mul(out, size), e.element), f.at(v, column, e.element)
                    below = 0
                    for number, (count, function) in enumerate(tiles):
                        fits = f.compare("sgt", rows, below)
                        if number < len(tiles) - 1:
                            fits = f.emit(f"and i1 {fits}, {f.compare('sle', rows, count)}")
                        with f.when(fits):
                            f.run(function, w, x, c, added, a.depth, a.v_step, rows, columns, a.t_c)
                        below = count
    return module.text()


def _tile(module: Module, e: Elements, tile: Tile, apart: int, bias: bool) -> Function:
    """Y = W V for a tile; ``apart``: the rows of a packed panel."""
    parameters = [("ptr noalias", "%a"), ("ptr noalias", "%b"), ("ptr noalias", "%c"),
                  ("ptr noalias", "%bias"), ("i64", "%depth"), ("i64", "%b_step"), ("i64", "%rows"),
                  ("i64", "%columns"), ("i64", "%apart")]
    with module.helper(f"tile{tile.rows}", parameters) as f:
        with f.when(f.compare("sge", "%depth", _READY)):
            for i in range(tile.rows):
                for j in range(tile.vectors):
                    f.prefetch(e.at(f, "%c", f.add(f.mul("%apart", i), j * tile.lanes)), 1, write=True)
        acc = Accumulators(f, tile)
        accumulate(f, acc, "%depth", "%a", "%b", a_row=1, a_step=apart, b_step="%b_step")

        def emit(i: Value, j: int, value: str, mask: str | None) -> None:
            if bias:
                added = f.splat(e.read_one(f, e.at(f, "%bias", i)), e.lanes, e.element)
                value = arithmetic(f, "fadd", e.kind, value, added)
            e.write(f, value, e.at(f, "%c", f.add(f.mul("%apart", i), j * tile.lanes)), mask or "")
        finish(f, acc, "%rows", "%columns", emit)
    return f


class _Units:
    """The loop over a task's units: V is filled, then comes what the ``with`` statement holds.

    ``pixels``: of the unit; ``place``: its first one in Y; ``first``: whether it is the task's first unit.
    """

    def __init__(self, f: Function, a: Registers, e: Elements, task: str, v: str, step: int) -> None:
        self.f, self.a, self.e, self.v, self.step = f, a, e, v, step
        self.group, range_ = f.rem(task, a.groups), f.div(task, a.groups)
        total = f.mul(a.batch, a.chunks)
        self.begin = f.div(f.mul(range_, total), a.ranges)
        self.end = f.div(f.mul(f.add(range_, 1), total), a.ranges)

    def __enter__(self) -> _Units:
        f, a = self.f, self.a
        self._loop = f.loop(self.begin, self.end)
        unit = self._loop.__enter__()
        self.first = f.compare("eq", unit, self.begin)
        image, line = f.div(unit, a.chunks), f.mul(f.rem(unit, a.chunks), a.lines_each)
        lines = f.least(a.lines_each, f.sub(a.lines, line))
        self.pixels = f.mul(lines, a.grid_w)
        self.place = f.add(f.add(f.mul(image, a.t_n), f.mul(self.group, a.t_group)), f.mul(line, a.grid_w))
        source = f.add(f.mul(image, a.s_n), f.mul(self.group, a.s_group))
        self._fill(self.e.at(f, a.source, source), line, lines)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.__exit__(None, None, None)

    def _fill(self, source: str, line: str, lines: str) -> None:
        """V of some lines, and behind them a vector of zeros.

        What a line writes too much are zeros, in the place of the next one.
        """
        f, a, e = self.f, self.a, self.e
        with f.loop(0, a.depth) as k:
            end = f.at(self.v, f.add(f.mul(k, a.v_step), self.pixels), e.element)
            f.write(e.kind, "zeroinitializer", end, e.width)
        with f.loop(0, lines) as i:
            number = f.add(line, i)
            at_a = f.sub(f.mul(f.div(number, a.grid_b), a.step_a), a.before_a)
            at_b = f.sub(f.mul(f.rem(number, a.grid_b), a.step_b), a.before_b)
            start = e.at(f, source, f.add(f.mul(at_a, a.s_a), f.mul(at_b, a.s_b)))
            to = f.at(self.v, f.mul(i, a.grid_w), e.element)
            with f.loop(0, a.depth) as k:
                place, in_a, in_b, first, last = (entry(f, a.table, f.add(f.mul(k, 5), n)) for n in range(5))
                good = f.emit(f"and i1 {f.compare('ult', f.add(at_a, in_a), a.extent_a)}, "
                              f"{f.compare('ult', f.add(at_b, in_b), a.extent_b)}")
                self._line(e.at(f, start, place), f.at(to, f.mul(k, a.v_step), e.element), first,
                           f.choose(good, "i64", last, first))

    def _line(self, source: str, to: str, first: str, stop: str) -> None:
        """A line of a row of V: zeros but from ``first`` to ``stop``."""
        f, e, n = self.f, self.e, self.e.lanes
        with f.loop(0, self.a.grid_w, n) as w:
            from_, place = e.at(f, source, f.mul(w, self.step)), f.at(to, w, e.element)
            inside = f.emit(f"and i1 {f.compare('sge', w, first)}, {f.compare('sle', f.add(w, n), stop)}")
            with f.when(inside):
                f.write(e.kind, pixels_apart(f, e, from_, self.step), place, e.width)
            with f.otherwise(inside):
                some = pixels_between(f, e, from_, self.step, f.sub(first, w), f.sub(stop, w))
                f.write(e.kind, some, place, e.width)


# --- the gradient by the weight -----------------------------------------------------------------------------

def rows_and_columns(e: Elements) -> tuple[int, int]:
    """Rows of dY and of V that a tile multiplies: as many pairs as a vector has lanes."""
    rows = min(4, e.lanes)
    return rows, e.lanes // rows


def weight_module(e: Elements, step: int) -> str:
    """Code of ``add_up_planes``: sums[range][group][out / rows][k / columns][rows][columns]."""
    module = Module()
    rows, columns = rows_and_columns(e)
    tile = _sum_tile(module, e, rows, columns)
    with module.kernel("add_up_planes") as f:
        a = registers(f, WEIGHT_POINTERS, WEIGHT_NUMBERS)
        v = f.at(f.scratch, a.v_at, "i8")
        with f.loop(f.begin, f.end) as task, _Units(f, a, e, task, v, step) as unit:
            grad = e.at(f, a.grad, unit.place)
            first = f.emit(f"zext i1 {unit.first} to i64")
            to = f.variable("ptr", f.at(a.sums, f.mul(task, a.sum_range), e.element))
            with f.loop(0, a.outs, rows) as out, f.loop(0, a.depth, columns) as k:
                f.run(tile, e.at(f, grad, f.mul(out, a.t_c)), f.at(v, f.mul(k, a.v_step), e.element),
                      to.get(), a.t_c, a.v_step, unit.pixels, f.sub(a.outs, out), first)
                to.set(f.at(to.get(), e.lanes, e.element))
    return module.text()


def _sum_tile(module: Module, e: Elements, rows: int, columns: int) -> Function:
    """S (+)= dY V^T for a tile: sums along both; of ``left`` rows the last one stands for those missing."""
    parameters = [("ptr noalias", "%g"), ("ptr noalias", "%v"), ("ptr noalias", "%s"), ("i64", "%g_step"),
                  ("i64", "%v_step"), ("i64", "%pixels"), ("i64", "%left"), ("i64", "%first")]
    with module.helper("sums", parameters) as f:
        last = f.sub("%left", 1)
        grads = [e.at(f, "%g", f.mul(f.least(i, last), "%g_step")) for i in range(rows)]
        from_v = [f.at("%v", f.mul("%v_step", j), e.element) for j in range(columns)]
        acc = [f.variable(e.kind, "zeroinitializer") for _ in range(rows * columns)]

        def step(at: str, mask: str) -> None:
            x = [e.read(f, e.at(f, grad, at), mask) for grad in grads]
            y = [f.read(e.kind, f.at(row, at, e.element), e.width) for row in from_v]
            for i in range(rows):
                for j in range(columns):
                    total = acc[i * columns + j]
                    total.set(f.fma(e.kind, x[i], y[j], total.get()))
        whole = f.emit(f"and i64 %pixels, {-e.lanes}")
        with f.loop(0, whole, e.lanes) as at:
            step(at, "")
        rest = f.sub("%pixels", whole)
        with f.when(f.compare("sgt", rest, 0)):
            step(whole, f.first_lanes(rest, e.lanes))
        sums = sums_of(f, e.kind, e.lanes, [total.get() for total in acc])
        fresh = f.compare("ne", "%first", 0)
        with f.when(fresh):
            f.write(e.kind, sums, "%s", e.width)
        with f.otherwise(fresh):
            f.write(e.kind, arithmetic(f, "fadd", e.kind, f.read(e.kind, "%s", e.width), sums), "%s", e.width)
    return f


def finish_module(e: Elements) -> str:
    """Code of ``finish_planes``: a task adds the ranges of a few output channels of a group."""
    module = Module()
    rows, columns = rows_and_columns(e)
    with module.kernel("finish_planes") as f:
        a = registers(f, FINISH_POINTERS, FINISH_NUMBERS)
        blocks = f.div(f.add(a.depth, columns - 1), columns)
        with f.loop(f.begin, f.end) as task:
            group, out = f.div(task, a.blocks_out), f.mul(f.rem(task, a.blocks_out), rows)
            first = f.add(f.mul(group, a.sum_range), f.mul(f.div(out, rows), f.mul(blocks, e.lanes)))
            target = e.at(f, a.target, f.mul(f.add(f.mul(group, a.outs), out), a.depth))
            count = f.least(f.sub(a.outs, out), rows)
            with f.loop(0, blocks) as block:
                place = f.at(a.sums, f.add(first, f.mul(block, e.lanes)), e.element)
                total = f.variable(e.kind, f.read(e.kind, place, e.width))
                with f.loop(1, a.ranges) as k:
                    at = f.at(place, f.mul(k, f.mul(a.groups, a.sum_range)), e.element)
                    total.set(arithmetic(f, "fadd", e.kind, total.get(), f.read(e.kind, at, e.width)))
                square = kept(f, e, [total.get()])
                k = f.mul(block, columns)
                with f.loop(0, count) as i, f.loop(0, f.least(f.sub(a.depth, k), columns)) as j:
                    one = f.read(e.element, f.at(square, f.add(f.mul(i, columns), j), e.element), e.width)
                    e.write_one(f, one, e.at(f, target, f.add(f.mul(i, a.depth), f.add(k, j))))
    return module.text()
