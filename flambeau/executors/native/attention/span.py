"""The keys of a tile, and which of them a block of queries attends to.

A block has one or two vectors of queries. Under a causal mask the second vector attends to keys that come
after all queries of the first one: up to a quarter of the products of the tile on the diagonal. Those *late*
keys are computed for the second vector alone, in all products; what a tile holds of them in the first vector
is undefined, and nobody reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..llvm.build import Function, Value
from .arguments import Arguments, Matrix
from .paired import is_paired, paired_product
from .tiles import Ahead, Parts


class Span:
    """The ``n`` keys from ``j`` on, of which ``both`` are attended to by all vectors of a block of queries.

    ``first``, ``count``: the queries of the block; ``wide`` (i1): whether they have more than one vector;
    ``stop``: one past the last key that any of them attends to.
    """

    def __init__(self, w: Arguments, first: str, count: str, wide: str, j: str, stop: str) -> None:
        f, parts = w.f, w.parts
        self.f, self.parts = f, parts
        self.count, self.wide, self.j = count, wide, j
        self.n = f.least(f.sub(stop, j), w["keys.block"])
        early = f.least(f.most(f.sub(f.add(first, parts.lanes), j), 0), self.n)
        causal = f.emit(f"and i1 {wide}, {w.flag('causal')}")
        self.both = f.choose(causal, "i64", early, self.n)
        self.late = f.sub(self.n, self.both)
        self.second = f.sub(count, parts.lanes)     # queries of the second vector

    def _second(self, tile: str) -> str:
        """The second vector of a tile's rows."""
        return self.parts.at(self.f, tile, self.parts.lanes)

    def _late(self, tile: str) -> str:
        """The second vector of the late keys' rows."""
        return self._second(self.parts.at(self.f, tile, self.f.mul(self.both, self.parts.width)))

    def by_key(self, a: Matrix, b: str, tile: str, depth: str) -> None:
        """tile = A B: rows of A are keys, columns of B are queries."""
        f, parts, both = self.f, self.parts, self.both
        row, column = a.row.get(), a.column.get()
        start = parts.at(f, a.pointer.get(), f.mul(self.j, row))
        late = f.compare("sgt", self.late, 0)
        late_start, late_tile = parts.at(f, start, f.mul(both, row)), self._late(tile)
        second = self._second(b)
        paired = is_paired(parts, f, self.count, a, depth)
        with f.when(paired):
            paired_product(parts, f, self.count, start, row, b, tile, both, depth)
            with f.when(late):
                paired_product(parts, f, self.second, late_start, row, self._second(second), late_tile,
                               self.late, depth)
        with f.otherwise(paired):
            width = parts.width
            parts.product(f, self.count, start, row, column, b, width, tile, width, both, depth)
            with f.when(late):
                parts.product(f, self.second, late_start, row, column, second, width, late_tile, width,
                              self.late, depth)

    def over_keys(self, tile: str, b: str, b_row: str, c: str, c_row: str, columns: str, ahead: Ahead,
                  factors: str = "null") -> None:
        """C = factors * tile^T B, from the second tile on tile^T B + factors * C: C has a row for each query.

        C has ``columns``, whole vectors; ``factors`` has an element for each of its rows.
        """
        f, parts = self.f, self.parts
        later = f.compare("sgt", self.j, 0)
        late_b = parts.at(f, b, f.mul(self.both, b_row))
        late_c = parts.at(f, c, f.mul(c_row, parts.lanes))
        with f.loop(0, columns, parts.width) as x:
            here = f.sub(columns, x)
            parts.product(f, here, tile, 1, parts.width, parts.at(f, b, x), b_row, parts.at(f, c, x), c_row,
                          self.count, self.both, later, factors, ahead.moved(f, f.mul(x, parts.itemsize)))
            with f.when(f.compare("sgt", self.late, 0)):
                parts.product(f, here, self._late(tile), 1, parts.width, parts.at(f, late_b, x), b_row,
                              parts.at(f, late_c, x), c_row, self.second, self.late, "true")

    def over_queries(self, tile: str, b: str, b_row: str, c: str, c_row: str, columns: str,
                     added: str, before: tuple[str, str]) -> None:
        """C = tile B, or if it is ``added`` (i1) C + tile B: rows of C are keys, rows of B are queries.

        C has ``columns``, whole vectors; ``before``: where that C is read which is added to, and its row.
        """
        f, parts = self.f, self.parts
        late_b = parts.at(f, b, f.mul(b_row, parts.lanes))
        late_c, (old, old_row) = parts.at(f, c, f.mul(self.both, c_row)), before
        late_old = parts.at(f, old, f.mul(self.both, old_row))
        with f.loop(0, columns, parts.width) as x:
            here = f.sub(columns, x)
            parts.product(f, here, tile, parts.width, 1, parts.at(f, b, x), b_row, parts.at(f, c, x), c_row,
                          self.both, self.count, added, before=(parts.at(f, old, x), old_row))
            with f.when(f.compare("sgt", self.late, 0)):
                parts.product(f, here, self._late(tile), parts.width, 1, parts.at(f, late_b, x), b_row,
                              parts.at(f, late_c, x), c_row, self.late, self.second, added,
                              before=(parts.at(f, late_old, x), old_row))

    def run(self, helper: Callable[[Parts, int], Function], *arguments: Value) -> None:
        """Call a helper that goes over keys: of one vector or of two, with ``both`` and ``n`` at the end."""
        f, parts = self.f, self.parts
        with f.when(self.wide):
            f.run(helper(parts, 2), *arguments, self.both, self.n)
        with f.otherwise(self.wide):
            f.run(helper(parts, 1), *arguments, self.both, self.n)


BOUNDS = [("i64", "%both"), ("i64", "%n")]


def over_keys(f: Function, vectors: int, each: Callable[[str, Sequence[int]], None]) -> None:
    """In a helper with parameters ``BOUNDS``: ``each(key, vectors)`` for every key, late ones at the end."""
    with f.loop(0, "%both") as i:
        each(i, range(vectors))
    if vectors > 1:
        with f.loop("%both", "%n") as i:
            each(i, range(1, vectors))
