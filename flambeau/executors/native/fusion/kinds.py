"""What decides how a fused kernel is bound to its operands, but for the extents themselves.

Note: kinds. Whether nodes are one kernel, what its inputs are and at which level each is read follows from
which extents, strides and offsets are equal to each other, which are 0 or 1, and in what order of dimensions
operands lie in memory. Signatures that agree in all of that, and in operators, attributes and element types,
are of one *kind*: what is found out for the first of them holds for all, and a new shape of a known kind is
left with arithmetic. Extents that coincide by chance make another kind, for which it is found out anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....graph.geometry import Geometry
from ....graph.node import Signature

Kind = tuple[Any, ...]

KINDS = 1 << 7      # of one kernel, that are remembered


def kind_of(signatures: Sequence[Signature]) -> Kind:
    """The kind of a kernel's members.

    Geometries, extents, strides and offsets are replaced by the order in which they are met.
    """
    met: dict[Geometry, int] = {}
    extents, strides, offsets = {0: 0, 1: 1}, {0: 0, 1: 1}, {0: 0}
    found: list[Any] = []
    for signature in signatures:
        found += signature.operator, signature.attributes, signature.compute
        for g in (*signature.geometries, *signature.outputs):
            if g.__class__ is not Geometry:     # of a number its type
                found.append(g)
                continue
            number = met.get(g)
            if number is not None:
                found.append(number)
                continue
            met[g] = len(met)
            found += g.dtype, offsets.setdefault(g.offset, len(offsets)), \
                True if g.is_contiguous else (g.is_dense, g.order)
            found.append(tuple([extents.setdefault(n, len(extents)) for n in g.shape]))
            found.append(tuple([strides.setdefault(s, len(strides)) for s in g.steps]))
    return tuple(found)
