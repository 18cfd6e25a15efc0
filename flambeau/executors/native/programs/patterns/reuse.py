"""Results that lie where an operand lay: ``x.mul_(2)`` changes one array instead of writing another one.

Note: arrays that are used again. A stage of pointwise operators reads each element once, before it writes the
one at its place. So a result may take the array of an operand of its geometry, if nothing reads that later
and nobody else can see it: only nodes that are computed now refer to the operand, and only the operand to
the array. That is known at the run alone. Otherwise the result gets a new array, as always.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from .....graph.geometry import Geometry
from .....graph.node import Signature
from .outline import LEAF, UNHELD
from .pattern import Pattern
from .skeleton import Skeleton

_LEAST = 1 << 14    # bytes; smaller ones are in the first cache anyway
_value = attrgetter("value")


class Reuse(NamedTuple):
    """New array ``made`` may be that of the operand ``leaf`` (number of the slot), which is read so often."""

    made: int
    leaf: int
    uses: int


def reuses(form: Skeleton, signatures: Sequence[Signature]) -> list[Reuse]:
    """Which results may take the arrays of operands: of several, that of the first one that nobody sees."""
    pattern = form.pattern
    made = [signatures[k].outputs[r] for k, r in form.made]
    if form.passes_on or form.owned or not any(map(_is_large, made)):
        return []
    reads = _reads(pattern, signatures)
    slots = {pattern.sources[k][j]: i for i, (k, j) in enumerate(form.leaves)}
    found: list[Reuse] = []
    taken: set[int] = set()
    roots = set(pattern.shared.values())
    for i, (k, r) in enumerate(form.made):
        s, g = pattern.made[k, r], signatures[k].outputs[r]
        members = pattern.stages[s]
        if (k, r) in roots or not _is_large(g) \
                or not all(_is_alike(signatures[m], g) for m in members):
            continue
        for leaf in dict.fromkeys(at for m in members for kind, at in pattern.sources[m] if kind == LEAF):
            slot = slots.get((LEAF, leaf))
            if slot is not None and leaf not in taken and all(x == s and h == g for x, h in reads[leaf]):
                taken.add(leaf)
                found.append(Reuse(i, slot, len(reads[leaf])))
    return found


def _is_large(g: Geometry) -> bool:
    return g.nbytes >= _LEAST


def _is_alike(signature: Signature, g: Geometry) -> bool:
    """Whether an operator makes an element for each one of a geometry, and so meets each of them once."""
    return signature.operator.kind == "pointwise" and all(out.shape == g.shape for out in signature.outputs)


def _reads(pattern: Pattern, signatures: Sequence[Signature]) -> dict[int, list[tuple[int, Geometry | None]]]:
    """Of each leaf, in which stage it is read, and how."""
    found: dict[int, list[tuple[int, Geometry | None]]] = {}
    for k, own in enumerate(pattern.sources):
        stage = pattern.stage_of.get(k, -1)
        for j, (kind, at) in enumerate(own):
            if kind == LEAF:
                g = signatures[k].geometries[j]
                found.setdefault(at, []).append((stage, g if isinstance(g, Geometry) else None))
    return found


def take(reused: Sequence[Reuse], operands: list[Any], fresh: list[Any]) -> None:
    """Put operands' arrays in the place of new ones. No other list has these operands but one of all operands
    of the graph."""
    counts = list(map(sys.getrefcount, operands))
    arrays = list(map(_value, operands))
    holders = list(map(sys.getrefcount, arrays))
    done = set()
    for x, count, seen, reuse in zip(arrays, counts, holders, reused):
        if count == UNHELD + 2 * reuse.uses and seen == UNHELD + 1 and reuse.made not in done \
                and _is_like(x, fresh[reuse.made]):
            fresh[reuse.made] = x
            done.add(reuse.made)


def _is_like(x: Any, new: Any) -> bool:
    return x.__class__ is np.ndarray and x.base is None and x.flags.writeable and x.shape == new.shape \
        and x.dtype is new.dtype
