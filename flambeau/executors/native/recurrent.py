"""Recurrent layers: the loop over time inside one native call.

The recurrent weights are packed once into panels of columns. A task is a block of sequences (rows of the
batch): it walks through all steps of its rows, since the rows of a batch never meet, so threads need no
barrier, and its state stays in the cache:

    forward    gates[t] += h W_hh^T;  gates[t], c, h = functions of gates[t], c
    backward   dgates[t], dc = functions of the kept gates, dh, dc;  dh = dgates[t] W_hh

The products with the input are made in the loop as well where both weights stay in the second cache, else
before it for all steps at once. Gates are computed in scratch memory: only what backward needs is written.
How the rows of steps lie: Note: sequences.

A product of a few rows with packed panels is cut into tiles of 12, 8, 4, 2 and 1 rows; whatever the tile, an
element is summed in the same order, so results do not depend on how rows are shared out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .build import Function, Module, Value
from .code import functions_of
from .emitter import Dtype
from .lanes import read_lanes, write_lanes
from .microkernel import Accumulators, Tile, accumulate, finish, tile_of
from .packing import packer, padded_in_code
from .recurrent_rows import Rows

# The arguments of the kernels, a word each.
PACK = ("source", "panels", "count", "depth", "across", "along")
BIAS = ("first", "second", "total", "rest", "width", "both")
PROJECT = ("input", "row", "step", "depth", "panels", "bias", "target", "target_row", "columns", "rows",
           "rows_per_task")
TIME = ("batch", "rows_per_task", "steps", "rows", "down", "sizes", "sizes_step", "width")
FORWARD = (*TIME, "panels", "panels_n", "bias_n", "input", "input_row", "input_step", "depth", "input_panels",
           "bias", "projected", "h0", "h0_row", "c0", "c0_row", "output", "h", "c", "gates", "h_before",
           "c_before")
BACKWARD = (*TIME, "panels", "grad", "grad_step", "grad_place", "grad_row", "grad_h", "grad_h_row", "grad_c",
            "grad_c_row", "gates", "before", "dgates", "drecurrent", "dh", "dc")

KINDS = ("lstm", "gru", "tanh", "relu")

# How many numbers a layer keeps of each state of each step, and how many of them are products with the input.
KEPT = {"lstm": 4, "gru": 4, "tanh": 1, "relu": 1}
GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def rows_of_a_task(batch: int) -> int:
    """How many sequences a task takes: enough to use the weights well that it reads at each step."""
    tasks = -(-batch // 16) if batch >= 32 else 2 if batch >= 8 else 1
    return max(1, -(-batch // tasks))


@functools.cache
def kernels(dtype: Dtype, kind: str) -> dict[str, int]:
    """The addresses of a module's kernels.

    ``kind``: one of KINDS (``forward``), that and ``_backward`` (``backward``), or ``products`` (``pack``,
    ``bias``, ``project``).
    """
    return functions_of(_Writer(dtype, kind).text(), f"recurrent_{kind}")


class Step(NamedTuple):
    """One step of a block: its number, its first row among all, the block's first row and number of rows.

    ``move``: how many rows further the next step is, for padded sequences.
    """

    number: str
    at: str
    block: str
    rows: str
    move: str


class _Arguments:
    """A kernel's words by name."""

    def __init__(self, f: Function, names: Sequence[str]) -> None:
        self.f = f
        self.names = names

    def pointer(self, name: str) -> str:
        return self.f.word(self.names.index(name), "ptr")

    def number(self, name: str) -> str:
        return self.f.word(self.names.index(name))

    def is_given(self, name: str) -> str:
        return self.f.emit(f"icmp ne ptr {self.pointer(name)}, null")


