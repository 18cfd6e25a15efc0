"""General matrix products: the code of the kernels. ``choosing.py`` finds their arguments.

The result C (M x N) is cut into blocks of rows and columns, each of which is a task: tasks share nothing, so
any number of threads gives the same bits. Within a task, with blocks that fit the caches:

    for each block of the depth (kc):
        pack the columns of B that the task needs, unless they are packed or can be read where they lie
        for each block of rows of A (mc):               # stays in the second cache
            pack it, unless it can be read where it lies
            for each panel of B:                        # a tile's columns
                for each panel of A:                    # a tile's rows
                    microkernel: a tile of C
            after the last block of the depth: what follows the product, on the rows that are complete

Batches are further tasks. Where C has the type that is computed with, it holds the sums between blocks of the
depth; else the depth is one block.
"""

from __future__ import annotations

from typing import NamedTuple

from ..llvm.build import Function, Module
from ..llvm.compiling.code import kernel
from ..llvm.compiling.effort import Effort
from ..llvm.compiling.machine import LINE, machine
from ..llvm.lanes import element_at
from .ahead import STATE, Beyond, begin
from .arguments import Kind, Rows, Source, Word
from .epilogue import ITEM
from .following import follow
from .items import item_of, item_offset
from .microkernel import local_array
from .packing import packer, padded_in_code
from .packing_pairs import pair_packer
from .tiles import INDICES, Tiles


@kernel("product", effort=Effort.FEW)
def product_kernel(kind: Kind) -> str:
    """The address of the kernel."""
    return product_text(kind)


def product_text(kind: Kind) -> str:
    """The product's module."""
    return _Writer(kind).text()


# --- the product --------------------------------------------------------------------------------------------

_BLOCK = (("ptr noalias readonly", "%words"), ("ptr", "%scratch"), ("i64", "%rb"), ("i64", "%cb"),
          ("i64", "%i0"), ("i64", "%i1"), ("i64", "%i2"))
