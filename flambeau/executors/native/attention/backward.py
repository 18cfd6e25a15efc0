"""Gradients of attention by query, key and value, a block of queries at a time.

With P the weights, G the gradient of the result and D the sums of P * (G V^T) over keys:

    dV = P^T G        dS = P * (G V^T - D)        dQ = dS K scale        dK = dS^T Q scale

P is computed anew. The scores of one block of queries with all keys are kept (a panel [keys][queries], as is
that of the gradients), so that neither the sums of the softmax nor D need to be stored by the forward pass
and each of the five matrix products is done once. What memory this takes grows with the keys alone.

Weights are left unnormalized, p = 2^(s - m) with sum l over keys, until dS is computed: then p becomes
p / l, and dS is multiplied with the scale.

With dropout, P and G V^T are multiplied with what is kept, except in dS = P * (...), and 1 / l with the
factor 1 / (1 - probability). Weights that are dropped are held as -p until dS is computed.

A task has some blocks of queries of one head, or of all heads that share their keys and values, and adds up
dK and dV in memory of its own. If the head of keys has other tasks, the kernel ``attention_gather`` sums
theirs in the order of tasks. What has one summand (``direct``) is written into the results at once, and a
last summand is added on the way there (``direct.last``).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from ..llvm.build import Function, Module
from ..llvm.emitter import Dtype, memory_type
from .ahead import bring_later_keys, bring_result, needed_next
from .arguments import SIZES, Arguments, Coming, Head, Matrix, Names, matrix
from .forward import greatest, inverse, kept_weights, last_key, multiply, multiply_all, scores
from .paired import is_paired
from .powers import absolute, base_two, finite_or_zero, power
from .span import BOUNDS, Span, over_keys
from .tiles import Ahead, Parts

SCRATCH = ("query", "grad", "key", "value", "query_t", "grad_t", "scores", "grads", "grad_query",
           "statistics", "mask", "mask_t", "sums")
BACKWARD = Names(("grad", "query", "key", "value", "mask", "kept"),
                 ("grad_query", "grad_key", "grad_value"), ("shares",),
                 (*SIZES, "alone", "share", "direct.keys", "direct.last", "direct.query"), SCRATCH)
_SUMMED = ("grad_key", "depth"), ("grad_value", "width")
# Statistics of a block, each for all lanes.
TOP, SUM, INNER, STATISTICS = range(4)


@functools.cache
def backward_text(storage: Dtype, compute: Dtype) -> str:
    """The module of the kernels ``attention_backward`` and ``attention_gather``."""
    module = Module()
    parts = Parts(module, storage, compute, factored=False)
    with module.kernel("attention_backward") as f:
        w = Arguments(f, parts, BACKWARD)
        blocks = f.div(f.add(w["queries"], parts.width - 1), parts.width)
        coming = Coming(w, f.begin, one_of_group=False)
        with f.loop(f.begin, f.end) as task:
            number, shared = coming.number.get(), coming.shared
            coming.follow(f.least(f.add(task, 1), f.sub(f.end, 1)))
            shared_next = coming.shared
            start = f.sub(task, f.mul(number, w["chunks"]))
            k = matrix(w, "key", shared, w["keys"], "depth")
            v = matrix(w, "value", shared, w["keys"], "width")
            sums = _Sums(w, task, start, shared)
            with f.loop(0, w["group"]) as member, f.loop(start, blocks, w["chunks"]) as block:
                head = w.head(f.add(f.mul(number, w["group"]), member))
                following = f.mul(f.add(block, w["chunks"]), parts.width)
                bring_later_keys(w, shared, following)
                ahead = needed_next(w, head, following, ("query", "grad"), shared_next)
                first = f.mul(block, parts.width)
                sums.go_to(f.compare("eq", f.add(member, 1), w["group"]), first)
                begun = f.compare("sgt", f.add(member, f.sub(block, start)), 0)
                _Block(w, head, first, k, v, sums, begun, ahead).run()
            sums.deliver()
    with module.kernel("attention_gather") as f:
        w = Arguments(f, parts, BACKWARD)
        with f.loop(f.begin, f.end) as number:
            _gather(w, number)
    return module.text()


class _Sums:
    """Where a task adds up dK and dV: rows are far apart in the results, and cross few sets of the caches."""

    def __init__(self, w: Arguments, task: str, start: str, shared: Head) -> None:
        f, parts = w.f, w.parts
        self.w, self.f, self.shared = w, f, shared
        self.alone = w.flag("alone")
        others = parts.at(f, w["shares"], f.mul(task, w["share"]))
        self.direct = w.flag("direct.keys")
        key = f.choose(self.alone, "ptr", w.scratch("sums"), others)
        value = parts.at(f, key, f.mul(w["keys"], w["depth.padded"]))
        self.key = w.instead(self.direct, "grad_key", shared, key, w["depth.padded"])
        self.value = w.instead(self.direct, "grad_value", shared, value, w["width.padded"])
        there = f.emit(f"or i1 {self.direct}, {w.flag('direct.last')}")
        self.delivered, self.last = f.choose(there, "i1", "false", self.alone), "false"
        self._clear(f.mul(start, parts.width))

    def _clear(self, first: str) -> None:
        """Zeros for the keys that the first block, with queries from ``first`` on, does not attend to."""
        f, w, parts = self.f, self.w, self.w.parts
        count = f.least(f.sub(w["queries"], first), parts.width)
        hidden = last_key(w, first, count)
        for sums, columns in ((self.key[0], w["depth.padded"]), (self.value[0], w["width.padded"])):
            with f.loop(f.mul(hidden, columns), f.mul(w["keys"], columns), parts.lanes) as i:
                parts.write(f, "zeroinitializer", sums, i)

    def go_to(self, final: str, first: str) -> None:
        """To the block with queries from ``first`` on; ``final`` (i1): of the last head that adds anything.

        Before the last of its blocks the cache lines are asked for that ``deliver`` writes.
        """
        f, w = self.f, self.w
        after = f.compare("sge", f.add(first, w.parts.width), w["queries"])
        last = f.emit(f"and i1 {after}, {final}")
        with f.when(f.emit(f"and i1 {last}, {self.delivered}")):
            for name, columns in _SUMMED:
                bring_result(w, name, self.shared, "0", w["keys"], w[columns])
        self.last = f.emit(f"and i1 {last}, {w.flag('direct.last')}")

    def target(self, name: str, j: str) -> tuple[tuple[str, str], tuple[str, str]]:
        """From key j on: where to write sums, where to read them; both with how far rows are apart."""
        f, w, parts = self.f, self.w, self.w.parts
        place, row = self.key if name == "grad_key" else self.value
        before = parts.at(f, place, f.mul(j, row)), row
        return w.instead(self.last, name, self.shared, *before, j), before

    def deliver(self) -> None:
        """Write the sums into the results, if no others are to be added."""
        with self.f.when(self.delivered):
            _deliver(self.w, self.key[0], self.shared)


class _Block:
    """A block of queries from ``first`` on; ``begun`` (i1): the sums have something of other blocks."""

    def __init__(self, w: Arguments, head: Head, first: str, k: Matrix, v: Matrix, sums: _Sums,
                 begun: str, ahead: Ahead) -> None:
        f, parts = w.f, w.parts
        self.w, self.f, self.parts = w, f, parts
        self.head, self.first, self.k, self.v, self.sums, self.ahead = head, first, k, v, sums, ahead
        self.begun = begun
        self.count = f.least(f.sub(w["queries"], first), parts.width)
        self.query = matrix(w, "query", head, self.count, "depth", first)
        self.grad = matrix(w, "grad", head, self.count, "width", first)
        self.wide = f.compare("sgt", self.count, parts.lanes)
        self.stop = last_key(w, first, self.count)
        self.scores, self.grads = w.scratch("scores"), w.scratch("grads")
        self.statistics = w.scratch("statistics")

    def run(self) -> None:
        """Add to dK and dV, write the rows of dQ."""
        f = self.f
        self._prepare()
        bring_result(self.w, "grad_query", self.head, self.first, self.count, self.w["depth"])
        with f.loop(0, self.stop, self.w["keys.block"]) as j:
            self._scores(j)
        with f.loop(0, self.stop, self.w["keys.block"]) as j:
            self._weights(j)
        self._normalize()
        with f.loop(0, self.stop, self.w["keys.block"]) as j:
            self._gradients(j)
        self._finish()

    def statistic(self, which: int) -> str:
        """Where a statistic begins."""
        return self.parts.at(self.f, self.statistics, which * self.parts.width)

    def panel(self, panel: str, j: str) -> str:
        """The tile of keys from j on."""
        return self.parts.at(self.f, panel, self.f.mul(j, self.parts.width))

    def span(self, j: str) -> Span:
        """The keys of a tile."""
        return Span(self.w, self.first, self.count, self.wide, j, self.stop)

    def _prepare(self) -> None:
        """Q and G transposed."""
        w, f, parts = self.w, self.f, self.parts
        scale = base_two(parts, f, w["scale"])
        for name, rows, columns, factor, left in (("query_t", self.query, "depth", scale, self.k),
                                                  ("grad_t", self.grad, "width", parts.number(1.0), self.v)):
            parts.transpose_in(f, rows.pointer.get(), rows.row.get(), self.count, w[columns], w.scratch(name),
                               factor, is_paired(parts, f, self.count, left, w[columns]))
        parts.fill(f, self.statistic(TOP), parts.width, -math.inf)
        parts.fill(f, self.statistic(SUM), 2 * parts.width, 0.0)

    def _scores(self, j: str) -> None:
        tile, span = self.panel(self.scores, j), self.span(j)
        scores(self.w, self.head, self.first, span, self.k, self.w.scratch("query_t"), tile)
        span.run(_tops, tile, self.statistics)

    def _weights(self, j: str) -> None:
        """p = 2^(s - m), G V^T, and the sums l and D."""
        w, f, parts = self.w, self.f, self.parts
        tile, span = self.panel(self.grads, j), self.span(j)
        span.by_key(self.v, w.scratch("grad_t"), tile, w["width"])
        weights, dropped = self.panel(self.scores, j), w.flag("dropped")
        with f.when(dropped):
            multiply(parts, f, tile, kept_weights(w, self.head, self.first, span), span.n)
        span.run(_weights, weights, tile, self.statistics)
        with f.when(dropped):
            _mark_dropped(parts, f, weights, w.scratch("mask_t"), span.n)

    def _normalize(self) -> None:
        """1 / l, and D scale / l."""
        w, f, parts = self.w, self.f, self.parts
        sums, inner = self.statistic(SUM), self.statistic(INNER)
        inverse(parts, f, sums)
        multiply(parts, f, inner, sums, "1")
        multiply_all(parts, f, inner, w["scale"])
        multiply_all(parts, f, sums, w["factor"])

    def _gradients(self, j: str) -> None:
        """dS, and what this tile adds to dV, dK and dQ."""
        w, f, parts, k, sums = self.w, self.f, self.parts, self.k, self.sums
        span, weights, tile = self.span(j), self.panel(self.scores, j), self.panel(self.grads, j)
        span.run(_score_gradients, weights, tile, self.statistics, w["scale"])
        with f.when(w.flag("dropped")):
            _clear_dropped(parts, f, weights, span.n)
        for panel, rows, columns, name in ((weights, self.grad, w["width.padded"], "grad_value"),
                                           (tile, self.query, w["depth.padded"], "grad_key")):
            summed, before = sums.target(name, j)
            span.over_queries(panel, rows.pointer.get(), rows.row.get(), *summed, columns, self.begun, before)
        keys = parts.at(f, k.pointer.get(), f.mul(j, k.row.get()))
        target, row = w.instead(w.flag("direct.query"), "grad_query", self.head, w.scratch("grad_query"),
                                w["depth.padded"], self.first)
        span.over_keys(tile, keys, k.row.get(), target, row, w["depth.padded"], self.ahead)

    def _finish(self) -> None:
        w, f, row = self.w, self.f, self.w["grad_query.row"]
        target = f.at(w.of_head("grad_query", self.head), f.mul(self.first, row),
                      memory_type(self.parts.storage))
        with f.otherwise(w.flag("direct.query")):
            self.parts.deliver(f, w.scratch("grad_query"), w["depth.padded"], self.count, w["depth"], target,
                               row)


def _tops(parts: Parts, vectors: int) -> Function:
    def make(f: Function) -> None:
        for j, top in enumerate(greatest(parts, f, vectors)):
            parts.write(f, top, "%statistics", j * parts.lanes)

    parameters = [("ptr noalias readonly", "%tile"), ("ptr noalias", "%statistics"), *BOUNDS]
    return parts.helper(f"tops{vectors}", parameters, make)


def _weights(parts: Parts, vectors: int) -> Function:
    def make(f: Function) -> None:
        lanes = [j * parts.lanes for j in range(vectors)]
        tops = [finite_or_zero(parts, f, parts.read(f, "%statistics", x)) for x in lanes]
        sums, inners = ([f.variable(parts.vector, parts.read(f, "%statistics", which * parts.width + x))
                         for x in lanes] for which in (SUM, INNER))

        def weigh(i: str, chosen: Sequence[int]) -> None:
            for j in chosen:
                place = f.add(f.mul(i, parts.width), lanes[j])
                p = power(parts, f, parts.read(f, "%scores", place), tops[j])
                parts.write(f, p, "%scores", place)
                sums[j].set(f.emit(f"fadd {parts.vector} {sums[j].get()}, {p}"))
                inners[j].set(f.fma(parts.vector, p, parts.read(f, "%grads", place), inners[j].get()))

        over_keys(f, vectors, weigh)
        for x, total, inner in zip(lanes, sums, inners):
            parts.write(f, total.get(), "%statistics", SUM * parts.width + x)
            parts.write(f, inner.get(), "%statistics", INNER * parts.width + x)

    parameters = [("ptr noalias", "%scores"), ("ptr noalias readonly", "%grads"),
                  ("ptr noalias", "%statistics"), *BOUNDS]
    return parts.helper(f"weights{vectors}", parameters, make)


def _mark_dropped(parts: Parts, f: Function, weights: str, kept: str, n: str) -> None:
    """-p where a weight is dropped."""
    with f.loop(0, f.mul(n, parts.width), parts.lanes) as i:
        p = parts.read(f, weights, i)
        dropped = f.emit(f"fcmp oeq {parts.vector} {parts.read(f, kept, i)}, zeroinitializer")
        negative = f.emit(f"fneg {parts.vector} {p}")
        parts.write(f, f.emit(f"select <{parts.lanes} x i1> {dropped}, {parts.vector} {negative}, "
                              f"{parts.vector} {p}"), weights, i)


def _clear_dropped(parts: Parts, f: Function, weights: str, n: str) -> None:
    """Zero where a weight is dropped."""
    with f.loop(0, f.mul(n, parts.width), parts.lanes) as i:
        p = parts.read(f, weights, i)
        dropped = f.emit(f"fcmp olt {parts.vector} {p}, zeroinitializer")
        parts.write(f, f.emit(f"select <{parts.lanes} x i1> {dropped}, {parts.vector} zeroinitializer, "
                              f"{parts.vector} {p}"), weights, i)


def _score_gradients(parts: Parts, vectors: int) -> Function:
    """Weights times 1 / l, in place; (G V^T - D) scale times these in place of G V^T."""
    def make(f: Function) -> None:
        scale = f.splat("%scale", parts.lanes, parts.element)
        inverses, subtracted = ([parts.read(f, "%statistics", which * parts.width + j * parts.lanes)
                                 for j in range(vectors)] for which in (SUM, INNER))
        subtracted = [f.emit(f"fneg {parts.vector} {x}") for x in subtracted]

        def subtract(i: str, chosen: Sequence[int]) -> None:
            for j in chosen:
                place = f.add(f.mul(i, parts.width), j * parts.lanes)
                p = f.emit(f"fmul {parts.vector} {parts.read(f, '%weights', place)}, {inverses[j]}")
                parts.write(f, p, "%weights", place)
                difference = f.fma(parts.vector, scale, parts.read(f, "%grads", place), subtracted[j])
                gradient = f.emit(f"fmul {parts.vector} {difference}, {absolute(parts, f, p)}")
                parts.write(f, gradient, "%grads", place)

        over_keys(f, vectors, subtract)

    parameters = [("ptr noalias", "%weights"), ("ptr noalias", "%grads"),
                  ("ptr noalias readonly", "%statistics"), (parts.element, "%scale"), *BOUNDS]
    return parts.helper(f"score_gradients{vectors}", parameters, make)


def _gather(w: Arguments, number: str) -> None:
    """dK and dV of a head of keys: the sums of its tasks, added to those of the first."""
    f, parts = w.f, w.parts
    shares = parts.at(f, w["shares"], f.mul(f.mul(number, w["chunks"]), w["share"]))
    with f.loop(1, w["chunks"]) as chunk:
        other = parts.at(f, shares, f.mul(chunk, w["share"]))
        with f.loop(0, w["share"], parts.lanes) as i:
            x, y = parts.read(f, shares, i), parts.read(f, other, i)
            parts.write(f, f.emit(f"fadd {parts.vector} {x}, {y}"), shares, i)
    _deliver(w, shares, w.head(number, shared=True))


def _deliver(w: Arguments, source: str, shared: Head) -> None:
    """Sums of a head of keys into the results."""
    f, parts = w.f, w.parts
    for name, columns in _SUMMED:
        count, padded = w[columns], w[f"{columns}.padded"]
        parts.deliver(f, source, padded, w["keys"], count, w.of_head(name, shared), w[f"{name}.row"])
        source = parts.at(f, source, f.mul(w["keys"], padded))
