"""General matrix products: the code of the kernels. ``blocking.py`` chooses their arguments.

The result C (M x N) is cut into blocks of rows and columns, each of which is a task: tasks share nothing, so
any number of threads gives the same bits. Within a task, with blocks that fit the caches:

    pack the columns of B that the task needs, unless they are packed or can be read where they lie
    for each block of the depth (kc):                   # so deep that panels stay in the first cache
        for each block of rows of A (mc):               # packed: stays in the second cache
            pack it
            for each panel of B:                        # a tile's columns
                for each panel of A:                    # a tile's rows
                    microkernel: a tile of C

Batches are further tasks. Where C has the type that is computed with, it holds the sums between blocks of the
depth; else the depth is one block.
"""

from __future__ import annotations

import functools
from enum import IntEnum, auto
from typing import NamedTuple

from ..llvm.build import Function, Module
from ..llvm.code import functions_of
from ..llvm.emitter import BFLOAT16, Dtype
from .ahead import LINE, STATE, Walk, begin
from .epilogue import Epilogue, Pass, Place, Region
from .items import item_of, item_offset
from .lanes import element_at, gather_lanes, read_lanes, scatter_lanes, write_lanes
from .microkernel import Accumulators, Tile, accumulate, finish, local_array, tile_of
from .packing import packer, padded_in_code
from .packing_pairs import multiplies_pairs, pair_packer


class Word(IntEnum):
    """The arguments of the product's kernel."""

    A = 0
    B = auto()
    C = auto()
    M = auto()
    N = auto()
    K = auto()
    A_ROW = auto()          # strides in elements
    A_STEP = auto()
    B_STEP = auto()
    B_COLUMN = auto()
    C_ROW = auto()
    C_COLUMN = auto()
    MC = auto()             # rows packed at once
    KC = auto()             # depth packed at once
    ROWS = auto()           # rows and columns of a task
    COLUMNS = auto()
    ROW_BLOCKS = auto()     # tasks of an item along the rows and columns
    COLUMN_BLOCKS = auto()
    SOURCE = auto()         # how B is read
    EXTENTS = auto()        # of the batch: 3
    A_ITEM = 22             # then 3 strides for each of A, B and C
    B_ITEM = 25
    C_ITEM = 28
    END = 31


class Source(IntEnum):
    """How a task gets its part of B."""

    OWN = 0         # packs it
    DIRECT = 1      # reads it where it lies: columns are adjacent
    SHARED = 2      # it has been packed by another call


class Kind(NamedTuple):
    """What is in the code of a product."""

    source: Dtype   # of A and B in memory
    target: Dtype   # of C in memory
    compute: Dtype
    epilogue: Epilogue | None = None
    after: Pass | None = None

    @property
    def after_words(self) -> int:
        """Where the arguments of ``after`` begin."""
        return Word.END + (self.epilogue.size if self.epilogue is not None else 0)

    @property
    def pairs(self) -> bool:
        """Whether pairs of numbers are multiplied at once; then the depth is one block."""
        return self.source == self.target == BFLOAT16 and multiplies_pairs()

    @property
    def tile(self) -> Tile:
        return tile_of(self.compute.itemsize)


@functools.cache
def product_kernel(kind: Kind) -> int:
    """The address of the kernel."""
    return functions_of(product_text(kind), "product")["product"]


def product_text(kind: Kind) -> str:
    """The product's module."""
    return _Writer(kind).text()


# --- the product --------------------------------------------------------------------------------------------

_TILE = (("ptr noalias readonly", "%words"), ("ptr", "%a"), ("ptr", "%b"), ("ptr", "%c"), ("i64", "%depth"),
         ("i64", "%b_step"), ("i64", "%row"), ("i64", "%column"), ("i64", "%rows"), ("i64", "%columns"),
         ("i64", "%first"), ("i64", "%last"), ("ptr", "%ahead"), ("i64", "%i0"), ("i64", "%i1"),
         ("i64", "%i2"))
_BLOCK = (("ptr noalias readonly", "%words"), ("ptr", "%scratch"), ("i64", "%rb"), ("i64", "%cb"),
          ("i64", "%i0"), ("i64", "%i1"), ("i64", "%i2"))
_INDICES = ("%i0", "%i1", "%i2")
_DEEP = 64  # steps of the depth
_CHUNK = 8  # steps of the depth: as many lines of a cache's set as there usually are


