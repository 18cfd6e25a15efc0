"""What the attention kernels are made of: tile products, tile transpositions, moving blocks.

Scores are computed transposed: a tile is [keys][queries], a vector of lanes holds the scores of one key with
as many queries. So the maximum and the sum over keys need no reduction across lanes, and in

    S^T = K Q^T        dP^T = V dO^T        O = P V        dQ = dS K        dV = P^T dO        dK = dS^T Q

the left matrix is read element by element (and broadcast) from wherever it lies, with any strides; vectors
are read of rows of the right one. Only the queries of a block are transposed into scratch memory, and scaled
on the way: by log2(e) as well, so that a weight is a power of two of its score.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..llvm.build import Function, Module, Value
from ..llvm.emitter import Dtype, literal, memory_type
from ..products.microkernel import Accumulators, Tile, accumulate, local_array, tile_of
from ..vectors import transposed, transposed_pairs

ROWS = 8       # of a tile of a product, at most, as extents are mostly multiples of it
_SOON = 4       # rows of a result that are asked for before they are written, as stores wait for each other
KEYS = 128      # keys of a block, at most: with as many rows of V, a tile of scores fits the first cache


class Ahead(NamedTuple):
    """Rows of one or two matrices that are needed later, to be brought into the second cache meanwhile.

    Rows of heads lie far apart, so that the CPU does not foresee them. Steps from row to row are in bytes.
    """

    first: str
    first_step: Value
    second: str
    second_step: Value

    def moved(self, f: Function, distance: Value) -> Ahead:
        """So many bytes further on in each row."""
        return self._replace(first=f.at(self.first, distance, "i8"), second=f.at(self.second, distance, "i8"))


class Parts:
    """The helper functions of a module for one element type, each made when it is first used.

    ``factored``: products have factors.
    """

    def __init__(self, module: Module, storage: Dtype, compute: Dtype, factored: bool = True) -> None:
        self.module = module
        self.factored = factored
        self.storage = storage
        self.compute = compute
        self.tile = tile_of(compute.itemsize)
        self.lanes = self.tile.lanes
        self.width = self.tile.columns          # queries of a block
        self.keys = KEYS                        # keys of a block, at most
        self.element = self.tile.element
        self.vector = self.tile.vector
        self._made: dict[str, Function] = {}

    def helper(self, name: str, parameters: Sequence[tuple[str, str]],
               make: Callable[[Function], None]) -> Function:
        """A function of the module; ``make`` writes it when it is first asked for."""
        if name not in self._made:
            with self.module.helper(name, parameters) as f:
                f.attributes = "noinline #0"    # which halves the time to compile
                make(f)
            self._made[name] = f
        return self._made[name]

    @property
    def itemsize(self) -> int:
        return self.compute.itemsize

    def number(self, value: float) -> str:
        """A constant, as an operand."""
        return literal(value, self.compute)

    def numbers(self, value: float) -> str:
        """A vector of equal constants, as an operand."""
        one = f"{self.element} {self.number(value)}"
        return f"<{', '.join([one] * self.lanes)}>"

    def at(self, f: Function, pointer: str, index: Value) -> str:
        """Address of an element of scratch memory."""
        return f.at(pointer, index, self.element)

    def read(self, f: Function, pointer: str, index: Value) -> str:
        """A vector of scratch memory."""
        return f.read(self.vector, self.at(f, pointer, index), self.itemsize)

    def write(self, f: Function, value: str, pointer: str, index: Value) -> None:
        """Store a vector into scratch memory."""
        f.write(self.vector, value, self.at(f, pointer, index), self.itemsize)

    # --- tile products --------------------------------------------------------------------------------------

    def product(self, f: Function, count: Value, a: str, a_row: Value, a_step: Value, b: str, b_step: Value,
                c: str, c_row: Value, rows: Value, depth: Value, added: str = "false", factors: str = "null",
                ahead: Ahead | None = None, before: tuple[str, Value] | None = None) -> None:
        """C = factors * A B for a C of at most ``width`` columns, or, if it is ``added``, A B + factors * C.

        ``count``: columns of C that somebody reads; others, up to whole vectors, may be read of B. A (rows,
        depth) has strides ``a_row``, ``a_step``; ``factors`` has an element for each row, or is null for 1.
        ``ahead``: a row for each step. ``before``: where the C is read that is added to, and how far its rows
        are apart, if not where the result is written.
        """
        ahead = ahead or Ahead(b, 0, b, 0)
        matrices = a, a_row, a_step, b, b_step, c, c_row, rows, depth
        f.run(self._product, count, *matrices, added, factors, *ahead, *(before or (c, c_row)))

    @property
    def _product(self) -> Function:
        return self.helper("product", [
            ("i64", "%count"), ("ptr readonly", "%a"), ("i64", "%a_row"), ("i64", "%a_step"),
            ("ptr readonly", "%b"), ("i64", "%b_step"), ("ptr", "%c"), ("i64", "%c_row"), ("i64", "%rows"),
            ("i64", "%depth"), ("i1", "%added"), ("ptr readonly", "%factors"), ("ptr", "%first"),
            ("i64", "%first_step"), ("ptr", "%second"), ("i64", "%second_step"), ("ptr", "%before"),
            ("i64", "%before_row")], self._products)

    def _products(self, f: Function) -> None:
        """Two vectors of columns or one."""
        wide = f.compare("sgt", "%count", self.lanes)
        with f.when(wide):
            self._all_rows(f)
        with f.otherwise(wide):
            self._all_repeated(f, Tile(ROWS, 1, self.lanes, self.element), 0, "%rows")

    def _all_rows(self, f: Function) -> None:
        """Whole tiles, then halves and quarters: as multiply-adds are slow, one row takes as long as two."""
        most = min(self.tile.rows, ROWS)
        tile = self.tile._replace(rows=most)
        with f.loop(0, f.sub("%rows", most - 1), most) as row:
            self._rows(f, tile, row, list(range(most)))
        done = f.sub("%rows", f.rem("%rows", most))
        if most < ROWS:
            self._all_repeated(f, tile._replace(rows=most // 2), done, "%rows")
            return
        left = f.rem(f.sub("%rows", 1), most // 2)      # of a last half, but one
        few = f.compare("slt", left, most // 4)
        halves = f.choose(few, "i64", f.sub(f.sub("%rows", 1), left), "%rows")
        self._all_repeated(f, tile._replace(rows=most // 2), done, halves)
        self._all_repeated(f, tile._replace(rows=most // 4), halves, "%rows")

    def _all_repeated(self, f: Function, tile: Tile, done: Value, stop: Value) -> None:
        """The rows from ``done`` to ``stop``; beyond the last one it is repeated."""
        with f.loop(done, stop, tile.rows) as row:
            last = f.sub(f.sub("%rows", row), 1)
            self._rows(f, tile, row, [f.least(i, last) for i in range(tile.rows)])

    def _rows(self, f: Function, tile: Tile, row: str, numbers: Sequence[Value]) -> None:
        """The rows of C that a tile covers: their ``numbers`` from ``row`` on."""
        kind = tile.vector
        source = self.at(f, "%a", f.mul(row, "%a_row"))
        acc = Accumulators(f, tile)
        with f.when("%added"):
            for i, places in enumerate(self._places(f, tile, "%before", row, numbers)):
                for j, place in enumerate(places):
                    acc.set(i, j, f.read(kind, place, self.itemsize))
            self._multiply_rows(f, acc, row, numbers)
        apart = isinstance(numbers[0], int)
        targets = self._places(f, tile, "%c", row, numbers)
        if apart:
            self._bring_rows(f, tile, source)
            self._bring_result(f, targets)
        accumulate(f, acc, "%depth", source, "%b", a_row="%a_row", a_step="%a_step", b_step="%b_step",
                   each=self._bring(f, f.div(row, tile.rows)),
                   a_rows=[] if apart else [self.at(f, source, f.mul("%a_row", i)) for i in numbers])
        with f.otherwise("%added"):
            self._multiply_rows(f, acc, row, numbers)
        for i, places in enumerate(targets):
            for j, place in enumerate(places):
                f.write(kind, acc.get(i, j), place, self.itemsize)

    def _places(self, f: Function, tile: Tile, name: str, row: str,
                numbers: Sequence[Value]) -> list[list[str]]:
        """Where the vectors of a tile's rows lie in a matrix."""
        start = self.at(f, name, f.mul(row, f"{name}_row"))
        rows = [f.mul(f"{name}_row", i) for i in numbers]
        return [[self.at(f, start, f.add(at, j * tile.lanes)) for j in range(tile.vectors)] for at in rows]

    def _bring_rows(self, f: Function, tile: Tile, source: str) -> None:
        """Let the next rows of A come into the first cache, if they are read one after the other."""
        step = f.mul("%a_row", self.itemsize)
        following = f.at(source, f.mul(step, tile.rows), "i8")
        # Those of a tile of scores are adjacent, and come by themselves.
        apart = f.emit(f"and i1 {f.compare('eq', '%a_step', 1)}, {f.compare('ne', '%a_row', self.width)}")
        size = f.choose(apart, "i64", f.mul("%depth", self.itemsize), 0)
        with f.loop(0, size, 64) as line:
            place = f.at(following, line, "i8")
            for _ in range(tile.rows):
                f.prefetch(place, 1)
                place = f.at(place, step, "i8")

    def _bring_result(self, f: Function, places: list[list[str]]) -> None:
        """Let the lines of C come that have not been read: a store would wait, and all stores after it."""
        written = f.choose("%added", "i1", f.emit("icmp ne ptr %c, %before"), "true")
        elsewhere = f.compare("ne", "%c_row", self.width)   # tiles of scores are in the caches
        with f.when(f.emit(f"and i1 {written}, {elsewhere}")):
            for place in itertools.chain(*places):
                f.prefetch(place, 1, write=True)

    def _multiply_rows(self, f: Function, acc: Accumulators, row: str, numbers: Sequence[Value]) -> None:
        """Each row of a tile times its factor, if there are any."""
        if not self.factored:
            return
        with f.when(f.emit("icmp ne ptr %factors, null")):
            for i, number in enumerate(numbers):
                factor = self.broadcast(f, "%factors", f.add(row, number))
                for j in range(acc.tile.vectors):
                    acc.set(i, j, f.emit(f"fmul {acc.tile.vector} {acc.get(i, j)}, {factor}"))

    def _bring(self, f: Function, tile: str) -> Callable[[], None]:
        """What brings a cache line of ``Ahead`` at each step: lines of both matrices by turns of tiles."""
        odd = f.compare("ne", f.emit(f"and i64 {tile}, 1"), 0)
        place = f.mul(f.div(tile, 2), 64)
        line = f.variable("ptr", f.at(f.choose(odd, "ptr", "%second", "%first"), place, "i8"))
        step = f.choose(odd, "i64", "%second_step", "%first_step")

        def bring() -> None:
            f.prefetch(line.get(), 2)
            line.set(f.at(line.get(), step, "i8"))
        return bring

    # --- transposition --------------------------------------------------------------------------------------

    def transpose_in(self, f: Function, source: str, row: Value, rows: Value, columns: Value, target: str,
                     factor: Value, paired: str = "false") -> None:
        """(rows, columns) with adjacent columns into scratch [columns][width], times ``factor``.

        Lanes beyond ``rows`` repeat the last row; the target has room for whole vectors of columns.
        ``paired`` (i1): into [pairs of columns][width][2], see ``paired.py``.
        """
        parameters = [("ptr readonly", "%source"), ("i64", "%row"), ("i64", "%rows"), ("i64", "%columns"),
                      ("ptr", "%target"), (self.element, "%factor")]
        arguments = source, row, rows, columns, target, factor
        if paired != "false":
            with f.when(paired):
                pairs = self.helper("transpose_pairs", parameters, lambda g: self._transpose_in(g, 2))
                f.run(pairs, *arguments)
        with f.otherwise(paired):
            f.run(self.helper("transpose_in", parameters, lambda g: self._transpose_in(g, 1)), *arguments)

    def _transpose_in(self, g: Function, step: int) -> None:
        """``step``: how many columns stay adjacent."""
        n, count = self.lanes, self.lanes // step
        factors = g.splat("%factor", n, self.element)
        places, rest = local_array(g, count, "ptr"), local_array(g, count * n, self.element)
        with g.loop(0, "%rows", count) as r:
            self._row_places(g, r, places, count)
            with g.loop(0, "%columns", n) as c:
                left = g.sub("%columns", c)
                partial = g.compare("slt", left, n)
                with g.when(partial):
                    self._copy_rest(g, places, rest, c, left, count)
                start = g.choose(partial, "i64", 0, c)
                block = []
                for i in range(count):
                    x = self.read(g, g.read("ptr", g.at(places, i, "ptr"), 8), start)
                    block.append(g.emit(f"fmul {self.vector} {factors}, {x}"))
                turned = transposed if step == 1 else transposed_pairs
                for i, x in enumerate(turned(g, self.vector, block)):
                    place = g.add(g.mul(g.add(c, step * i), self.width), g.mul(r, step))
                    self.write(g, x, "%target", place)

    def _copy_rest(self, g: Function, places: str, rest: str, c: str, left: str, count: int) -> None:
        """Less than a vector of columns elsewhere: what is read with a mask takes longer."""
        inside = g.first_lanes(left, self.lanes)
        with g.loop(0, count) as i:
            place, target = g.at(places, i, "ptr"), self.at(g, rest, g.mul(i, self.lanes))
            x = g.read_masked(self.vector, self.at(g, g.read("ptr", place, 8), c), inside, self.itemsize)
            self.write(g, x, target, 0)
            g.write("ptr", target, place, 8)

    def _row_places(self, g: Function, r: str, places: str, count: int) -> None:
        """Where the rows of a block begin; beyond the last row of the matrix, the last one again."""
        left = g.sub("%rows", r)
        at = self.at(g, "%source", g.mul(r, "%row"))
        for i in range(count):
            g.write("ptr", at, g.at(places, i, "ptr"), 8)
            at = self.at(g, at, g.choose(g.compare("slt", i + 1, left), "i64", "%row", 0))

    # --- moving blocks --------------------------------------------------------------------------------------

    def stage(self, f: Function, source: str, row: Value, column: Value, rows: Value, columns: Value,
              target: str, target_row: Value) -> None:
        """An operand's (rows, columns) of any strides into rows of scratch memory, as it is computed with."""
        helper = self.helper("stage", [
            ("ptr readonly", "%source"), ("i64", "%row"), ("i64", "%column"), ("i64", "%rows"),
            ("i64", "%columns"), ("ptr noalias", "%target"), ("i64", "%target_row")], self._stage)
        f.run(helper, source, row, column, rows, columns, target, target_row)

    def _stage(self, g: Function) -> None:
        memory, n = memory_type(self.storage), self.lanes
        whole = g.sub("%columns", g.rem("%columns", n))
        vectors = g.choose(g.compare("eq", "%column", 1), "i64", whole, 0)
        with g.loop(0, "%rows") as r:
            source = g.at("%source", g.mul(r, "%row"), memory)
            target = self.at(g, "%target", g.mul(r, "%target_row"))
            if self.storage == self.compute:
                with g.loop(0, vectors, n) as c:
                    self.write(g, g.read(self.vector, g.at(source, c, memory), self.itemsize), target, c)
            else:  # one by one, for LLVM to vectorize with the conversion
                with g.loop(0, vectors) as c:
                    x = g.load(g.at(source, c, memory), self.storage)
                    g.write(self.element, x, self.at(g, target, c), self.itemsize)
            with g.loop(vectors, "%columns") as c:
                x = g.load(g.at(source, g.mul(c, "%column"), memory), self.storage)
                g.write(self.element, x, self.at(g, target, c), self.itemsize)

    def deliver(self, f: Function, source: str, source_row: Value, rows: Value, columns: Value, target: str,
                row: Value, factors: str = "") -> None:
        """Rows of scratch memory, which are whole vectors, into a result: each times its factor, rounded."""
        memory = memory_type(self.storage)
        whole = f.sub(columns, f.rem(columns, self.lanes))
        inside = f.first_lanes(f.sub(columns, whole), self.lanes)
        with f.loop(0, rows) as r:
            start = self.at(f, source, f.mul(r, source_row))
            end = f.at(target, f.mul(r, row), memory)
            soon = f.at(end, f.mul(row, _SOON), memory)
            if self.storage == self.compute:
                factor = self.broadcast(f, factors, r) if factors else ""

                def value(c: Value, start: str = start, factor: str = factor) -> str:
                    x = self.read(f, start, c)
                    return f.emit(f"fmul {self.vector} {x}, {factor}") if factor else x

                with f.loop(0, whole, self.lanes) as c:
                    f.prefetch(self.at(f, soon, c), 1, write=True)
                    self.write(f, value(c), end, c)
                with f.when(f.compare("slt", whole, columns)):
                    f.write_masked(self.vector, value(whole), self.at(f, end, whole), inside, self.itemsize)
            else:
                with f.loop(0, columns) as c:
                    x = f.read(self.element, self.at(f, start, c), self.itemsize)
                    if factors:
                        factor = f.read(self.element, self.at(f, factors, r), self.itemsize)
                        x = f.emit(f"fmul {self.element} {x}, {factor}")
                    f.store(x, f.at(end, c, memory), self.storage)

    def fill(self, f: Function, target: str, count: int, value: float) -> None:
        """Equal elements: whole vectors."""
        for i in range(0, count, self.lanes):
            self.write(f, self.numbers(value), target, i)

    def broadcast(self, f: Function, pointer: str, index: Value) -> str:
        """A vector whose elements all are one of scratch memory."""
        one = f.read(self.element, self.at(f, pointer, index), self.itemsize)
        return f.splat(one, self.lanes, self.element)
