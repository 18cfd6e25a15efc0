"""Blocks whose second vector of queries is filled to a half at most, with all of their keys in one tile.

Of the second vector's scores those of two adjacent keys share a vector, as sums of pairs come: scores are
[keys][lanes], and apart from these [keys][lanes / 2] (``paired.py``). So 24 queries, of lanes of 16, take 3/4
of the powers, and of the maxima and sums. A key that is missing at the end has scores of minus infinity.
"""

from __future__ import annotations

import math

from ..llvm.build import Function, Value
from ..llvm.lanes import shuffle
from .arguments import Arguments, Matrix
from .paired import halved_product
from .powers import finite_or_zero, greater, power
from .tiles import Ahead, Parts


def is_halved(w: Arguments, paired: str, wide: str) -> str:
    """Whether (i1) a block is such a one.

    ``paired``: its products are those of pairs; ``wide``: it has more queries than a vector has lanes.
    """
    f = w.f
    special = f.add(f.add(w["causal"], w["masked"]), w["dropped"])
    plain = f.emit(f"and i1 {f.compare('eq', special, 0)}, {w.flag('direct')}")
    return f.emit(f"and i1 {f.emit(f'and i1 {paired}, {wide}')}, {plain}")


class Halves:
    """The scores of a block of ``count`` queries with all keys, and what is done with them."""

    def __init__(self, w: Arguments, count: str) -> None:
        f, parts = w.f, w.parts
        self.w, self.f, self.parts = w, f, parts
        self.later = f.sub(count, parts.lanes)      # queries of the second vector
        self.first = w.scratch("scores")
        self.second = parts.at(f, self.first, f.mul(f.mul(f.div(f.add(w["keys"], 3), 4), 4), parts.lanes))

    def by_key(self, k: Matrix, query_t: str) -> None:
        """The scores; those of a few keys beyond the last one are the last one's."""
        halved_product(self.parts, self.f, k.pointer.get(), k.row.get(), query_t, (self.first, self.second),
                       self.w["keys"], self.w["depth"])

    def weigh(self) -> str:
        """Scores to weights, in place; their sums."""
        f, parts = self.f, self.parts
        parameters = [("ptr", "%first"), ("ptr", "%second"), ("ptr noalias", "%sums"), ("i64", "%n")]
        sums = self.w.scratch("statistics")
        f.run(parts.helper("softmax_halves", parameters, lambda g: _weigh(parts, g)), self.first, self.second,
              sums, self.w["keys"])
        return sums

    def over_keys(self, v: Matrix, target: str, row: str, ahead: Ahead, sums: str) -> None:
        """The rows of the result: ``sums`` times P V."""
        w, f, parts = self.w, self.f, self.parts
        lanes, columns = parts.lanes, w["width.padded"]
        shares: list[tuple[str, int, int, Value]] = [(self.first, lanes, 0, lanes),
                                                     (self.second, lanes // 2, lanes, self.later)]
        with f.loop(0, columns, parts.width) as x:
            b, here = parts.at(f, v.pointer.get(), x), f.sub(columns, x)
            for k, (tile, step, begin, rows) in enumerate(shares):
                c = parts.at(f, target, f.add(f.mul(row, begin), x))
                # A line for each two tiles: the whole vector has two.
                soon = ahead.moved(f, f.add(f.mul(x, parts.itemsize), 64 * k))
                parts.product(f, here, tile, 1, step, b, v.row.get(), c, row, rows, w["keys"], "false",
                              parts.at(f, sums, begin), soon)


def _weigh(parts: Parts, f: Function) -> None:
    """``%n`` keys, two at a time."""
    lanes, half = parts.lanes, parts.lanes // 2
    with f.when(f.compare("ne", f.emit("and i64 %n, 1"), 0)):
        nothing = parts.numbers(-math.inf)
        parts.write(f, nothing, "%first", f.mul("%n", lanes))
        parts.write(f, nothing, "%second", f.mul("%n", half))

    def places(i: str) -> list[str]:
        one = parts.at(f, "%first", f.mul(i, lanes))
        return [one, parts.at(f, one, lanes), parts.at(f, "%second", f.mul(i, half))]

    def other_half(x: str) -> str:
        return shuffle(f, parts.vector, lanes, x, x, [(i + half) % lanes for i in range(lanes)])

    tops = [f.variable(parts.vector, parts.numbers(-math.inf)) for _ in range(3)]
    with f.loop(0, "%n", 2) as i:
        for top, place in zip(tops, places(i)):
            top.set(greater(parts, f, parts.read(f, place, 0), top.get()))
    x, y, z = (top.get() for top in tops)
    whole = finite_or_zero(parts, f, greater(parts, f, x, y))
    halved = finite_or_zero(parts, f, greater(parts, f, z, other_half(z)))
    sums = [f.variable(parts.vector, "zeroinitializer") for _ in range(3)]
    with f.loop(0, "%n", 2) as i:
        for total, place, highest in zip(sums, places(i), (whole, whole, halved)):
            p = power(parts, f, parts.read(f, place, 0), highest)
            parts.write(f, p, place, 0)
            total.set(f.emit(f"fadd {parts.vector} {total.get()}, {p}"))
    x, y, z = (total.get() for total in sums)
    for k, (a, b) in enumerate(((x, y), (z, other_half(z)))):
        parts.write(f, f.emit(f"fadd {parts.vector} {a}, {b}"), "%sums", k * lanes)
