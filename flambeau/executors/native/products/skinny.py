"""Products with few rows, as in decoding one token: bound by reading B once, so B is never packed.

    C[i, :] = sum over k of A[i, k] B[k, :]

The rows of A are first copied, without gaps, into the thread's scratch, if they have another type, or gaps
where whole vectors of them are read.
Where B is adjacent along the depth (``inner``), a step multiplies a vector of each row of A with a vector of
each of several columns of B; the lanes of the accumulators are added up at the end. Where it is adjacent
along its columns (``outer``), a step multiplies one element of each row of A with several vectors of a row of
B. Tasks are blocks of columns. Rows that are too many for that come in groups, column by column: B comes from
memory once.

Where B is large and adjacent along its columns, a column would touch a page of memory at each step. A few
rows of B are then used to the full before the next ones, and sums are kept in the scratch in between.

What is read one after the other of B is in short pieces, which no CPU foresees: it is asked for ahead.

A product with few columns is one with few rows, *turned*: C^T = B^T A^T. Its results are stored so that they
are adjacent along the few rows, which are the columns of C; what follows sees C as it is.
"""

from __future__ import annotations

from ..llvm.build import Function, Module
from ..llvm.compiling.code import kernel
from ..llvm.compiling.effort import Effort
from ..llvm.compiling.machine import LINE, machine
from ..llvm.lanes import (
    element_at,
    read_lanes,
    scatter_lanes,
    shuffle,
    sums_of,
    transpose,
    write_lanes,
)
from .arguments import Kind, Word
from .epilogue import Place
from .following import follow
from .items import item_of, item_offset

_COPY = (("ptr", "%source"), ("ptr noalias", "%target"), ("i64", "%depth"), ("i64", "%stride"))
_TASK = (("ptr noalias readonly", "%words"), ("ptr noalias", "%scratch"), ("i64", "%cb"), ("i64", "%i0"),
         ("i64", "%i1"), ("i64", "%i2"))
_PART = (("ptr noalias readonly", "%words"), ("ptr", "%a"), ("i64", "%apart"), ("ptr", "%b"), ("ptr", "%c"),
         ("i64", "%row"), ("i64", "%rows"), ("i64", "%column"), ("i64", "%right"), ("i64", "%k"),
         ("i64", "%to"), ("ptr", "%sums"), ("i64", "%i0"), ("i64", "%i1"), ("i64", "%i2"))
_ACROSS = (("ptr noalias readonly", "%words"), ("ptr", "%c"), ("i64", "%row"), ("i64", "%rows"),
           ("i64", "%column"), ("i64", "%right"), ("i64", "%i0"), ("i64", "%i1"), ("i64", "%i2"))
# What comes from memory while a core waits for one line of it, several times over:
AHEAD = 1 << 13     # bytes of columns, rounded up,
ROWS_AHEAD = 32     # or rows of so many columns as are computed at once: those used next, where B is large
# By registers, how many columns are computed at once with so many rows; or vectors of columns.
WIDTHS = {16: {1: 8, 2: 4, 3: 3, 4: 2, 5: 2},
          32: {1: 8, 2: 8, 3: 6, 4: 4, 5: 4, 6: 4, 7: 4, 8: 3, 9: 3, 10: 2}}
_INDICES = ("%i0", "%i1", "%i2")


@kernel("skinny", effort=Effort.FEW)
def skinny_kernel(kind: Kind, rows: int, inner: bool, turned: bool = False) -> str:
    """The address of the kernel for up to ``rows`` rows (``WIDTHS``) at once."""
    return skinny_text(kind, rows, inner, turned)


def skinny_text(kind: Kind, rows: int, inner: bool, turned: bool = False) -> str:
    """The module of the kernel."""
    return _Writer(kind, rows, inner, turned).text()


def width_of(kind: Kind, rows: int, inner: bool) -> int:
    """How many columns are computed at once."""
    count = WIDTHS[machine().registers][rows]
    return count if inner else count * kind.tile.lanes