class _Writer:
    """Writes the module of one kind of product."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.tile = kind.tile
        self.module = Module()

    def text(self) -> str:
        tile, source = self.tile, self.kind.source
        if self.kind.pairs:
            self.pack_a = pair_packer(self.module, "pack_a", tile.rows, tile.lanes)
            self.pack_b = pair_packer(self.module, "pack_b", tile.columns, tile.lanes)
        else:
            self.pack_a = packer(self.module, "pack_a", source, tile.rows, tile.lanes)
            self.pack_b = packer(self.module, "pack_b", source, tile.columns, tile.lanes)
        counts = [n for n in (4, 8) if n < tile.rows] + [tile.rows]
        self.variants = [(tile._replace(rows=n), self._tile(tile._replace(rows=n))) for n in counts]
        narrow = tile._replace(vectors=1)
        self.narrow = self._tile(narrow)
        block = self._block()
        with self.module.kernel("product") as f:
            with f.loop(f.begin, f.end) as task:
                columns = f.word(Word.COLUMN_BLOCKS)
                rest = f.div(task, columns)
                rows = f.word(Word.ROW_BLOCKS)
                item = item_of(f, f.div(rest, rows), Word.EXTENTS)
                f.run(block, f.words, f.scratch, f.rem(rest, rows), f.rem(task, columns), *item)
        return self.module.text()

    # --- one tile -------------------------------------------------------------------------------------------

    def _tile(self, tile: Tile) -> Function:
        """C (rows x columns) = A B, of panels."""
        with self.module.helper(f"tile_{tile.rows}_{tile.vectors}", _TILE) as f:
            acc = Accumulators(f, tile)
            pairs = self.kind.pairs
            depth = f.emit(f"lshr i64 {f.add('%depth', 1)}, 1") if pairs else "%depth"
            if tile == self.tile:
                self._fetch_result(f)
            walk = Walk(f, "%ahead") if tile == self.tile else None
            accumulate(f, acc, depth, "%a", "%b", a_step=self.tile.rows, b_step="%b_step", pairs=pairs,
                       each=walk.step if walk is not None else None)
            if walk is not None:
                walk.save()
            single = f.emit(f"and i64 {'%first'}, {'%last'}")
            adjacent = f.compare("eq", f.word(Word.C_COLUMN), 1)
            fast = f.emit(f"and i1 {adjacent}, {f.compare('ne', single, 0)}")
            known: dict[object, str] = {}
            row_stride = f.word(Word.C_ROW)
            targets: dict[int, str] = {}

            def emit(i: str | int, j: int, value: str, mask: str | None) -> None:
                column = f.add("%column", j * tile.lanes) if mask or j not in targets else targets[j]
                if mask is None:
                    targets[j] = column
                place = Place(_INDICES, f.add("%row", i), column, tile.lanes, mask, known)
                at = f.mul(row_stride, f.add("%row", i))
                if mask is None:
                    self._write(f, self._finished(f, place, value), at, place)
                else:
                    self._emit_slowly(f, place, value, at, adjacent)

            finish(f, acc, "%rows", "%columns", emit, fast)
        return f

    def _fetch_result(self, f: Function) -> None:
        """Ask for the part of C that the tile is written to: it arrives while the tile is computed."""
        tile, size = self.tile, self.kind.target.itemsize
        with f.when(f.compare("sge", "%depth", _DEEP)):
            start = f.add(f.mul("%row", f.word(Word.C_ROW)), "%column")
            for i in range(tile.rows):
                at = element_at(f, self.kind.target, "%c", f.add(start, f.mul(f.word(Word.C_ROW), i)))
                for line in range(0, tile.columns * size, LINE):
                    f.prefetch(f.at(at, line, "i8"), 1, write=True)

    def _finished(self, f: Function, place: Place, value: str) -> str:
        epilogue = self.kind.epilogue
        return value if epilogue is None else epilogue.apply(f, Word.END, place, value)

    def _write(self, f: Function, value: str, at: str, place: Place) -> None:
        target = element_at(f, self.kind.target, "%c", f.add(at, place.column))
        write_lanes(f, self.kind.target, place.lanes, value, target, place.mask)

    def _emit_slowly(self, f: Function, place: Place, value: str, at: str, adjacent: str) -> None:
        """Any strides, any part of the depth."""
        target, lanes = self.kind.target, place.lanes
        stride = f.word(Word.C_COLUMN)
        pointer = element_at(f, target, "%c", f.add(at, f.mul(place.column, stride)))
        total = f.variable(self.tile.vector, value)
        if target == self.kind.compute:
            with f.when(f.compare("eq", "%first", 0)):
                with f.when(adjacent):
                    before = read_lanes(f, target, lanes, pointer, place.mask)
                    total.set(f.emit(f"fadd {self.tile.vector} {total.get()}, {before}"))
                with f.otherwise(adjacent):
                    before = gather_lanes(f, target, lanes, pointer, stride, place.mask)
                    total.set(f.emit(f"fadd {self.tile.vector} {total.get()}, {before}"))
        with f.when(f.compare("ne", "%last", 0)):
            total.set(self._finished(f, place, total.get()))
        with f.when(adjacent):
            write_lanes(f, target, lanes, total.get(), pointer, place.mask)
        with f.otherwise(adjacent):
            scatter_lanes(f, target, lanes, total.get(), pointer, stride, place.mask)

    # --- one task -------------------------------------------------------------------------------------------

    def _block(self) -> Function:
        """The rows and columns of a task."""
        tile, kind = self.tile, self.kind
        with self.module.helper("block", _BLOCK) as f:
            m, n, depth = f.word(Word.M), f.word(Word.N), f.word(Word.K)
            top, left = f.mul("%rb", f.word(Word.ROWS)), f.mul("%cb", f.word(Word.COLUMNS))
            bottom = f.least(m, f.add(top, f.word(Word.ROWS)))
            right = f.least(n, f.add(left, f.word(Word.COLUMNS)))
            a = element_at(f, kind.source, f.word(Word.A, "ptr"),
                           item_offset(f, _INDICES, Word.A_ITEM, "0"))
            c = element_at(f, kind.target, f.word(Word.C, "ptr"),
                           item_offset(f, _INDICES, Word.C_ITEM, "0"))
            panel = _Panels(self, f, depth, left, right)
            kc, mc = f.word(Word.KC), f.word(Word.MC)
            ahead = local_array(f, STATE, "i64")
            with f.loop(0, depth, kc) as k:
                step = f.least(kc, f.sub(depth, k))
                first = f.emit(f"zext i1 {f.compare('eq', k, 0)} to i64")
                last = f.emit(f"zext i1 {f.compare('eq', f.add(k, step), depth)} to i64")
                size = f.mul(padded_in_code(f, step, tile.lanes), tile.rows)  # of a panel of A
                rows = f.variable("i64", top)
                count = f.variable("i64", tile.rows)    # the first block is small: nothing read ahead for it
                with f.forever() as leave:
                    row = rows.get()
                    leave(f.compare("sge", row, bottom))
                    end = f.least(bottom, f.add(row, count.get()))
                    count.set(mc)
                    rows.set(end)
                    self._pack_rows(f, a, row, end, k, step, size)
                    self._read_ahead(f, ahead, a, end, f.least(bottom, f.add(end, mc)), k, step)
                    with f.loop(left, right, tile.columns) as column:
                        b, b_step = panel.at(column, k)
                        columns = f.least(f.sub(right, column), tile.columns)
                        common = (b_step, column, columns, first, last, ahead)
                        self._column(f, row, end, size, b, c, step, common)
                        if kind.after is not None:
                            with f.when(f.compare("ne", last, 0)):
                                offset = item_offset(f, _INDICES, Word.C_ITEM, "0")
                                kind.after.apply(f, kind.after_words, Region(
                                    c, offset, _INDICES, row, f.sub(end, row), column, columns,
                                    f.word(Word.C_ROW), f.word(Word.C_COLUMN)))
        return f

    def _pack_rows(self, f: Function, a: str, row: str, end: str, k: str, step: str, size: str) -> None:
        """Pack rows of A; ``size``: of a panel.

        Where the rows are adjacent all panels take a few steps of the depth, then the next ones: whole lines
        of the cache are used while they are there. Else a panel is packed at once.
        """
        tile = self.tile
        row_stride, k_stride = f.word(Word.A_ROW), f.word(Word.A_STEP)
        chunk = f.choose(f.compare("eq", row_stride, 1), "i64", _CHUNK, step)
        with f.loop(0, step, chunk) as part:
            steps = f.least(chunk, f.sub(step, part))
            start = f.mul(f.add(k, part), k_stride)
            before = f.emit(f"lshr i64 {part}, 1") if self.kind.pairs else part
            target = f.variable("ptr", f.at(f.scratch, f.mul(before, tile.rows), tile.element))
            with f.loop(row, end, tile.rows) as i:
                source = element_at(f, self.kind.source, a, f.add(f.mul(i, row_stride), start))
                f.run(self.pack_a, source, target.get(), f.least(f.sub(end, i), tile.rows), steps, row_stride,
                      k_stride)
                target.set(f.at(target.get(), size, tile.element))

    def _read_ahead(self, f: Function, state: str, a: str, row: str, end: str, k: str, steps: str) -> None:
        """Begin to read the rows of A that are packed next; nothing if there are none, or none adjacent."""
        size = self.kind.source.itemsize
        row_stride, k_stride = f.word(Word.A_ROW), f.word(Word.A_STEP)
        rows = f.sub(end, row)
        deep, across = f.compare("eq", k_stride, 1), f.compare("eq", row_stride, 1)
        some = f.emit(f"and i1 {f.compare('sgt', rows, 0)}, {f.emit(f'or i1 {deep}, {across}')}")
        runs = f.choose(deep, "i64", rows, steps)
        length = f.mul(f.choose(deep, "i64", steps, rows), size)
        stride = f.mul(f.choose(deep, "i64", row_stride, k_stride), size)
        first = element_at(f, self.kind.source, a, f.add(f.mul(row, row_stride), f.mul(k, k_stride)))
        begin(f, state, f.emit(f"ptrtoint ptr {first} to i64"), f.choose(some, "i64", runs, 1),
              f.choose(some, "i64", length, 1), stride)

    def _column(self, f: Function, row: str, end: str, size: str, b: str, c: str, step: str,
                common: tuple[str, ...]) -> None:
        """The tiles of a block of rows that read one panel of B."""
        tile = self.tile
        b_step, column, columns, first, last, ahead = common
        narrow = f.compare("sle", columns, tile.lanes)
        pointer = f.variable("ptr", f.scratch)
        with f.loop(row, end, tile.rows) as i:
            rows = f.sub(end, i)

            def run(function: Function) -> None:
                f.run(function, f.words, pointer.get(), b, c, step, b_step, i, column, rows, columns, first,
                      last, ahead, *_INDICES)

            with f.when(narrow):
                run(self.narrow)
            with f.otherwise(narrow):
                below = 0
                for number, (variant, function) in enumerate(self.variants):
                    fits = f.compare("sgt", rows, below)
                    if number < len(self.variants) - 1:
                        fits = f.emit(f"and i1 {fits}, {f.compare('sle', rows, variant.rows)}")
                    with f.when(fits):
                        run(function)
                    below = variant.rows
            pointer.set(f.at(pointer.get(), size, tile.element))


class _Panels:
    """The panels of B that a task reads: packed by itself, by another call, or B itself."""

    def __init__(self, writer: _Writer, f: Function, depth: str, left: str, right: str) -> None:
        tile, source = writer.tile, writer.kind.source
        self.f, self.tile, self.left, self.dtype = f, tile, left, source
        how = f.word(Word.SOURCE)
        shared = f.compare("eq", how, int(Source.SHARED))
        self.is_direct = f.compare("eq", how, int(Source.DIRECT))
        self.stride, self.step = f.word(Word.B_COLUMN), f.word(Word.B_STEP)
        b = f.word(Word.B, "ptr")
        offset = item_offset(f, _INDICES, Word.B_ITEM, "0")
        self.b = element_at(f, source, b, offset)
        self.size = f.mul(padded_in_code(f, depth, tile.lanes), tile.columns)
        # Behind the packed rows of A in the scratch.
        rows = f.emit(f"sdiv i64 {f.add(f.word(Word.MC), tile.rows - 1)}, {tile.rows}")
        a_size = f.mul(f.mul(rows, tile.rows), padded_in_code(f, f.least(depth, f.word(Word.KC)), tile.lanes))
        own = f.at(f.scratch, a_size, tile.element)
        # Of B read directly only a last panel that is not whole has to be packed.
        wide = f.sub(right, left)
        whole = f.mul(f.div(wide, tile.columns), tile.columns)
        start = f.choose(self.is_direct, "i64", f.add(left, whole), left)
        self.start = f.choose(shared, "i64", right, start)
        before = f.div(left, tile.columns)
        packed = f.at(b, f.add(offset, f.mul(before, self.size)), tile.element)
        self.packed = f.choose(shared, "ptr", packed, own)
        self.origin = f.choose(shared, "i64", left, self.start)
        with f.loop(self.start, right, tile.columns) as column:
            origin = element_at(f, source, self.b, f.mul(column, self.stride))
            number = f.div(f.sub(column, self.start), tile.columns)
            f.run(writer.pack_b, origin, f.at(own, f.mul(number, self.size), tile.element),
                  f.least(f.sub(right, column), tile.columns), depth, self.stride, self.step)

    def at(self, column: str, k: str) -> tuple[str, str]:
        """Where step k of the panel that starts at a column lies, and how far the next step is."""
        f, tile = self.f, self.tile
        direct = f.emit(f"and i1 {self.is_direct}, {f.compare('slt', column, self.start)}")
        number = f.emit(f"sdiv i64 {f.sub(column, self.origin)}, {tile.columns}")
        packed = f.at(self.packed, f.add(f.mul(number, self.size), f.mul(k, tile.columns)), tile.element)
        there = element_at(f, self.dtype, self.b, f.add(column, f.mul(k, self.step)))
        return f.choose(direct, "ptr", there, packed), f.choose(direct, "i64", self.step, tile.columns)
