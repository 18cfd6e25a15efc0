"""Borders made of what is inside: reflected, replicated, circular.

Each dimension falls into runs of places whose elements come from neighbours, in order, in reverse, or from
one element. A call takes one run of each dimension but the last, and writes whole rows: all runs of the last.
"""

from __future__ import annotations

import math
from itertools import chain, product

from .....graph.node import Signature
from ....borders import border_runs
from ...llvm.build import Module
from ...llvm.compiling.code import kernel
from ...llvm.emitter import element
from ...movement.copying import Place, define_run, pointers, words_of
from ...movement.spaces import Nest, fused, rank_for, split
from ...plan import Call, Plan
from ...quantity import whole
from .movement import bytes_moved

RUNS = 3    # of a row: before, inside, behind
FIRST = 4   # the word at which they begin, four words each


def _bordered(signature: Signature) -> Plan | None:
    g, out = signature.geometries[0], signature.outputs[0]
    mode, pad = signature.attributes
    size = out.dtype.itemsize
    order = out.order
    if not out.numel or g.dtype is not out.dtype or size > 8 or g.strides[order[-1]] != 1 \
            or out.strides[order[-1]] != 1:
        return None
    widths = [(0, 0)] * (g.ndim - len(pad) // 2) + [pad[i:i + 2] for i in range(len(pad) - 2, -1, -2)]
    runs = [_runs_of(mode, n, *width) if any(width) else ((0, n, 0, 1),)
            for n, width in [(g.shape[d], widths[d]) for d in order]]
    if len(runs[-1]) > RUNS or math.prod(map(len, runs[:-1])) > 27:
        return None
    calls = [_rows(signature, part, runs[-1]) for part in product(*runs[:-1])]
    return Plan(calls, traffic=bytes_moved(signature))


def _runs_of(mode: str, n: int, before: int, after: int) -> tuple[tuple[int, int, int, int], ...]:
    """The runs of a dimension; of one whose extent is on a tape, some few (Note: formulas)."""
    if n.__class__ is int:
        return border_runs(mode, n, before, after)
    count, *numbers = _few_runs(mode, n, before, after)
    known = next(k for k in range(RUNS + 1) if count == k)
    return tuple([(a, b, c, d) for a, b, c, d in zip(*[iter(numbers[:4 * known])] * 4)])


@whole
def _few_runs(mode: str, n: int, before: int, after: int) -> tuple[int, ...]:
    """How many runs there are, and their numbers in a row."""
    runs = border_runs(mode, n, before, after)[:RUNS + 1]
    return len(runs), *chain.from_iterable(runs), *[0] * (4 * (RUNS + 1 - len(runs)))


def _rows(signature: Signature, part: tuple[tuple[int, int, int, int], ...],
          last: tuple[tuple[int, int, int, int], ...]) -> Call:
    """The rows that have these places in the dimensions before the last, of those in memory."""
    g, out = signature.geometries[0], signature.outputs[0]
    size = out.dtype.itemsize
    into, out_of = [[x.strides[d] for d in out.order] for x in (out, g)]
    to = sum(place * s for (place, _, _, _), s in zip(part, into))
    start = sum(first * s for (_, _, first, _), s in zip(part, out_of))
    steps = [step * s * size for (_, _, _, step), s in zip(part, out_of)]
    # The columns of the space are rows here: nothing lies beside them.
    extents = [*[n for _, n, _, _ in part], 1]
    rows = fused(extents[:-1], ([s * size for s in into[:-1]], steps))
    space = rows._replace(extents=(*rows.extents, 1), strides=tuple([(*own, 0) for own in rows.strides]))
    words = words_of(Place((), to), Place((), start, 0, g), size)
    for place, count, first, step in (*last, *[(0, 0, 0, 1)] * (RUNS - len(last))):
        words.constant(place * size, count, first * size, step * size)
    rank = rank_for(space)
    cut = split(space, 2 * size * out.shape[out.order[-1]])
    Nest(rank, 2, FIRST + 4 * RUNS).place(words, space, cut)
    return Call(_kernel(rank, size), words, cut.tasks, cut.grain)


@kernel("border_rows")
def _kernel(rank: int, size: int) -> str:
    module = Module()
    kind, run = element(size), define_run(module)
    with module.kernel("border_rows") as f:
        to, source = pointers(f)
        runs = [[f.word(FIRST + 4 * k + i) for i in range(4)] for k in range(RUNS)]
        with Nest(rank, 2, FIRST + 4 * RUNS).rows(f) as row:
            into, out = f.at(to, row.offsets[0], "i8"), f.at(source, row.offsets[1], "i8")
            for place, count, first, step in runs:
                target, start = f.at(into, place, "i8"), f.at(out, first, "i8")
                adjacent = f.compare("eq", step, size)
                with f.when(adjacent):
                    f.run(run, target, start, f.mul(count, size))
                with f.otherwise(adjacent):
                    f.write(kind, f.read(kind, start, size), target, size)  # mostly there is but one
                    with f.loop(1, count) as i:
                        x = f.read(kind, f.at(start, f.mul(i, step), "i8"), size)
                        f.write(kind, x, f.at(target, f.mul(i, size), "i8"), size)
    return module.text()


TEMPLATES = {"border_pad": _bordered}
