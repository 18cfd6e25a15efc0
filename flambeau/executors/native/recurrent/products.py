"""Products of a few rows with packed panels, for recurrent layers: within the loop over time and before it.

A product is cut into tiles of a few rows; whatever the tile, an element is summed in the same order, so that
results do not depend on how rows are shared out.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..llvm.build import Function, Module, Value
from ..llvm.emitter import Dtype
from ..llvm.lanes import read_lanes, write_lanes
from ..products.microkernel import Accumulators, Tile, accumulate, finish, tile_of
from ..products.packing import packer, padded_in_code

# The arguments of the kernels, a word each.
PACK = ("source", "panels", "count", "depth", "across", "along")
BIAS = ("first", "second", "total", "rest", "width", "both")
PROJECT = ("input", "row", "step", "depth", "panels", "bias", "target", "target_row", "columns", "rows",
           "rows_per_task")


class Arguments:
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


class Products:
    """Writes products into a module.

    Rows are read where they lie, so a tile has 8 of them at most: with more, their addresses do not fit into
    registers. Two tiles of 8 also read the panels for 16 rows better than 12 and 4 would.
    """

    def __init__(self, dtype: Dtype) -> None:
        self.dtype = dtype
        self.tile = tile_of(dtype.itemsize)
        self.element = self.tile.element
        self.module = Module()
        largest = min(8, self.tile.rows)
        self.variants = [self._tile(n) for n in sorted({1, 2, 4, largest}, reverse=True) if n <= largest]
        self.product = self._product()

    def at(self, f: Function, pointer: str, index: Value) -> str:
        return f.at(pointer, index, self.element)

    def row_at(self, f: Function, pointer: str, row: Value, stride: Value) -> str:
        return self.at(f, pointer, f.mul(row, stride))

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


def products_text(dtype: Dtype) -> str:
    """The module of what is done before the loop: ``pack``, ``bias``, ``project``."""
    writer = Before(dtype)
    writer.pack_kernel()
    writer.bias_kernel()
    writer.project_kernel()
    return writer.module.text()


class Before(Products):
    """The kernels that run before the loop over time."""

    def pack_kernel(self) -> None:
        """A task is a panel of columns."""
        panel = packer(self.module, "panel", self.dtype, self.tile.columns, self.tile.lanes)
        with self.module.kernel("pack") as f:
            given = Arguments(f, PACK)
            count, depth, across = (given.number(name) for name in ("count", "depth", "across"))
            size = f.mul(padded_in_code(f, depth, self.tile.lanes), self.tile.columns)
            with f.loop(f.begin, f.end) as task:
                column = f.mul(task, self.tile.columns)
                f.run(panel, self.row_at(f, given.pointer("source"), column, across),
                      self.row_at(f, given.pointer("panels"), task, size),
                      f.least(f.sub(count, column), self.tile.columns), depth, across, given.number("along"))

    def bias_kernel(self) -> None:
        """total = first + second up to column ``both``, first behind it; rest = second behind it."""
        with self.module.kernel("bias") as f:
            given = Arguments(f, BIAS)
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

    def project_kernel(self) -> None:
        """The products of the inputs of all steps, plus the bias; a task is a block of rows."""
        with self.module.kernel("project") as f:
            given = Arguments(f, PROJECT)
            per_task, row, target_row = (given.number(n) for n in ("rows_per_task", "row", "target_row"))
            with f.loop(f.begin, f.end) as task:
                first = f.mul(task, per_task)
                f.run(self.product, f.least(per_task, f.sub(given.number("rows"), first)),
                      self.row_at(f, given.pointer("input"), first, row), row, given.number("step"),
                      given.number("depth"), given.pointer("panels"), given.pointer("bias"), 0,
                      self.row_at(f, given.pointer("target"), first, target_row), target_row,
                      given.number("columns"))
