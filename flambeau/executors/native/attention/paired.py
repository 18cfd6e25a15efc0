"""Scores of up to a vector and a half of queries: two elements of a query are adjacent.

A vector of the transposed queries has pairs of columns, Q[i, 2 d] and Q[i, 2 d + 1], of half as many queries
as it has lanes. It is multiplied with a pair K[j, 2 d], K[j, 2 d + 1], read by one load: even lanes add up
half of a score and odd lanes the other half. So a vector that queries fill to a half costs half as much: 24
queries, of lanes of 16, take 3/4 of the multiply-adds of ``Parts.product``. At the end both halves are added,
and the tile is as that leaves it; lanes beyond the queries repeat others.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..llvm.build import Function, Value, Variable, vector
from ..llvm.emitter import FLOAT32
from ..llvm.lanes import shuffle
from .arguments import Matrix
from .tiles import ROWS, Parts

_SUMS = 12      # vectors of sums: enough to hide how long a multiply-add takes, and AVX2 has 16 registers


def is_paired(parts: Parts, f: Function, count: str, left: Matrix, depth: str) -> str:
    """Whether (i1) products of ``left`` with a block of so many queries are those of pairs."""
    if parts.compute != FLOAT32:
        return "false"
    half = f.compare("sle", count, 3 * parts.lanes // 2)
    whole = f.emit(f"and i1 {f.compare('eq', left.column.get(), 1)}, {f.compare('eq', f.rem(depth, 2), 0)}")
    return f.emit(f"and i1 {half}, {whole}")


def paired_product(parts: Parts, f: Function, count: Value, a: str, a_row: Value, b: str, c: str, rows: Value,
                   depth: Value) -> None:
    """C = A B, where they are paired: B is what ``transpose_in`` leaves; rows of C are ``width`` apart."""
    if parts.compute != FLOAT32:
        return
    helper = parts.helper("paired_product", [
        ("i64", "%count"), ("ptr readonly", "%a"), ("i64", "%a_row"), ("ptr readonly", "%b"), ("ptr", "%c"),
        ("i64", "%rows"), ("i64", "%depth")], lambda g: _products(parts, g))
    f.run(helper, count, a, a_row, b, c, rows, depth)


def halved_product(parts: Parts, f: Function, a: str, a_row: Value, b: str, c: tuple[str, str], rows: Value,
                   depth: Value) -> None:
    """The same for a vector and a half of queries, which lie apart: [rows][lanes] and [rows][lanes / 2].

    Rows are written in fours: there is room for them.
    """
    if parts.compute != FLOAT32:
        return
    helper = parts.helper("halved_product", [
        ("ptr readonly", "%a"), ("i64", "%a_row"), ("ptr readonly", "%b"), ("ptr", "%c"), ("ptr", "%second"),
        ("i64", "%rows"), ("i64", "%depth")], lambda g: _all_halved(parts, g))
    f.run(helper, a, a_row, b, *c, rows, depth)


def _products(parts: Parts, f: Function) -> None:
    for vectors in (1, 2, 3):
        last = f.compare("sle", "%count", vectors * parts.lanes // 2)
        first = f.compare("sgt", "%count", (vectors - 1) * parts.lanes // 2)
        with f.when(f.emit(f"and i1 {first}, {last}")):
            _all_rows(parts, f, vectors)


def _all_rows(parts: Parts, f: Function, vectors: int) -> None:
    """Tiles of rows; beyond the last row it is repeated."""
    size = min(ROWS, _SUMS // vectors)
    with f.loop(0, "%rows", size) as row:
        last = f.sub(f.sub("%rows", row), 1)
        numbers = [f.add(row, f.least(i, last)) for i in range(size)]
        sums = _sums(parts, f, vectors, [parts.at(f, "%a", f.mul(i, "%a_row")) for i in numbers])
        for number, found in zip(numbers, sums):
            whole = [total.get() for total in found]
            target = parts.at(f, "%c", f.mul(number, parts.width))
            for x in range(0, vectors, 2):
                parts.write(f, _added(parts, f, whole[x], whole[min(x + 1, vectors - 1)]), target,
                            x // 2 * parts.lanes)


def _all_halved(parts: Parts, f: Function) -> None:
    """Tiles of four rows; beyond the last row it is repeated."""
    size = _SUMS // 3
    with f.loop(0, "%rows", size) as row:
        last = f.sub(f.sub("%rows", row), 1)
        sums = _sums(parts, f, 3, [parts.at(f, "%a", f.mul(f.add(row, f.least(i, last)), "%a_row"))
                                   for i in range(size)])
        found = [[total.get() for total in totals] for totals in sums]
        target = parts.at(f, "%c", f.mul(row, parts.lanes))
        second = parts.at(f, "%second", f.mul(row, parts.lanes // 2))
        for i, (x, y, _) in enumerate(found):
            parts.write(f, _added(parts, f, x, y), target, i * parts.lanes)
        for i in range(0, size, 2):
            parts.write(f, _added(parts, f, found[i][2], found[i + 1][2]), second, i * parts.lanes // 2)


def _sums(parts: Parts, f: Function, vectors: int, rows: Sequence[str]) -> list[list[Variable]]:
    """Sums of pairs for each of the rows."""
    places = [f.variable("ptr", row) for row in rows]
    right = f.variable("ptr", "%b")
    sums = [[f.variable(parts.vector, "zeroinitializer") for _ in range(vectors)] for _ in rows]
    half = vector(parts.lanes // 2, "i64")
    with f.loop(1, "%depth", 2):
        start = right.get()
        columns = [parts.read(f, start, j * parts.lanes) for j in range(vectors)]
        right.set(parts.at(f, start, 2 * parts.width))
        for place, found in zip(places, sums):
            pair = f.splat(f.read("i64", place.get(), parts.itemsize), parts.lanes // 2, "i64")
            factors = f.emit(f"bitcast {half} {pair} to {parts.vector}")
            for total, column in zip(found, columns):
                total.set(f.fma(parts.vector, factors, column, total.get()))
            place.set(parts.at(f, place.get(), 2))
    return sums


def _added(parts: Parts, f: Function, x: str, y: str) -> str:
    """Sums of adjacent lanes, those of x before those of y."""
    even, odd = (shuffle(f, parts.vector, parts.lanes, x, y, range(k, 2 * parts.lanes, 2)) for k in (0, 1))
    return f.emit(f"fadd {parts.vector} {even}, {odd}")
