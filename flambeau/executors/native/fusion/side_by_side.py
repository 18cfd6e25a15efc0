"""Results of one kernel that are read only to be put side by side are written there at once.

Note: side by side. Where one projection made queries, keys and values, ``cat`` joins the three gradients of
attention to that of the projection's result. The kernel that computes them takes strides, so they can lie in
the joined tensor from the beginning: their own memory is never needed, and nothing is copied.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ....graph.geometry import Geometry
from ....graph.node import Node, Signature
from ....graph.recent import Recent
from ..attention.place import Place
from ..plan import Plan
from .schedule import Unit, is_stored

# Operators whose results may lie anywhere.
_WRITERS = frozenset(("scaled_dot_product_attention_backward",
                      "scaled_dot_product_attention_dropout_backward"))

_plans: Recent[Any, Plan | None] = Recent(1 << 11)


class SideBySide(Unit):
    """An operator of several results, the projections that name them, in ``cat``'s order, and ``cat``."""

    __slots__ = ()

    def __init__(self, members: list[int]) -> None:
        super().__init__(members, None)

    def plan_for(self, signatures: Sequence[Signature]) -> Plan | None:
        """The plan for members of these signatures; None where the results would not fit side by side."""
        key = tuple(signatures)
        found = _plans.get(key) or _plans.recall(key)
        return found or _plans.keep(key, _prepare(*signatures))

    def record(self, known: Sequence[Signature], given: Sequence[Signature]) -> Plan | None:
        """The plan for members, the numbers of which are quantities (Note: formulas)."""
        return _prepare(*given)


def _prepare(writer: Signature, *others: Signature) -> Plan | None:
    *projections, cat = others
    out, dim = cat.outputs[0], cat.attributes[0]
    if out.offset or not out.is_contiguous or len(projections) != len(writer.outputs):
        return None
    places: dict[int, Place] = {}
    start = 0
    for projection, read in zip(projections, cat.geometries):
        result = projection.attributes[0]
        place = _moved(writer.outputs[result], read, out, start)
        if place is None:
            return None
        places[result] = place
        start += read.shape[dim] * out.strides[dim]
    if len(places) != len(projections):
        return None
    from ..templates.sequences.attention import attention_backward  # most programs need none of it
    return attention_backward(writer, [places[k] for k in sorted(places)], len(others))


def _moved(result: Geometry, read: Any, out: Geometry, start: int) -> Place | None:
    """Where a result lies that ``cat`` reads by ``read`` and writes from ``start`` on; None if in no strides.

    A dimension of the result is a part of one that is read, which is another stride in the joined tensor.
    Together they must go over the latter once.
    """
    if result.offset or read.offset or result.numel != read.numel or read.dtype is not out.dtype \
            or not read.numel:
        return None
    axes = sorted([(s, n, t) for s, n, t in zip(read.strides, read.shape, out.strides) if n > 1])
    along = [s for s, _, _ in axes]
    left = [n - 1 for _, n, _ in axes]
    strides: list[int] = []
    for n, s in zip(result.shape, result.strides):
        if n == 1:
            strides.append(0)
            continue
        k = bisect_right(along, s) - 1
        if k < 0 or not along[k] or s % along[k]:
            return None
        steps = s // along[k]
        left[k] -= (n - 1) * steps
        strides.append(steps * axes[k][2])
    if any(left):
        return None
    strides[-1] = strides[-1] or 1
    return Place(result.ndim, result.shape, tuple(strides), start)


def side_by_side(units: list[Unit], nodes: Sequence[Node]) -> list[Unit]:
    """The units of a schedule, with ``cat`` joined to the operator whose results it reads."""
    position = {id(node): k for k, node in enumerate(nodes)}
    found = list(units)
    for unit in units:
        members = _members(unit, nodes, position)
        together = SideBySide(members)
        if not members or any(is_stored(nodes, members)[:-1]):
            continue
        together.plan = together.plan_for([s for k in members for s in [nodes[k].signature] if s is not None])
        if together.plan is not None:
            found[found.index(unit)] = together
            found = [other for other in found if other is together or not _is_left(other, members)]
    return found


def _is_left(unit: Unit, members: list[int]) -> bool:
    """Take members out of a unit; whether nothing is left of it."""
    unit.members = [k for k in unit.members if k not in members]
    return not unit.members


def _members(unit: Unit, nodes: Sequence[Node], position: dict[int, int]) -> list[int]:
    """The members that a unit, which is a ``cat``, would have; empty if it has no such operands.

    No local variable may refer to a node: references tell whether somebody else reads it.
    """
    last = unit.members[-1]
    if unit.plan is None or _name(nodes, last) != "cat":
        return []
    projections = [position.get(id(x), -1) for x in nodes[last].operands]
    if len(set(projections)) < len(projections) or any(_name(nodes, k) != "project" for k in projections):
        return []
    writers = {position.get(id(nodes[k].operands[0]), -1) for k in projections}
    writer = writers.pop()
    if writers or _name(nodes, writer) not in _WRITERS:
        return []
    return [writer, *projections, last]


def _name(nodes: Sequence[Node], k: int) -> str:
    """The operator of a node of this graph, empty of others."""
    signature = nodes[k].signature if k >= 0 else None
    return "" if signature is None else signature.operator.name
