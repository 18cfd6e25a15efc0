"""softmax(Q K^T scale + mask) V, tile by tile: the scores of a head are never all stored.

A task has some blocks of queries of one head. For a block, keys are passed once, a block of them at a time,
with the online softmax (Milakov and Gimelshein 2018; Dao et al. 2022): of each query are kept the maximum m
of its scores so far, the sum l of 2^(s - m), and the sum o of 2^(s - m) v. Keys with scores s give

    m' = max(m, max s)   alpha = 2^(m - m')   p = 2^(s - m')   l' = alpha l + sum p   o' = alpha o + p V

and the result is o / l, written at once (``direct``) where one block of keys is all there is. Tiles of scores
are transposed, a lane being a query (``tiles.py``). Under a causal mask, blocks of keys that lie behind all
queries of the block are not visited.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from ..llvm.build import Function, Module
from ..llvm.emitter import Dtype, memory_type
from .ahead import bring_later_keys, bring_result, needed_next
from .arguments import SIZES, Arguments, Coming, Head, Matrix, Names, matrix
from .halves import Halves, is_halved
from .paired import is_paired
from .powers import base_two, finite_or_zero, greater, of_mask, power
from .span import BOUNDS, Span, over_keys
from .tiles import Ahead, Parts

SCRATCH = ("query", "key", "value", "query_t", "scores", "output", "statistics", "mask", "mask_t")
FORWARD = Names(("query", "key", "value", "mask", "kept"), ("result",), (), (*SIZES, "direct"), SCRATCH)


@functools.cache
def forward_text(storage: Dtype, compute: Dtype) -> str:
    """The module of the kernel ``attention``."""
    module = Module()
    parts = Parts(module, storage, compute)
    with module.kernel("attention") as f:
        w = Arguments(f, parts, FORWARD)
        blocks = f.div(f.add(w["queries"], parts.width - 1), parts.width)
        coming = Coming(w, f.begin)
        with f.loop(f.begin, f.end) as task:
            number = coming.number.get()
            head, shared = w.head(number), coming.shared
            k = matrix(w, "key", shared, w["keys"], "depth")
            v = matrix(w, "value", shared, w["keys"], "width")
            coming.follow(f.least(f.add(task, 1), f.sub(f.end, 1)))
            shared_next = coming.shared
            # Blocks are dealt out in turn: under a causal mask the first ones have less to do.
            with f.loop(f.sub(task, f.mul(number, w["chunks"])), blocks, w["chunks"]) as block:
                first, following = f.mul(block, parts.width), f.mul(f.add(block, w["chunks"]), parts.width)
                bring_later_keys(w, shared, following)
                ahead = needed_next(w, head, following, ("query", "query"), shared_next)
                _block(w, head, first, k, v, ahead)
    return module.text()


class _Block(NamedTuple):
    """Some ``queries`` of a head, from ``first`` on; ``wide`` (i1): whether they fill two vectors."""

    head: Head
    first: str
    queries: str
    wide: str
    k: Matrix
    v: Matrix
    ahead: Ahead


def _block(w: Arguments, head: Head, first: str, k: Matrix, v: Matrix, ahead: Ahead) -> None:
    """The queries from ``first`` on that a block takes."""
    f, parts = w.f, w.parts
    count = f.least(f.sub(w["queries"], first), parts.width)
    wide = f.compare("sgt", count, parts.lanes)
    queries = matrix(w, "query", head, count, "depth", first)
    paired = is_paired(parts, f, count, k, w["depth"])
    parts.transpose_in(f, queries.pointer.get(), queries.row.get(), count, w["depth"], w.scratch("query_t"),
                       base_two(parts, f, w["scale"]), paired)
    bring_result(w, "result", head, first, count, w["width"])
    block = _Block(head, first, count, wide, k, v, ahead)
    halved = is_halved(w, paired, wide)
    with f.when(halved):
        _halves(w, block)
    with f.otherwise(halved):
        _tiles(w, block)


def _halves(w: Arguments, block: _Block) -> None:
    """All keys at once, of a block that fills one vector and a half."""
    f, head = w.f, block.head
    halves = Halves(w, block.queries)
    halves.by_key(block.k, w.scratch("query_t"))
    sums = halves.weigh()
    inverse(w.parts, f, sums)
    target, row = w.instead("true", "result", head, "null", "0", block.first)
    halves.over_keys(block.v, target, row, block.ahead, sums)


def _tiles(w: Arguments, block: _Block) -> None:
    """A tile of keys after the other."""
    f, parts, v = w.f, w.parts, block.v
    head, first, count = block.head, block.first, block.queries
    tile, statistics = w.scratch("scores"), w.scratch("statistics")
    parts.fill(f, statistics, parts.width, -math.inf)
    sums, alpha = (parts.at(f, statistics, k * parts.width) for k in (1, 2))
    parts.fill(f, sums, parts.width, 0.0)
    direct, output = w.flag("direct"), w.scratch("output")
    target, row = w.instead(direct, "result", head, output, w["width.padded"], first)
    stop = last_key(w, first, count)
    with f.loop(0, stop, w["keys.block"]) as j:
        span = Span(w, first, count, block.wide, j, stop)
        scores(w, head, first, span, block.k, w.scratch("query_t"), tile)
        span.run(_step, tile, statistics)
        with f.when(w.flag("dropped")):
            multiply(parts, f, tile, kept_weights(w, head, first, span), span.n)
        with f.when(direct):
            _invert(w)
        factors = f.choose(f.compare("sgt", j, 0), "ptr", alpha, "null")
        values = parts.at(f, v.pointer.get(), f.mul(j, v.row.get()))
        span.over_keys(tile, values, v.row.get(), target, row, w["width.padded"], block.ahead,
                       f.choose(direct, "ptr", sums, factors))
    with f.otherwise(direct):
        _invert(w)
        row = w["result.row"]
        target = f.at(w.of_head("result", head), f.mul(first, row), memory_type(parts.storage))
        parts.deliver(f, output, w["width.padded"], count, w["width"], target, row, sums)


def _invert(w: Arguments) -> None:
    """What a row of the result is multiplied with, in place of its sum of weights."""
    sums = w.parts.at(w.f, w.scratch("statistics"), w.parts.width)
    inverse(w.parts, w.f, sums)
    multiply_all(w.parts, w.f, sums, w["factor"])


def last_key(w: Arguments, first: str, count: str) -> str:
    """One past the last key that any of the queries may attend to."""
    f = w.f
    causal = f.least(w["keys"], f.add(first, count))
    return f.choose(w.flag("causal"), "i64", causal, w["keys"])


def scores(w: Arguments, head: Head, first: str, span: Span, k: Matrix, query_t: str, tile: str) -> None:
    """Scores of a tile of keys with a block of queries, masks included."""
    f = w.f
    span.by_key(k, query_t, tile, w["depth"])
    with f.when(w.flag("masked")):
        _add_mask(w, head, first, span, tile)
    diagonal = f.compare("sgt", f.add(span.j, span.n), f.add(first, 1))
    with f.when(f.emit(f"and i1 {w.flag('causal')}, {diagonal}")):
        _hide_later(f, span, f.sub(first, span.j), tile)


def _add_mask(w: Arguments, head: Head, first: str, span: Span, tile: str) -> None:
    f, parts = w.f, w.parts
    count, n = span.count, span.n
    row, column = w["mask.row"], w["mask.column"]
    place = f.add(f.mul(first, row), f.mul(span.j, column))
    source = f.at(w.of_head("mask", head), place, memory_type(parts.storage))
    same = f.compare("eq", row, 0)
    block, block_t = w.scratch("mask"), w.scratch("mask_t")
    with f.when(same):      # all queries have the same: one row is enough
        parts.stage(f, source, row, column, 1, n, block, parts.keys)
        with f.loop(0, n) as i:
            x = f.splat(f.read(parts.element, parts.at(f, block, i), parts.itemsize), parts.lanes,
                        parts.element)
            for lane in range(0, parts.width, parts.lanes):
                _add_score(parts, f, tile, f.add(f.mul(i, parts.width), lane), x)
    with f.otherwise(same):
        parts.stage(f, source, row, column, count, n, block, parts.keys)
        parts.transpose_in(f, block, parts.keys, count, n, block_t, parts.number(1.0))
        with f.loop(0, f.mul(n, parts.width), parts.lanes) as i:
            _add_score(parts, f, tile, i, parts.read(f, block_t, i))


def _add_score(parts: Parts, f: Function, tile: str, place: str, x: str) -> None:
    before, added = parts.read(f, tile, place), of_mask(parts, f, x, parts.lanes)
    parts.write(f, f.emit(f"fadd {parts.vector} {before}, {added}"), tile, place)


def kept_weights(w: Arguments, head: Head, first: str, span: Span) -> str:
    """The tile of zeros and ones that dropout multiplies weights with."""
    f, parts = w.f, w.parts
    count, n = span.count, span.n
    row, column = w["kept.row"], w["kept.column"]
    place = f.add(f.mul(first, row), f.mul(span.j, column))
    source = f.at(w.of_head("kept", head), place, memory_type(parts.storage))
    block, block_t = w.scratch("mask"), w.scratch("mask_t")
    parts.stage(f, source, row, column, count, n, block, parts.keys)
    parts.transpose_in(f, block, parts.keys, count, n, block_t, parts.number(1.0))
    return block_t


def multiply(parts: Parts, f: Function, tile: str, factors: str, n: str) -> None:
    """A tile times another."""
    with f.loop(0, f.mul(n, parts.width), parts.lanes) as i:
        x, y = parts.read(f, tile, i), parts.read(f, factors, i)
        parts.write(f, f.emit(f"fmul {parts.vector} {x}, {y}"), tile, i)


def multiply_all(parts: Parts, f: Function, numbers: str, factor: str) -> None:
    """A number for each lane times one number, in place."""
    factors = f.splat(factor, parts.lanes, parts.element)
    for x in range(0, parts.width, parts.lanes):
        parts.write(f, f.emit(f"fmul {parts.vector} {parts.read(f, numbers, x)}, {factors}"), numbers, x)


def _hide_later(f: Function, span: Span, ahead: str, tile: str) -> None:
    """Minus infinity for keys after the query; ``ahead``: the first query's number less the first key's."""
    parts = span.parts
    bounds = [f.most(0, f.add(ahead, 1)), span.both, span.n]    # late keys come after the whole first vector
    for x in range(2):
        with f.loop(f.most(bounds[0], bounds[x]) if x else bounds[0], bounds[x + 1]) as i:
            hidden = f.sub(f.sub(i, ahead), x * parts.lanes)    # lanes below it: earlier queries
            place = f.add(f.mul(i, parts.width), x * parts.lanes)
            # Not a masked store: what is read next would have to wait until it has reached the cache.
            kept = f.emit(f"select <{parts.lanes} x i1> {f.first_lanes(hidden, parts.lanes)}, {parts.vector} "
                          f"{parts.numbers(-math.inf)}, {parts.vector} {parts.read(f, tile, place)}")
            parts.write(f, kept, tile, place)


def _step(parts: Parts, vectors: int) -> Function:
    """Scores to weights p, in place; ``statistics``: m, l and alpha of each lane."""
    def make(f: Function) -> None:
        lanes = [j * parts.lanes for j in range(vectors)]
        tops, alphas = [], []
        for x, before in zip(lanes, greatest(parts, f, vectors)):
            old = parts.read(f, "%statistics", x)
            parts.write(f, before, "%statistics", x)
            tops.append(finite_or_zero(parts, f, before))
            alpha = power(parts, f, old, tops[-1])
            alphas.append(alpha)
            parts.write(f, alpha, "%statistics", x + 2 * parts.width)
        sums = [f.variable(parts.vector, "zeroinitializer") for _ in lanes]

        def weigh(i: str, chosen: Sequence[int]) -> None:
            for j in chosen:
                place = f.add(f.mul(i, parts.width), lanes[j])
                p = power(parts, f, parts.read(f, "%tile", place), tops[j])
                parts.write(f, p, "%tile", place)
                sums[j].set(f.emit(f"fadd {parts.vector} {sums[j].get()}, {p}"))

        over_keys(f, vectors, weigh)
        for x, alpha, total in zip(lanes, alphas, sums):
            old = parts.read(f, "%statistics", x + parts.width)
            parts.write(f, f.fma(parts.vector, old, alpha, total.get()), "%statistics", x + parts.width)

    parameters = [("ptr", "%tile"), ("ptr noalias", "%statistics"), *BOUNDS]
    return parts.helper(f"softmax_step{vectors}", parameters, make)


def greatest(parts: Parts, f: Function, vectors: int) -> list[str]:
    """In a helper: the maximum of each column of ``%tile`` and of the first row of ``%statistics``."""
    tops = [f.variable(parts.vector, parts.read(f, "%statistics", j * parts.lanes)) for j in range(vectors)]

    def compare(i: str, chosen: Sequence[int]) -> None:
        for j in chosen:
            x = parts.read(f, "%tile", f.add(f.mul(i, parts.width), j * parts.lanes))
            tops[j].set(greater(parts, f, x, tops[j].get()))

    over_keys(f, vectors, compare)
    return [top.get() for top in tops]


def inverse(parts: Parts, f: Function, sums: str) -> None:
    """1 / l in place; 1 where nothing was attended to."""
    for x in range(0, parts.width, parts.lanes):
        total = parts.read(f, sums, x)
        empty = f.emit(f"fcmp oeq {parts.vector} {total}, zeroinitializer")
        divided = f.emit(f"fdiv {parts.vector} {parts.numbers(1.0)}, {total}")
        parts.write(f, f.emit(f"select <{parts.lanes} x i1> {empty}, {parts.vector} {parts.numbers(1.0)}, "
                              f"{parts.vector} {divided}"), sums, x)