class _Writer:
    """Writes the module of one kind of product."""

    def __init__(self, kind: Kind, rows: int, inner: bool, turned: bool) -> None:
        self.kind = kind
        self.rows = rows
        self.inner = inner
        self.turned = turned
        self.width = width_of(kind, rows, inner)
        self.element = kind.tile.element
        self.lanes = kind.tile.lanes
        self.vector = kind.tile.vector
        self.size = kind.compute.itemsize
        self.module = Module()

    def text(self) -> str:
        self.copy = self._copy()
        self.part = self._inner() if self.inner else self._outer()
        task = self._task()
        with self.module.kernel("skinny") as f:
            with f.loop(f.begin, f.end) as number:
                columns = f.word(Word.COLUMN_BLOCKS)
                item = item_of(f, f.div(number, columns), Word.EXTENTS)
                f.run(task, f.words, f.scratch, f.rem(number, columns), *item)
        return self.module.text()

    def _copy(self) -> Function:
        """A row of A without gaps."""
        lanes, source = self.lanes, self.kind.source
        with self.module.helper("copy", _COPY) as f:
            adjacent = f.compare("eq", "%stride", 1)
            whole = f.choose(adjacent, "i64", f.emit(f"and i64 %depth, {-lanes}"), 0)
            with f.loop(0, whole, lanes) as k:
                value = read_lanes(f, source, lanes, element_at(f, source, "%source", k))
                f.write(self.vector, value, f.at("%target", k, self.element), self.size)
            with f.loop(whole, "%depth") as k:
                value = f.load(element_at(f, source, "%source", f.mul(k, "%stride")), source)
                f.write(self.element, value, f.at("%target", k, self.element), self.size)
        return f

    def _task(self) -> Function:
        """Columns ``cb`` of an item."""
        kind = self.kind
        with self.module.helper("task", _TASK) as f:
            m, depth = f.word(Word.M), f.word(Word.K)
            left = f.mul("%cb", f.word(Word.COLUMNS))
            right = f.least(f.word(Word.N), f.add(left, f.word(Word.COLUMNS)))
            a = element_at(f, kind.source, f.word(Word.A, "ptr"),
                           item_offset(f, _INDICES, Word.A_ITEM))
            b = element_at(f, kind.source, f.word(Word.B, "ptr"),
                           item_offset(f, _INDICES, Word.B_ITEM))
            c = element_at(f, kind.target, f.word(Word.C, "ptr"),
                           item_offset(f, _INDICES, Word.C_ITEM))
            rows, apart = f.variable("ptr", a), f.variable("i64", f.word(Word.A_ROW))
            with f.when(f.compare("ne", f.word(Word.MC), 0)):
                rows.set(f.scratch)
                apart.set(depth)
                with f.loop(0, m) as i:
                    f.run(self.copy, element_at(f, kind.source, a, f.mul(i, f.word(Word.A_ROW))),
                          f.at(f.scratch, f.mul(i, depth), self.element), depth, f.word(Word.A_STEP))
            sums = f.at(f.scratch, f.word(Word.MC), self.element)
            deep = f.word(Word.KC)
            with f.loop(0, depth, deep) as k:
                to = f.least(depth, f.add(k, deep))
                with f.loop(left, right, self.width) as column:
                    with f.loop(0, m, self.rows) as row:
                        group = f.at(rows.get(), f.mul(row, apart.get()), self.element)
                        # The sums of a row lie ``COLUMNS`` elements behind those of the one before.
                        place = f.add(f.mul(row, f.word(Word.COLUMNS)), f.sub(column, left))
                        f.run(self.part, f.words, group, apart.get(), b, c, row, f.sub(m, row), column, right,
                              k, to, f.at(sums, place, self.element), *_INDICES)
            blocks = [("0", m), (left, f.sub(right, left))]
            rows_of_c, columns_of_c = reversed(blocks) if self.turned else blocks
            follow(f, Word.FOLLOWER, kind.following, *rows_of_c, *columns_of_c)
        return f

    def _rows(self, f: Function) -> list[str]:
        """Where the rows of A begin; one that does not exist repeats the last one."""
        last = f.sub("%rows", 1)
        return [f.at("%a", f.mul(f.least(i, last), "%apart"), self.element) for i in range(self.rows)]

    # --- B adjacent along the depth -------------------------------------------------------------------------

    def _inner(self) -> Function:
        lanes, source = self.lanes, self.kind.source
        with self.module.helper("inner", _PART) as f:
            depth, stride = f.word(Word.K), f.word(Word.B_COLUMN)
            last = f.sub("%right", 1)
            columns = [element_at(f, source, "%b", f.mul(f.least(f.add("%column", j), last), stride))
                       for j in range(self.width)]
            rows = self._rows(f)
            acc = [[f.variable(self.vector, "zeroinitializer") for _ in columns] for _ in rows]
            ahead = self._ahead(f, stride)
            groups = f.emit(f"sdiv i64 {f.add(f.word(Word.M), self.rows - 1)}, {self.rows}")
            number = f.emit(f"sdiv i64 %row, {self.rows}")
            part = f.add(ahead, f.div(f.mul(f.mul(number, depth), source.itemsize), groups))
            asked = f.variable("i64", part)
            further = f.div(f.add(groups, lanes * source.itemsize - 1), groups)

            def step(k: str, mask: str | None) -> None:
                def factor(row: str) -> str:
                    return read_lanes(f, self.kind.compute, lanes, f.at(row, k, self.element), mask)

                def value(start: str) -> str:
                    if mask is None:
                        f.prefetch(f.at(start, asked.get(), "i8"), 2)
                    return read_lanes(f, source, lanes, element_at(f, source, start, k), mask)

                # Of fewer vectors there is always one in a register, the others are read one by one.
                by_row = self.rows > self.width
                held = [*map(value, columns)] if by_row else [*map(factor, rows)]
                for x, start in enumerate(rows if by_row else columns):
                    read = factor(start) if by_row else value(start)
                    for y, other in enumerate(held):
                        total = acc[x][y] if by_row else acc[y][x]
                        total.set(f.fma(self.vector, read, other, total.get()))

            whole = f.emit(f"and i64 {depth}, {-lanes}")
            with f.loop(0, whole, lanes) as k:
                step(k, None)
                asked.set(f.add(asked.get(), further))
            left = f.sub(depth, whole)
            with f.when(f.compare("sgt", left, 0)):
                step(whole, f.first_lanes(left, lanes))
            if self.turned:
                for j in range(self.width):
                    with f.when(f.compare("slt", f.add("%column", j), "%right")):
                        sums = sums_of(f, self.vector, lanes, [row[j].get() for row in acc])
                        self._store_turned(f, f.add("%column", j), sums)
            else:
                for i in range(self.rows):
                    with f.when(f.compare("slt", i, "%rows")):
                        self._store_sums(f, i, [x.get() for x in acc[i]])
        return f

    def _store_turned(self, f: Function, column: str, value: str) -> None:
        """An element of each row, of which ``%rows`` exist: they are adjacent in C."""
        target, lanes = self.kind.target, self.lanes
        count = f.least("%rows", self.rows)
        at = f.add(f.mul(column, f.word(Word.C_COLUMN)), "%row")
        mask = f.first_lanes(count, lanes)
        done = self._finished(f, column, "%row", value, lanes, mask)
        write_lanes(f, target, lanes, done, element_at(f, target, "%c", at), mask)

    def _ahead(self, f: Function, stride: str) -> str:
        """How many bytes ahead B is asked for: whole groups of columns; 0 where B is small."""
        size = f.mul(stride, self.kind.source.itemsize)
        group = f.mul(size, self.width)
        count = f.div(f.add(group, AHEAD - 1), f.most(group, 1))
        small = f.compare("slt", f.mul(f.word(Word.N), size), 4 * AHEAD)
        return f.choose(small, "i64", 0, f.mul(count, group))

    def _store_sums(self, f: Function, i: int, vectors: list[str]) -> None:
        """The sums of the lanes of vectors: elements of a row of C."""
        count = min(self.width, self.lanes)
        for start in range(0, len(vectors), count):
            sums = sums_of(f, self.vector, self.lanes, vectors[start:start + count])
            if count < self.lanes:
                sums = shuffle(f, self.vector, self.lanes, sums, "poison", range(count))
            column = f.add("%column", start)
            self._store(f, i, column, sums, count, f.sub("%right", column))

    def _store(self, f: Function, i: int, column: str, value: str, lanes: int, left: str) -> None:
        """``lanes`` elements of row i, of which ``left`` exist."""
        target, stride = self.kind.target, f.word(Word.C_COLUMN)
        row = f.add("%row", i)
        at = f.add(f.mul(row, f.word(Word.C_ROW)), f.mul(column, stride))
        pointer = element_at(f, target, "%c", at)
        easy = f.emit(f"and i1 {f.compare('eq', stride, 1)}, {f.compare('sge', left, lanes)}")
        with f.when(easy):
            done = self._finished(f, row, column, value, lanes, None)
            write_lanes(f, target, lanes, done, pointer)
        with f.otherwise(easy):
            mask = f.first_lanes(left, lanes)
            done = self._finished(f, row, column, value, lanes, mask)
            scatter_lanes(f, target, lanes, done, pointer, stride, mask)

    def _finished(self, f: Function, row: str, column: str, value: str, lanes: int, mask: str | None) -> str:
        epilogue = self.kind.epilogue
        if epilogue is None:
            return value
        return epilogue.apply(f, Word.END, Place(_INDICES, row, column, lanes, mask, {}), value)

    # --- B adjacent along the columns -----------------------------------------------------------------------

    def _across(self) -> Function:
        """Store a vector of columns of each row, turned."""
        names = [f"%sum_{i}" for i in range(self.rows)]
        with self.module.helper("across", (*_ACROSS, *[(self.vector, name) for name in names])) as f:
            padding = ["zeroinitializer"] * (self.lanes - self.rows)
            for j, value in enumerate(transpose(f, self.vector, names + padding)):
                column = f.add("%column", j)
                with f.when(f.compare("slt", column, "%right")):
                    self._store_turned(f, column, value)
        return f

    def _outer(self) -> Function:
        if self.turned:
            self.across = self._across()
        with self.module.helper("outer", _PART) as f:
            left = f.sub("%right", "%column")
            whole = f.compare("sge", left, self.width)
            with f.when(whole):
                self._columns(f, left, self.width, False)
            with f.otherwise(whole):
                narrow = f.compare("sle", left, self.lanes)
                with f.when(narrow):
                    self._columns(f, left, self.lanes, True)
                with f.otherwise(narrow):
                    self._columns(f, left, self.width, True)
        return f

    def _columns(self, f: Function, left: str, width: int, partial: bool) -> None:
        lanes, element, source = self.lanes, self.element, self.kind.source
        starts = range(0, width, lanes)
        masks = [f.first_lanes(f.sub(left, j), lanes) if partial else None for j in starts]
        rows = self._rows(f)
        acc = [[f.variable(self.vector, "zeroinitializer") for _ in starts] for _ in rows]
        held = [[f.at("%sums", f.add(f.mul(f.word(Word.COLUMNS), i), start), element) for start in starts]
                for i in range(self.rows)]
        with f.when(f.compare("ne", "%k", 0)):
            for sums, places in zip(acc, held):
                for total, place in zip(sums, places):
                    total.set(f.read(self.vector, place, self.size))
        stride = f.word(Word.B_STEP)
        apart = f.choose(f.compare("ne", f.word(Word.MC), 0), "i64", 1, f.word(Word.A_STEP))
        origin = element_at(f, source, "%b", "%column")
        with f.loop("%k", "%to") as k:
            before = f.mul(k, apart)
            factors = [f.splat(f.read(element, f.at(row, before, element), self.size), lanes, element)
                       for row in rows]
            at = element_at(f, source, origin, f.mul(k, stride))
            ahead = element_at(f, source, at, f.mul(stride, ROWS_AHEAD))
            for j in range(0, width * source.itemsize, LINE):
                f.prefetch(f.at(ahead, j, "i8"), 2)
            for j, (start, mask) in enumerate(zip(starts, masks)):
                value = read_lanes(f, source, lanes, element_at(f, source, at, start), mask)
                for i, factor in enumerate(factors):
                    acc[i][j].set(f.fma(self.vector, factor, value, acc[i][j].get()))
        last = f.compare("eq", "%to", f.word(Word.K))
        with f.otherwise(last):
            for sums, places in zip(acc, held):
                for total, place in zip(sums, places):
                    f.write(self.vector, total.get(), place, self.size)
        with f.when(last):
            if self.turned:
                for j, start in enumerate(starts):
                    with f.when(f.compare("sgt", left, start)):
                        f.run(self.across, f.words, "%c", "%row", "%rows", f.add("%column", start), "%right",
                              *_INDICES, *[row[j].get() for row in acc])
                return
            for i in range(self.rows):
                with f.when(f.compare("slt", i, "%rows")):
                    for j, start in enumerate(starts):
                        with f.when(f.compare("sgt", left, start)):
                            self._store(f, i, f.add("%column", start), acc[i][j].get(), lanes,
                                        f.sub(left, start))
