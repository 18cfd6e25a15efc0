"""One tile of a product: the microkernel, then what becomes of its sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..llvm.build import Function, Module, Value, Variable
from ..llvm.compiling.machine import LINE, machine
from ..llvm.lanes import element_at, gather_lanes, read_lanes, scatter_lanes, write_lanes, write_past
from .ahead import STATE, Walk
from .arguments import Kind, Word
from .epilogue import Place
from .microkernel import Accumulators, Tile, accumulate, finish_spilled, is_whole, spilled

_TILE = (("ptr noalias readonly", "%words"), ("ptr", "%a"), ("ptr", "%b"), ("ptr", "%c"), ("i64", "%depth"),
         ("i64", "%b_step"), ("i64", "%row"), ("i64", "%column"), ("i64", "%rows"), ("i64", "%columns"),
         ("i64", "%first"), ("i64", "%last"), ("ptr", "%ahead"), ("i64", "%beyond"), ("i64", "%a_row"),
         ("i64", "%a_step"), ("i64", "%i0"), ("i64", "%i1"), ("i64", "%i2"))
_PART = (("ptr noalias readonly", "%words"), ("ptr", "%buffer"), ("ptr", "%c"), ("i64", "%row"),
         ("i64", "%column"), ("i64", "%rows"), ("i64", "%columns"), ("i64", "%first"), ("i64", "%last"),
         ("i64", "%i0"), ("i64", "%i1"), ("i64", "%i2"))
INDICES = ("%i0", "%i1", "%i2")     # of the batch's item
_DEEP = 128         # steps from which on a tile takes long enough to ask for
_DEEP_OF_LARGE = 64     # the same where the result comes from beyond the second cache
_PART_ROWS = 2      # so many rows of the part of C that it goes to, one time after the other,
_PART_STEPS = 8     # so many steps apart: a line takes ten or more to come from memory;
_SOON = 16          # and for a row of B so many steps before it is read


class _Vector(NamedTuple):
    """Vector j of row i of a tile: its row and first column in the result, and its address."""

    i: int
    j: int
    row: str
    column: str
    at: str


class Tiles:
    """Writes the functions for tiles of one kind of product."""

    def __init__(self, kind: Kind, module: Module) -> None:
        self.kind = kind
        self.tile = kind.tile
        self.module = module
        self.part = self._part()

    def function(self, tile: Tile, apart: bool = False) -> Function:
        """C (rows x columns) = A B, of panels; ``apart``: rows of A need not be adjacent."""
        name = f"tile_{tile.rows}_{tile.vectors}{'_apart' if apart else ''}"
        with self.module.helper(name, _TILE) as f:
            acc = Accumulators(f, tile)
            pairs = self.kind.pairs
            depth = f.emit(f"lshr i64 {f.add('%depth', 1)}, 1") if pairs else "%depth"
            stride: Value = "%a_row" if apart else 1
            if tile == self.tile:
                self._add_large(f, acc, depth, stride)
            else:
                accumulate(f, acc, depth, "%a", "%b", a_row=stride, a_step="%a_step", b_step="%b_step",
                           pairs=pairs)
            adjacent = f.compare("eq", f.word(Word.C_COLUMN), 1)
            whole = f.emit(f"and i1 {is_whole(f, tile, '%rows', '%columns')}, {adjacent}")
            with f.when(whole):
                self._whole(f, acc)
            with f.otherwise(whole):
                buffer = spilled(f, acc, self.tile.columns)
                f.run(self.part, f.words, buffer, "%c", "%row", "%column", f.least("%rows", tile.rows),
                      "%columns", "%first", "%last", *INDICES)
        return f

    def _add_large(self, f: Function, acc: Accumulators, depth: str, a_row: Value) -> None:
        """Add the product to a tile of the usual size, and ask for what is needed then.

        The part of C that it goes to is asked for shortly before: what has been there for a whole tile has
        been driven out of the first cache by A and B. A core waits for some twenty lines at once at most. If
        all of C's were among them, the next rows of B would have to wait for memory, too: so the last steps
        are cut into parts, before each of which a few rows of C are asked for. In the last part the rows of B
        that are read soon are the first ones: the tile below begins with them. Of few steps, B is in the
        first cache: all of C is asked for at first, unless the result stays in the second one.
        """
        walk = Walk(f, "%ahead")
        a, b = f.variable("ptr", "%a"), f.variable("ptr", "%b")

        def add(steps: str, soon: Value) -> None:
            accumulate(f, acc, steps, a.get(), b.get(), a_row=a_row, a_step="%a_step", b_step="%b_step",
                       pairs=self.kind.pairs, each=walk.step, beyond="%beyond", soon=soon)
            a.set(f.at(a.get(), f.mul(steps, "%a_step"), self.tile.element))
            b.set(f.at(b.get(), f.mul(steps, "%b_step"), self.tile.element))

        comes = f.compare("ne", f.read("i64", f.at("%ahead", STATE, "i64"), 8), 0)   # behind the walk
        deep = f.compare("sge", depth, f.choose(comes, "i64", _DEEP_OF_LARGE, _DEEP))
        with f.when(deep):
            self._add_parts(f, depth, add)
        with f.otherwise(deep):
            with f.when(comes):
                self._fetch_rows(f, *self._result(f), self.tile.rows)
            add(depth, 0)
        walk.save()

    def _add_parts(self, f: Function, depth: str, add: Callable[[str, Value], None]) -> None:
        """Call ``add`` for one part of the depth after the other."""
        parts = self.tile.rows // _PART_ROWS    # behind a first, long one
        steps = f.variable("i64", f.sub(depth, _SOON + (parts - 1) * _PART_STEPS))
        c, stride = self._result(f)
        soon = f.mul("%b_step", _SOON)
        again = f.sub(soon, f.mul("%b_step", depth))
        with f.loop(0, parts + 1) as part:
            add(steps.get(), f.choose(f.compare("eq", part, parts), "i64", again, soon))
            steps.set(f.choose(f.compare("eq", part, parts - 1), "i64", _SOON, _PART_STEPS))
            self._fetch_rows(f, c, stride, _PART_ROWS)

    def _result(self, f: Function) -> tuple[Variable, str]:
        """The address of the first row in C, and the stride of rows; what passes the caches stays out."""
        past = f.compare("ne", f.word(Word.PAST), 0)
        start = f.add(f.mul("%row", f.word(Word.C_ROW)), "%column")
        first = f.choose(past, "ptr", "%ahead", element_at(f, self.kind.target, "%c", start))
        return f.variable("ptr", first), f.choose(past, "i64", 0, f.word(Word.C_ROW))

    def _fetch_rows(self, f: Function, c: Variable, stride: str, count: int) -> None:
        """Ask for some rows of the part of C that the tile is written to, and go on to the next ones."""
        size = self.kind.target.itemsize
        for _ in range(count):
            for line in range(0, self.tile.columns * size, LINE):
                f.prefetch(f.at(c.get(), line, "i8"), 1, write=True)
            c.set(element_at(f, self.kind.target, c.get(), stride))

    def _part(self) -> Function:
        """Store a tile that may lie in the result in part, from memory: any strides and depth."""
        tile = self.tile
        with self.module.helper("part", _PART) as f:
            adjacent = f.compare("eq", f.word(Word.C_COLUMN), 1)

            def emit(i: str | int, j: int, value: str, mask: str | None) -> None:
                column = f.add("%column", j * tile.lanes)
                place = Place(INDICES, f.add("%row", i), column, tile.lanes, mask, {})
                self._emit_slowly(f, place, value, f.mul(f.word(Word.C_ROW), place.row), adjacent)

            finish_spilled(f, tile, "%buffer", "%rows", "%columns", emit)
        return f

    def _whole(self, f: Function, acc: Accumulators) -> None:
        """Store a tile that lies in the result, whose columns are adjacent."""
        tile, kind = acc.tile, self.kind
        columns = [f.add("%column", j * tile.lanes) for j in range(tile.vectors)]
        vectors: list[_Vector] = []
        for i in range(tile.rows):
            row = f.add("%row", i)
            start = f.mul(f.word(Word.C_ROW), row)
            for j, column in enumerate(columns):
                at = element_at(f, kind.target, "%c", f.add(start, column))
                vectors.append(_Vector(i, j, row, column, at))
        if kind.target == kind.compute:     # the depth may be several blocks
            with f.when(f.compare("eq", "%first", 0)):
                for v in vectors:
                    before = read_lanes(f, kind.target, tile.lanes, v.at)
                    acc.set(v.i, v.j, f.emit(f"fadd {tile.vector} {acc.get(v.i, v.j)}, {before}"))
        if tile == self.tile and machine().passes:
            inside = f.emit(f"and i64 {f.emit(f'ptrtoint ptr {vectors[0].at} to i64')}, {LINE - 1}")
            past = f.compare("eq", inside, 0)
            past = f.emit(f"and i1 {past}, {f.compare('ne', f.word(Word.PAST), 0)}")
            with f.when(past):
                self._store(f, acc, vectors, ready=True, past=True)
            with f.otherwise(past):
                self._store_near(f, acc, vectors)
        else:
            self._store_near(f, acc, vectors)

    def _store_near(self, f: Function, acc: Accumulators, vectors: list[_Vector]) -> None:
        """Store a tile into the caches; until the last block of the depth, as sums."""
        if self.kind.target == self.kind.compute and self.kind.epilogue is not None:
            ready = f.compare("ne", "%last", 0)
            with f.when(ready):
                self._store(f, acc, vectors)
            with f.otherwise(ready):
                self._store(f, acc, vectors, ready=False)
        else:
            self._store(f, acc, vectors)

    def _store(self, f: Function, acc: Accumulators, vectors: list[_Vector], ready: bool = True,
               past: bool = False) -> None:
        """Store a tile, line by line. ``ready``: its sums are complete; ``past``: past the caches."""
        known: dict[object, str] = {}
        write = write_past if past else write_lanes
        for v in vectors:
            value = acc.get(v.i, v.j)
            if ready:
                place = Place(INDICES, v.row, v.column, acc.tile.lanes, None, known)
                value = self._finished(f, place, value)
            write(f, self.kind.target, acc.tile.lanes, value, v.at)

    def _finished(self, f: Function, place: Place, value: str) -> str:
        epilogue = self.kind.epilogue
        return value if epilogue is None else epilogue.apply(f, Word.END, place, value)

    def _emit_slowly(self, f: Function, place: Place, value: str, at: str, adjacent: str) -> None:
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