_CHUNK = 8  # steps of the depth: as many lines of a cache's set as there usually are
_LARGE = 1 << 16    # elements of results that the second cache holds
_SLACK = 2          # times as many steps as there are lines to ask for


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
        tiles = Tiles(self.kind, self.module)
        self.variants = [(n, tiles.function(tile._replace(rows=n))) for n in counts]
        self.narrow = tiles.function(tile._replace(vectors=1), apart=True)
        self.apart = tiles.function(tile, apart=True) if self.kind.source == self.kind.compute else None
        block = self._block()
        with self.module.kernel("product") as f:
            with f.loop(f.begin, f.end) as task:
                columns = f.word(Word.COLUMN_BLOCKS)
                rest = f.div(task, columns)
                rows = f.word(Word.ROW_BLOCKS)
                item = item_of(f, f.div(rest, rows), Word.EXTENTS)
                f.run(block, f.words, f.scratch, f.rem(rest, rows), f.rem(task, columns), *item)
            if machine().passes:
                with f.when(f.compare("ne", f.word(Word.PAST), 0)):
                    f.settle()
        return self.module.text()

    def _block(self) -> Function:
        """The rows and columns of a task."""
        tile, kind = self.tile, self.kind
        with self.module.helper("block", _BLOCK) as f:
            m, n, depth = f.word(Word.M), f.word(Word.N), f.word(Word.K)
            top, left = f.mul("%rb", f.word(Word.ROWS)), f.mul("%cb", f.word(Word.COLUMNS))
            bottom = f.least(m, f.add(top, f.word(Word.ROWS)))
            right = f.least(n, f.add(left, f.word(Word.COLUMNS)))
            c = element_at(f, kind.target, f.word(Word.C, "ptr"),
                           item_offset(f, INDICES, Word.C_ITEM))
            panel = _Panels(self, f, depth, left, right)
            rows_of_a = _Rows(self, f, depth, top)
            kc, mc, at_once = f.word(Word.KC), f.word(Word.MC), rows_of_a.at_once
            # The first of several blocks is small: nothing has been read ahead for it, but for the next ones,
            # and for the first one of the next steps.
            least = f.choose(at_once, "i64", f.word(Word.ROWS), tile.rows)
            middle = f.add(left, f.mul(f.div(f.sub(right, left), 2 * tile.columns), tile.columns))
            with f.loop(0, depth, kc) as k:
                step = f.least(kc, f.sub(depth, k))
                after = f.add(k, step)
                first = f.emit(f"zext i1 {f.compare('eq', k, 0)} to i64")
                last = f.emit(f"zext i1 {f.compare('eq', after, depth)} to i64")
                panel.pack(k, step)
                began = f.emit(f"and i1 {f.compare('ne', k, 0)}, {f.emit(f'xor i1 {at_once}, true')}")
                rows = f.variable("i64", top)
                count = f.variable("i64", f.choose(began, "i64", mc, least))
                with f.forever() as leave:
                    row = rows.get()
                    leave(f.compare("sge", row, bottom))
                    end = f.least(bottom, f.add(row, count.get()))
                    count.set(mc)
                    rows.set(end)
                    block = rows_of_a.pack(row, end, k, step)
                    coming = rows_of_a.after(end, bottom, k, step)
                    start = rows_of_a.start(f.sub(end, row), left, right)
                    with f.loop(left, right, tile.columns) as column:
                        with f.when(f.compare("eq", column, start)):
                            rows_of_a.read_ahead(coming)
                        half = f.emit(f"and i1 {f.compare('eq', column, middle)}, {at_once}")
                        with f.when(f.emit(f"and i1 {half}, {f.compare('sgt', column, left)}")):
                            panel.read_ahead(rows_of_a.ahead, after, f.least(kc, f.sub(depth, after)))
                        b, b_step = panel.at(column, k)
                        columns = f.least(f.sub(right, column), tile.columns)
                        following = f.add(column, tile.columns)
                        following = f.choose(f.compare("slt", following, right), "i64", following, left)
                        beyond = f.apart(panel.at(following, k)[0], b)
                        common = (b_step, column, columns, first, last, rows_of_a.ahead, beyond)
                        self._column(f, block, b, c, step, common)
                    with f.when(f.compare("ne", last, 0)):
                        follow(f, Word.FOLLOWER, kind.following, row, f.sub(end, row), left,
                               f.sub(right, left))
        return f

    def _column(self, f: Function, block: _Block, b: str, c: str, step: str, common: tuple[str, ...]) -> None:
        """The tiles of a block of rows that read one panel of B."""
        tile = self.tile
        b_step, column, columns, first, last, ahead, beyond = common
        following = Beyond(f, beyond, tile.columns * tile.itemsize)
        narrow = f.compare("sle", columns, tile.lanes)
        pointer = f.variable("ptr", f.scratch)
        with f.loop(block.row, block.end, tile.rows) as i:
            rows = f.sub(block.end, i)
            there = f.compare("slt", i, block.packed)
            origin = element_at(f, self.kind.source, block.origin, f.mul(i, f.word(Word.A_ROW)))
            a = f.choose(there, "ptr", origin, pointer.get())
            a_row = f.choose(there, "i64", f.word(Word.A_ROW), 1)
            a_step = f.choose(there, "i64", f.word(Word.A_STEP), tile.rows)

            asked = following.next()

            def run(function: Function) -> None:
                f.run(function, f.words, a, b, c, step, b_step, i, column, rows, columns, first, last, ahead,
                      asked, a_row, a_step, *INDICES)

            with f.when(narrow):
                run(self.narrow)
            with f.otherwise(narrow):
                below = 0
                for number, (count, function) in enumerate(self.variants):
                    fits = f.compare("sgt", rows, below)
                    if number < len(self.variants) - 1:
                        fits = f.emit(f"and i1 {fits}, {f.compare('sle', rows, count)}")
                    with f.when(fits):
                        if number == len(self.variants) - 1 and self.apart is not None:
                            adjacent = f.compare("eq", a_row, 1)
                            with f.when(adjacent):
                                run(function)
                            with f.otherwise(adjacent):
                                run(self.apart)
                        else:
                            run(function)
                    below = count
            pointer.set(f.at(pointer.get(), f.choose(there, "i64", 0, block.size), tile.element))


class _Block(NamedTuple):
    """Rows of A at some steps of the depth: in panels in the scratch from row ``packed`` on."""

    row: str
    end: str
    packed: str
    size: str       # of a panel
    origin: str     # address of the first step of row 0: the rows before ``packed`` are read there