class _Writer:
    """Writes the module of one kind of layer and element type."""

    def __init__(self, dtype: Dtype, kind: str) -> None:
        self.dtype = dtype
        self.kind, _, self.backward = kind.partition("_")
        self.tile = tile_of(dtype.itemsize)
        self.element = self.tile.element
        self.module = Module()
        self.rows = Rows(self.module, dtype)

    def text(self) -> str:
        # Of 16 rows, two halves read the panels better than 12 and 4 would.
        counts = {1, 2, 4, 8, self.tile.rows} if self.kind == "products" else {1, 2, 4, 8}
        self.variants = [self._tile(n) for n in sorted(counts, reverse=True) if n <= self.tile.rows]
        self.product = self._product()
        if self.kind == "products":
            self._pack_kernel()
            self._bias_kernel()
            self._project_kernel()
            return self.module.text()
        self.copy = self._copy()
        if self.backward:
            self.fetch = [self._fetch(name, write) for name, write in (("read", 0), ("written", 1))]
            self._backward_kernel()
        else:
            self._forward_kernel()
        return self.module.text()

    def at(self, f: Function, pointer: str, index: Value) -> str:
        return f.at(pointer, index, self.element)

    def row_at(self, f: Function, pointer: str, row: Value, stride: Value) -> str:
        return self.at(f, pointer, f.mul(row, stride))

    # --- products of a few rows -----------------------------------------------------------------------------

    def _tile(self, rows: int) -> tuple[Tile, Function]:
        """C (rows x columns) = initial + A B of one panel."""
        tile = self.tile._replace(rows=rows)
        parameters = [("ptr", "%a"), ("i64", "%a_row"), ("i64", "%a_step"), ("i64", "%depth"),
                      ("ptr", "%panel"), ("ptr", "%initial"), ("i64", "%initial_row"), ("ptr", "%c"),
                      ("i64", "%c_row"), ("i64", "%columns")]
        with self.module.helper(f"tile_{rows}", parameters) as f:
            acc = Accumulators(f, tile)
            accumulate(f, acc, "%depth", "%a", "%panel", a_row="%a_row", a_step="%a_step")

            def emit(i: Value, j: int, value: str, mask: str | None) -> None:
                start = self.at(f, self.row_at(f, "%initial", i, "%initial_row"), j * tile.lanes)
                total = f.emit(f"fadd {tile.vector} {value}, "
                               f"{read_lanes(f, self.dtype, tile.lanes, start, mask)}")
                target = self.at(f, self.row_at(f, "%c", i, "%c_row"), j * tile.lanes)
                write_lanes(f, self.dtype, tile.lanes, total, target, mask)

            finish(f, acc, rows, "%columns", emit)
        return tile, f

    def _product(self) -> Function:
        """All columns of some rows; a panel stays in the first cache for all tiles of rows."""
        parameters = [("i64", "%rows"), ("ptr", "%a"), ("i64", "%a_row"), ("i64", "%a_step"),
                      ("i64", "%depth"), ("ptr", "%panels"), ("ptr", "%initial"), ("i64", "%initial_row"),
                      ("ptr", "%c"), ("i64", "%c_row"), ("i64", "%columns")]
        with self.module.helper("product", parameters) as f:
            size = f.mul(padded_in_code(f, "%depth", self.tile.lanes), self.tile.columns)
            panel = f.variable("ptr", "%panels")
            with f.loop(0, "%columns", self.tile.columns) as column:
                row = f.variable("i64", 0)
                columns = f.sub("%columns", column)
                for tile, function in self.variants:
                    whole = f.mul(f.div(f.sub("%rows", row.get()), tile.rows), tile.rows)
                    with f.loop(row.get(), f.add(row.get(), whole), tile.rows) as i:
                        f.run(function, self.row_at(f, "%a", i, "%a_row"), "%a_row", "%a_step", "%depth",
                              panel.get(), self.at(f, self.row_at(f, "%initial", i, "%initial_row"), column),
                              "%initial_row", self.at(f, self.row_at(f, "%c", i, "%c_row"), column), "%c_row",
                              columns)
                    row.set(f.add(row.get(), whole))
                panel.set(self.at(f, panel.get(), size))
        return f

    def _copy(self) -> Function:
        """Rows copied, or zeros where the source is null."""
        parameters = [("i64", "%rows"), ("i64", "%width"), ("ptr", "%source"), ("i64", "%source_row"),
                      ("ptr noalias", "%target")]
        with self.module.helper("copy", parameters) as f:
            given, size = f.emit("icmp ne ptr %source, null"), self.dtype.itemsize
            with f.loop(0, "%rows") as i:
                target = self.row_at(f, "%target", i, "%width")
                with f.when(given):
                    source = self.row_at(f, "%source", i, "%source_row")
                    with f.loop(0, "%width") as k:
                        value = f.read(self.element, self.at(f, source, k), size)
                        f.write(self.element, value, self.at(f, target, k), size)
                with f.otherwise(given), f.loop(0, "%width") as k:
                    f.write(self.element, "0.0", self.at(f, target, k), size)
        return f

    def _fetch(self, name: str, write: int) -> Function:
        """Have the cache lines of some elements come, which may lie outside of all memory.

        What a step reads and writes is in pieces too short for the hardware to foresee.
        """
        with self.module.helper(f"to_be_{name}", [("ptr", "%row"), ("i64", "%count")]) as f:
            f.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
            with f.loop(0, "%count", 64 // self.dtype.itemsize) as k:
                line = f.emit(f"getelementptr {self.element}, ptr %row, i64 {k}")
                f.effect(f"call void @llvm.prefetch.p0(ptr {line}, i32 {write}, i32 2, i32 1)")
        return f

    # --- before the loop ------------------------------------------------------------------------------------

    def _pack_kernel(self) -> None:
        """A task is a panel of columns."""
        panel = packer(self.module, "panel", self.dtype, self.tile.columns, self.tile.lanes)
        with self.module.kernel("pack") as f:
            given = _Arguments(f, PACK)
            count, depth, across = (given.number(name) for name in ("count", "depth", "across"))
            size = f.mul(padded_in_code(f, depth, self.tile.lanes), self.tile.columns)
            with f.loop(f.begin, f.end) as task:
                column = f.mul(task, self.tile.columns)
                f.run(panel, self.row_at(f, given.pointer("source"), column, across),
                      self.row_at(f, given.pointer("panels"), task, size),
                      f.least(f.sub(count, column), self.tile.columns), depth, across, given.number("along"))

    def _bias_kernel(self) -> None:
        """total = first + second up to column ``both``, first behind it; rest = second behind it."""
        with self.module.kernel("bias") as f:
            given = _Arguments(f, BIAS)
            size = self.dtype.itemsize
            width, both = given.number("width"), given.number("both")
            total, rest = given.pointer("total"), given.pointer("rest")
            first, second = given.is_given("first"), given.is_given("second")
            with f.loop(0, width) as k:
                one = f.variable(self.element, "0.0")
                two = f.variable(self.element, "0.0")
                with f.when(first):
                    one.set(f.read(self.element, self.at(f, given.pointer("first"), k), size))
                with f.when(second):
                    two.set(f.read(self.element, self.at(f, given.pointer("second"), k), size))
                inside = f.compare("slt", k, both)
                with f.when(inside):
                    one.set(f.emit(f"fadd {self.element} {one.get()}, {two.get()}"))
                with f.otherwise(inside):
                    f.write(self.element, two.get(), self.at(f, rest, f.sub(k, both)), size)
                f.write(self.element, one.get(), self.at(f, total, k), size)

    def _project_kernel(self) -> None:
        """The products of the inputs of all steps, plus the bias; a task is a block of rows."""
        with self.module.kernel("project") as f:
            given = _Arguments(f, PROJECT)
            per_task, row, target_row = (given.number(n) for n in ("rows_per_task", "row", "target_row"))
            with f.loop(f.begin, f.end) as task:
                first = f.mul(task, per_task)
                f.run(self.product, f.least(per_task, f.sub(given.number("rows"), first)),
                      self.row_at(f, given.pointer("input"), first, row), row, given.number("step"),
                      given.number("depth"), given.pointer("panels"), given.pointer("bias"), 0,
                      self.row_at(f, given.pointer("target"), first, target_row), target_row,
                      given.number("columns"))

    # --- the loop -------------------------------------------------------------------------------------------

    def _walk(self, f: Function, given: _Arguments, begin: Callable[[str, str], None],
              step: Callable[[Step], None]) -> None:
        """``begin(first row, rows)`` for each block, then its steps in order; ``down``: from the last one."""
        batch, steps, per_task = (given.number(n) for n in ("batch", "steps", "rows_per_task"))
        down, packed = f.compare("ne", given.number("down"), 0), given.is_given("sizes")
        with f.loop(f.begin, f.end) as task:
            block = f.mul(task, per_task)
            rows = f.least(per_task, f.sub(batch, block))
            begin(block, rows)
            position = f.variable("i64", f.choose(down, "i64", given.number("rows"), "0"))
            with f.loop(0, steps) as k:
                number = f.choose(down, "i64", f.sub(f.sub(steps, 1), k), k)
                count = f.variable("i64", batch)
                with f.when(packed):
                    place = f.mul(number, given.number("sizes_step"))
                    count.set(f.read("i64", f.at(given.pointer("sizes"), place, "i64"), 8))
                before = position.get()
                at = f.choose(down, "i64", f.sub(before, count.get()), before)
                position.set(f.choose(down, "i64", at, f.add(before, count.get())))
                here = f.least(rows, f.sub(count.get(), block))
                with f.when(f.compare("sgt", here, 0)):
                    step(Step(number, at, block, here, f.choose(down, "i64", f.sub(0, batch), batch)))

    def _forward_kernel(self) -> None:
        with self.module.kernel("forward") as f:
            given = _Arguments(f, FORWARD)
            width, has_cells = given.number("width"), self.kind == "lstm"

            def begin(block: str, rows: str) -> None:
                for name in ("h", "c")[:1 + has_cells]:
                    stride = given.number(f"{name}0_row")
                    start = given.pointer(f"{name}0")
                    moved = self.row_at(f, start, block, stride)
                    source = f.choose(given.is_given(f"{name}0"), "ptr", moved, "null")
                    f.run(self.copy, rows, width, source, stride,
                          self.row_at(f, given.pointer(name), block, width))

            def step(now: Step) -> None:
                state = self.row_at(f, given.pointer("h"), now.block, width)
                row = f.add(now.at, now.block)
                with f.when(given.is_given("h_before")):
                    f.run(self.copy, now.rows, width, state, width,
                          self.row_at(f, given.pointer("h_before"), row, width))
                self._forward_step(f, given, now, row, state, width)

            self._walk(f, given, begin, step)

    def _forward_step(self, f: Function, given: _Arguments, now: Step, row: str, state: str,
                      width: str) -> None:
        """In scratch memory a row for results that nobody wants, then the gates of the block."""
        kept = f.mul(width, KEPT[self.kind])
        unwanted, gates = f.scratch, self.at(f, f.scratch, kept)
        self._input_products(f, given, now, row, gates, kept, width)
        first = f.mul(width, {"gru": 2}.get(self.kind, KEPT[self.kind]))
        f.run(self.product, now.rows, state, width, 1, width, given.pointer("panels"), gates, kept, gates,
              kept, first)
        if self.kind == "gru":
            lifted = self.at(f, gates, f.mul(width, 3))
            f.run(self.product, now.rows, state, width, 1, width, given.pointer("panels_n"),
                  given.pointer("bias_n"), 0, lifted, kept, width)
        keeps = given.is_given("gates")
        with f.loop(0, now.rows) as i:
            place = f.add(row, i)
            out = self.row_at(f, given.pointer("output"), place, width)
            target = f.choose(keeps, "ptr", self.row_at(f, given.pointer("gates"), place, kept), unwanted)
            h, mine = self.row_at(f, state, i, width), self.row_at(f, gates, i, kept)
            quarters = [self.at(f, start, f.mul(width, k)) for start in (mine, target) for k in range(4)]
            if self.kind == "lstm":
                c = self.row_at(f, given.pointer("c"), f.add(now.block, i), width)
                before = self.row_at(f, given.pointer("c_before"), place, width)
                before = f.choose(keeps, "ptr", before, unwanted)
                f.run(self.rows.lstm, width, *quarters[:4], c, *quarters[4:], before, h, out)
            elif self.kind == "gru":
                f.run(self.rows.gru, width, *quarters[:4], h, *quarters[4:], out)
            else:
                f.run(self.rows.plain(self.kind), width, mine, h, out)

    def _input_products(self, f: Function, given: _Arguments, now: Step, row: str, gates: str, kept: str,
                        width: str) -> None:
        """The products with the input of this step: made here, or copied."""
        inside = given.is_given("input")
        with f.when(inside):
            stride = given.number("input_row")
            f.run(self.product, now.rows, self.row_at(f, given.pointer("input"), row, stride), stride,
                  given.number("input_step"), given.number("depth"), given.pointer("input_panels"),
                  given.pointer("bias"), 0, gates, kept, f.mul(width, GATES[self.kind]))
        with f.otherwise(inside):
            f.run(self.copy, 1, f.mul(now.rows, kept), self.row_at(f, given.pointer("projected"), row, kept),
                  0, gates)

    def _backward_kernel(self) -> None:
        with self.module.kernel("backward") as f:
            given = _Arguments(f, BACKWARD)
            width = given.number("width")
            has_grad = given.is_given("grad")
            f.run(self.copy, 1, width, "null", 0, f.scratch)

            def begin(block: str, rows: str) -> None:
                for name in ("h", "c")[:1 + (self.kind == "lstm")]:
                    stride = given.number(f"grad_{name}_row")
                    moved = self.row_at(f, given.pointer(f"grad_{name}"), block, stride)
                    source = f.choose(given.is_given(f"grad_{name}"), "ptr", moved, "null")
                    f.run(self.copy, rows, width, source, stride,
                          self.row_at(f, given.pointer(f"d{name}"), block, width))

            def step(now: Step) -> None:
                place = f.add(f.mul(now.number, given.number("grad_step")),
                              f.mul(now.at, given.number("grad_place")))
                place = f.add(place, f.mul(now.block, given.number("grad_row")))
                start = self.at(f, given.pointer("grad"), place)
                grad = f.choose(has_grad, "ptr", start, f.scratch)
                self._backward_step(f, given, now, grad, width)

            self._walk(f, given, begin, step)

    def _backward_step(self, f: Function, given: _Arguments, now: Step, grad: str, width: str) -> None:
        kept, stride = f.mul(width, KEPT[self.kind]), f.mul(width, GATES[self.kind])
        row = f.add(now.at, now.block)
        gates = self.row_at(f, given.pointer("gates"), row, kept)
        before = self.row_at(f, given.pointer("before"), row, width)
        dgates = self.row_at(f, given.pointer("dgates"), row, stride)
        through = dgates
        if self.kind == "gru":
            through = self.row_at(f, given.pointer("drecurrent"), row, stride)
        dh = self.row_at(f, given.pointer("dh"), now.block, width)
        with f.loop(0, now.rows) as i:
            mine = self.row_at(f, gates, i, kept)
            of_output = self.row_at(f, grad, i, given.number("grad_row"))
            next_rows = ((self.fetch[0], mine, kept), (self.fetch[0], self.row_at(f, before, i, width), width),
                         (self.fetch[1], self.row_at(f, dgates, i, stride), stride))
            for function, start, n in next_rows:
                away = f.mul(now.move, n)
                f.run(function, f.emit(f"getelementptr {self.element}, ptr {start}, i64 {away}"), n)
            quarters = [self.at(f, mine, f.mul(width, k)) for k in range(4)]
            state, previous = self.row_at(f, dh, i, width), self.row_at(f, before, i, width)
            written = self.row_at(f, dgates, i, stride)
            parts = [self.at(f, written, f.mul(width, k)) for k in range(4)]
            if self.kind == "lstm":
                dc = self.row_at(f, given.pointer("dc"), f.add(now.block, i), width)
                f.run(self.rows.lstm_backward, width, *quarters, previous, of_output, state, dc, *parts)
            elif self.kind == "gru":
                second = self.row_at(f, through, i, stride)
                others = [self.at(f, second, f.mul(width, k)) for k in range(3)]
                f.run(self.rows.gru_backward, width, *quarters, previous, of_output, state, *parts[:3],
                      *others)
            else:
                f.run(self.rows.plain_backward(self.kind), width, mine, of_output, state, written)
        f.run(self.product, now.rows, through, stride, 1, stride, given.pointer("panels"), dh, width, dh,
              width, width)


