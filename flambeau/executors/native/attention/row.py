"""Attention of single queries, as in decoding with a cache of keys and values: one pass over K, one over V.

Lanes are elements of a row. Scores of as many keys as a vector has lanes are computed together: each key has
a vector of partial sums, and the sums across lanes of all of them come out of one tree of shuffles, in which
vectors are halved and paired at each level. The softmax then runs along the buffer of scores.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from ..llvm.build import Module, Value, Variable
from ..llvm.emitter import Dtype
from ..llvm.lanes import sums_of
from .arguments import SIZES, Arguments, Head, Names
from .powers import base_two, finite_or_zero, greater, of_mask, power
from .tiles import Parts

ROW = Names(("query", "key", "value", "mask"), ("result",), (), SIZES, ("scores",))
_CHAINS = 4     # sums over keys that run side by side, to hide the latency of the multiply-add


@functools.cache
def row_text(compute: Dtype) -> str:
    """The module of the kernel ``attention_row``, for matrices with adjacent columns."""
    module = Module()
    parts = Parts(module, compute, compute)
    with module.kernel("attention_row") as f:
        w = Arguments(f, parts, ROW)
        with f.loop(f.begin, f.end) as task:
            number = f.div(task, w["queries"])
            shared = w.head(f.div(number, w["group"]), shared=True)
            _Row(w, w.head(number), shared, f.rem(task, w["queries"])).run()
    return module.text()


class _Row:
    """One query of one head."""

    def __init__(self, w: Arguments, head: Head, shared: Head, query: str) -> None:
        f, parts = w.f, w.parts
        self.w, self.f, self.parts = w, f, parts
        self.head, self.shared, self.query = head, shared, query
        self.keys = f.choose(w.flag("causal"), "i64", f.least(w["keys"], f.add(query, 1)), w["keys"])
        self.buffer = w.scratch("scores")
        self.result = parts.at(f, w.of_head("result", head), f.mul(query, w["result.row"]))

    def run(self) -> None:
        """The row of the result."""
        w, f, parts = self.w, self.f, self.parts
        n = parts.lanes
        source = parts.at(f, w.of_head("query", self.head), f.mul(self.query, w["query.row"]))
        keys = w.of_head("key", self.shared)
        factors = f.splat(base_two(parts, f, w["scale"]), n, parts.element)
        with f.loop(0, self.keys, n) as j:
            self._scores(source, keys, factors, j)
        with f.when(w.flag("masked")):
            self._add_mask()
        total = self._softmax()
        values = w.of_head("value", self.shared)
        one = f.emit(f"select i1 {f.emit(f'fcmp oeq {parts.element} {total}, 0.0')}, "
                     f"{parts.element} {parts.number(1.0)}, {parts.element} {total}")
        divisor = f.splat(f.emit(f"fdiv {parts.element} {parts.number(1.0)}, {one}"), n, parts.element)
        whole = f.sub(w["width"], f.rem(w["width"], n))
        pairs = f.sub(whole, f.rem(whole, 2 * n))
        with f.loop(0, pairs, 2 * n) as c:
            self._values(parts.at(f, values, c), parts.at(f, self.result, c), divisor, 2, None)
        with f.loop(pairs, whole, n) as c:
            self._values(parts.at(f, values, c), parts.at(f, self.result, c), divisor, 1, None)
        with f.when(f.compare("slt", whole, w["width"])):
            mask = f.first_lanes(f.sub(w["width"], whole), n)
            self._values(parts.at(f, values, whole), parts.at(f, self.result, whole), divisor, 1, mask)

    def _scores(self, query: str, keys: str, factors: str, j: str) -> None:
        """Scores of a vector of keys into the buffer; minus infinity beyond the last one."""
        w, f, parts = self.w, self.f, self.parts
        n, last = parts.lanes, f.sub(self.keys, 1)
        # Beyond the last key it is read again, so that nothing else is touched.
        rows = [parts.at(f, keys, f.mul(f.least(f.add(j, i), last), w["key.row"])) for i in range(n)]
        sums = [f.variable(parts.vector, "zeroinitializer") for _ in rows]
        whole = f.sub(w["depth"], f.rem(w["depth"], n))
        with f.loop(0, whole, n) as c:
            self._add_products(query, rows, sums, c, None)
        with f.when(f.compare("slt", whole, w["depth"])):
            self._add_products(query, rows, sums, whole, f.first_lanes(f.sub(w["depth"], whole), n))
        total = sums_of(f, parts.vector, n, [x.get() for x in sums])
        score = f.emit(f"fmul {parts.vector} {factors}, {total}")
        inside = f.first_lanes(f.sub(self.keys, j), n)
        parts.write(f, f.emit(f"select <{n} x i1> {inside}, {parts.vector} {score}, "
                              f"{parts.vector} {parts.numbers(-math.inf)}"), self.buffer, j)

    def _add_products(self, query: str, rows: Sequence[str], sums: Sequence[Variable], c: str,
                      mask: str | None) -> None:
        f, parts = self.f, self.parts
        q = self._read(query, c, mask)
        for row, total in zip(rows, sums):
            total.set(f.fma(parts.vector, q, self._read(row, c, mask), total.get()))

    def _read(self, pointer: str, c: Value, mask: str | None) -> str:
        f, parts = self.f, self.parts
        if mask is None:
            return parts.read(f, pointer, c)
        return f.read_masked(parts.vector, parts.at(f, pointer, c), mask, parts.itemsize)

    def _add_mask(self) -> None:
        w, f, parts = self.w, self.f, self.parts
        mask = parts.at(f, w.of_head("mask", self.head), f.mul(self.query, w["mask.row"]))
        with f.loop(0, self.keys) as j:
            x = f.read(parts.element, parts.at(f, mask, f.mul(j, w["mask.column"])), parts.itemsize)
            place = parts.at(f, self.buffer, j)
            before = f.read(parts.element, place, parts.itemsize)
            total = f.emit(f"fadd {parts.element} {before}, {of_mask(parts, f, x, 1)}")
            f.write(parts.element, total, place, parts.itemsize)

    def _softmax(self) -> str:
        """Weights into the buffer; their sum."""
        f, parts = self.f, self.parts
        top = f.variable(parts.vector, parts.numbers(-math.inf))
        with f.loop(0, self.keys, parts.lanes) as j:
            top.set(greater(parts, f, parts.read(f, self.buffer, j), top.get()))
        greatest = f.splat(f.greatest(parts.vector, top.get()), parts.lanes, parts.element)
        greatest = finite_or_zero(parts, f, greatest)
        total = f.variable(parts.vector, "zeroinitializer")
        with f.loop(0, self.keys, parts.lanes) as j:
            p = power(parts, f, parts.read(f, self.buffer, j), greatest)
            parts.write(f, p, self.buffer, j)
            total.set(f.emit(f"fadd {parts.vector} {total.get()}, {p}"))
        return f.total(parts.vector, total.get())

    def _values(self, values: str, result: str, divisor: str, vectors: int, mask: str | None) -> None:
        """Some columns of the row of the result."""
        f, parts = self.f, self.parts
        sums = [[f.variable(parts.vector, "zeroinitializer") for _ in range(vectors)] for _ in range(_CHAINS)]
        whole = f.sub(self.keys, f.rem(self.keys, _CHAINS))
        with f.loop(0, whole, _CHAINS) as j:
            for i, chain in enumerate(sums):
                self._add_value(values, f.add(j, i), chain, mask)
        with f.loop(whole, self.keys) as j:
            self._add_value(values, j, sums[0], mask)
        for x in range(vectors):
            low, high = (f.emit(f"fadd {parts.vector} {sums[i][x].get()}, {sums[i + 1][x].get()}")
                         for i in (0, 2))
            total = f.emit(f"fmul {parts.vector} {f.emit(f'fadd {parts.vector} {low}, {high}')}, {divisor}")
            if mask is None:
                parts.write(f, total, result, x * parts.lanes)
            else:
                f.write_masked(parts.vector, total, result, mask, parts.itemsize)

    def _add_value(self, values: str, j: str, chain: Sequence[Variable], mask: str | None) -> None:
        w, f, parts = self.w, self.f, self.parts
        row = parts.at(f, values, f.mul(j, w["value.row"]))
        p = f.splat(f.read(parts.element, parts.at(f, self.buffer, j), parts.itemsize), parts.lanes,
                    parts.element)
        for x, total in enumerate(chain):
            total.set(f.fma(parts.vector, p, self._read(row, x * parts.lanes, mask), total.get()))