class _Rows:
    """The rows of A that a task reads: packed block by block, or A itself."""

    def __init__(self, writer: _Writer, f: Function, depth: str, top: str) -> None:
        self.f, self.writer, self.depth, self.top = f, writer, depth, top
        self.dtype, self.tile = writer.kind.source, writer.tile
        self.row_stride, self.k_stride = f.word(Word.A_ROW), f.word(Word.A_STEP)
        self.a = element_at(f, self.dtype, f.word(Word.A, "ptr"), item_offset(f, INDICES, Word.A_ITEM))
        how = f.word(Word.IN_PLACE)
        self.in_place, self.at_once = f.compare("ne", how, 0), f.compare("eq", how, int(Rows.AT_ONCE))
        self.ahead = local_array(f, STATE + 1, "i64")
        f.write("i64", self._comes(), f.at(self.ahead, STATE, "i64"), 8)

    def _comes(self) -> str:
        """1 if the result is so large that it comes from beyond the second cache, and stays in a cache."""
        f, count = self.f, self.f.mul(self.f.word(Word.M), self.f.word(Word.N))
        for k in range(ITEM):
            count = f.mul(count, f.word(Word.EXTENTS + k))
        near = f.compare("eq", f.word(Word.PAST), 0)
        return f.emit(f"zext i1 {f.emit(f'and i1 {near}, ' + f.compare('sgt', count, _LARGE))} to i64")

    def pack(self, row: str, end: str, k: str, step: str) -> _Block:
        """Pack a block of rows, or of those read in place the last ones that are no whole tile.

        Where the rows are adjacent all panels take a few steps of the depth, then the next ones: whole lines
        of the cache are used while they are there. Else a panel is packed at once.
        """
        f, tile, writer = self.f, self.tile, self.writer
        size = f.mul(padded_in_code(f, step, tile.lanes), tile.rows)
        whole = f.mul(f.div(f.sub(end, row), tile.rows), tile.rows)
        packed = f.choose(self.in_place, "i64", f.add(row, whole), row)
        chunk = f.choose(f.compare("eq", self.row_stride, 1), "i64", _CHUNK, step)
        with f.when(f.compare("slt", packed, end)), f.loop(0, step, chunk) as part:
            steps = f.least(chunk, f.sub(step, part))
            start = f.mul(f.add(k, part), self.k_stride)
            before = f.emit(f"lshr i64 {part}, 1") if writer.kind.pairs else part
            target = f.variable("ptr", f.at(f.scratch, f.mul(before, tile.rows), tile.element))
            with f.loop(packed, end, tile.rows) as i:
                source = element_at(f, self.dtype, self.a, f.add(f.mul(i, self.row_stride), start))
                f.run(writer.pack_a, source, target.get(), f.least(f.sub(end, i), tile.rows), steps,
                      self.row_stride, self.k_stride)
                target.set(f.at(target.get(), size, tile.element))
        return _Block(row, end, packed, size, element_at(f, self.dtype, self.a, f.mul(k, self.k_stride)))

    def after(self, end: str, bottom: str, k: str, steps: str) -> _Coming:
        """What is read after the rows up to ``end``: the next ones, or the next steps."""
        f, mc = self.f, self.f.word(Word.MC)
        after = f.add(k, steps)
        following = f.least(f.word(Word.KC), f.sub(self.depth, after))
        deeper = f.emit(f"or i1 {self.at_once}, {f.compare('sge', end, bottom)}")
        row = f.choose(deeper, "i64", self.top, end)
        count = f.choose(self.at_once, "i64", f.sub(bottom, row), f.least(mc, f.sub(bottom, row)))
        k, steps = f.choose(deeper, "i64", after, k), f.choose(deeper, "i64", following, steps)
        return _Coming(row, count, k, steps)

    def start(self, count: str, left: str, right: str) -> str:
        """The panel of B from which on what comes next is asked for, while ``count`` rows are multiplied.

        Late: until it is packed it takes room in the second cache. Each step of each tile asks for a line.
        """
        f, tile, mc = self.f, self.tile, self.f.word(Word.MC)
        slack = 2 * _SLACK if self.writer.kind.pairs else _SLACK
        lines = f.emit(f"lshr i64 {f.mul(mc, slack * self.dtype.itemsize)}, {LINE.bit_length() - 1}")
        many = slack * tile.rows * self.dtype.itemsize // LINE      # of mc rows, which are several tiles
        panels = f.choose(f.compare("sge", count, mc), "i64", many, lines)
        start = f.sub(right, f.mul(f.add(panels, 2), tile.columns))
        start = f.emit(f"and i64 {start}, {-tile.columns}")
        return f.choose(self.at_once, "i64", left, f.most(start, left))

    def read_ahead(self, coming: _Coming) -> None:
        """Begin to read what comes next."""
        f, size = self.f, self.dtype.itemsize
        row, rows, k, steps = coming
        deep, across = f.compare("eq", self.k_stride, 1), f.compare("eq", self.row_stride, 1)
        some = f.emit(f"and i1 {f.compare('sgt', rows, 0)}, {f.emit(f'or i1 {deep}, {across}')}")
        some = f.emit(f"and i1 {some}, {f.compare('sgt', steps, 0)}")
        runs = f.choose(deep, "i64", rows, steps)
        length = f.mul(f.choose(deep, "i64", steps, rows), size)
        stride = f.mul(f.choose(deep, "i64", self.row_stride, self.k_stride), size)
        first = element_at(f, self.dtype, self.a, f.add(f.mul(row, self.row_stride), f.mul(k, self.k_stride)))
        begin(f, self.ahead, first, f.choose(some, "i64", runs, 1), f.choose(some, "i64", length, 1), stride)


