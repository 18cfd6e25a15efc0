"""What decides how a fused kernel is bound to its operands, except for the extents themselves.

Note: kinds. Whether nodes are one kernel, what its inputs are and at which level each is read follows from
which extents, strides and offsets are equal to each other, which are 0 or 1, and in what order of dimensions
operands lie in memory. Signatures that agree in all of that, and in operators, attributes and element types,
are of one *kind*: what is found out for the first of them holds for all, and a new shape of a known kind is
left with arithmetic. Extents that coincide by chance make another kind, for which it is found out anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Any

from ....graph.geometry import Geometry
from ....graph.node import Signature

Kind = tuple[Any, ...]

KINDS = 1 << 7      # of one kernel, that are remembered


def kind_of(signatures: Sequence[Signature]) -> Kind:
    """The kind of a kernel's members.

    Geometries are replaced by numbers, in the order in which they are met, and so are their extents, strides
    and offsets.
    """
    met: dict[Geometry, int] = {}
    integers: list[int] = []
    found: list[Any] = []
    for signature in signatures:
        found += signature.operator, signature.attributes, signature.compute
        for g in (*signature.geometries, *signature.outputs):
            number = met.get(g)
            if number is not None:
                found.append(number)
            elif g.__class__ is Geometry:
                met[g] = len(met)
                integers.extend(g.shape)    # (``+=`` would make a ``Size`` of both)
                integers.extend(g.steps)
                integers.append(g.offset)
                found += g.dtype, g.ndim, True if g.is_contiguous else (g.has_no_gaps, g.order)
            else:       # of a number its type
                found.append(g)
    # Numbers of other integers than 0 and 1, as they are met.
    numbered = defaultdict(count(2).__next__, {0: 0, 1: 1})
    return *found, *map(numbered.__getitem__, integers)


def lie_alike(known: Sequence[Signature], given: Sequence[Signature]) -> bool:
    """Whether operands and results lie in memory as those of a known kind do.

    Asked of quantities, this is what a tape holds on to: that strides follow from extents, their equality to
    other numbers does not tell.
    """
    for one, other in zip(known, given):
        for g, h in zip((*one.geometries, *one.outputs), (*other.geometries, *other.outputs)):
            if g.__class__ is Geometry and not g.is_contiguous \
                    and (g.has_no_gaps, g.order) != (h.has_no_gaps, h.order):
                return False
    return True