class _Coming(NamedTuple):
    """Rows of A, and steps of the depth, that a task reads next; none of either: it has read all."""

    row: str
    rows: str
    k: str
    steps: str


class _Panels:
    """The panels of B that a task reads: packed by itself, by another call, or B itself."""

    def __init__(self, writer: _Writer, f: Function, depth: str, left: str, right: str) -> None:
        tile, source = writer.tile, writer.kind.source
        self.f, self.tile, self.left, self.right, self.dtype = f, tile, left, right, source
        how = f.word(Word.SOURCE)
        self.shared = shared = f.compare("eq", how, int(Source.SHARED))
        self.is_direct = f.compare("eq", how, int(Source.DIRECT))
        self.stride, self.step = f.word(Word.B_COLUMN), f.word(Word.B_STEP)
        b = f.word(Word.B, "ptr")
        offset = item_offset(f, INDICES, Word.B_ITEM)
        self.b = element_at(f, source, b, offset)
        self.size = f.mul(padded_in_code(f, depth, tile.lanes), tile.columns)
        # Behind the packed rows of A in the scratch.
        rows = f.emit(f"sdiv i64 {f.add(f.word(Word.MC), tile.rows - 1)}, {tile.rows}")
        a_size = f.mul(f.mul(rows, tile.rows), padded_in_code(f, f.least(depth, f.word(Word.KC)), tile.lanes))
        self.own = f.at(f.scratch, a_size, tile.element)
        # Of B read directly only a last panel that is not whole has to be packed.
        wide = f.sub(right, left)
        whole = f.mul(f.div(wide, tile.columns), tile.columns)
        start = f.choose(self.is_direct, "i64", f.add(left, whole), left)
        self.start = f.choose(shared, "i64", right, start)
        before = f.div(left, tile.columns)
        packed = f.at(b, f.add(offset, f.mul(before, self.size)), tile.element)
        self.packed = f.choose(shared, "ptr", packed, self.own)
        self.origin = f.choose(shared, "i64", left, self.start)
        self.pack_b = writer.pack_b

    def pack(self, k: str, steps: str) -> None:
        """Pack some steps of the columns that this task packs."""
        f, tile = self.f, self.tile
        size = f.mul(padded_in_code(f, steps, tile.lanes), tile.columns)
        row = f.mul(k, self.step)
        with f.loop(self.start, self.right, tile.columns) as column:
            origin = element_at(f, self.dtype, self.b, f.add(row, f.mul(column, self.stride)))
            number = f.div(f.sub(column, self.start), tile.columns)
            f.run(self.pack_b, origin, f.at(self.own, f.mul(number, size), tile.element),
                  f.least(f.sub(self.right, column), tile.columns), steps, self.stride, self.step)
        self.panel = f.choose(self.shared, "i64", self.size, size)
        self.before = f.choose(self.shared, "i64", f.mul(k, tile.columns), 0)

    def read_ahead(self, state: str, k: str, steps: str) -> None:
        """Begin to read steps of B where it lies."""
        f, size = self.f, self.dtype.itemsize
        first = element_at(f, self.dtype, self.b, f.add(self.left, f.mul(k, self.step)))
        with f.when(f.compare("sgt", steps, 0)):
            begin(f, state, first, steps, f.mul(f.sub(self.right, self.left), size), f.mul(self.step, size))

    def at(self, column: str, k: str) -> tuple[str, str]:
        """Where step k of the panel that starts at a column lies, and how far the next step is."""
        f, tile = self.f, self.tile
        direct = f.emit(f"and i1 {self.is_direct}, {f.compare('slt', column, self.start)}")
        number = f.emit(f"sdiv i64 {f.sub(column, self.origin)}, {tile.columns}")
        packed = f.at(self.packed, f.add(f.mul(number, self.panel), self.before), tile.element)
        there = element_at(f, self.dtype, self.b, f.add(column, f.mul(k, self.step)))
        return f.choose(direct, "ptr", there, packed), f.choose(direct, "i64", self.step, tile.columns)
