"""Graphs that differ in where their operands lie alone: batches cut from one tensor, one after the other.

Note: moving operands. A slice is a geometry, so the graph of each batch is another one, and would have plans
and a layout of its own. Where graphs came that differ in the offsets of operands alone, and these operands
have values, those of the family are read as if what lies there were a tensor of its own. A signature of
which that was asked keeps the answer, which native code reads (``glancing.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, is_not
from struct import pack
from typing import Any

import numpy as np

from ....graph.geometry import Geometry
from ....graph.node import Node, Signature, constant
from ....graph.recent import Recent
from .patterns.outline import Reading

_numbers: Recent[Signature, int] = Recent(1 << 13)
_placed: Recent[Signature, tuple[int, ...]] = Recent(1 << 13)
_read: Recent[Signature, tuple[int, ...]] = Recent(1 << 13)     # of graphs whose parts are read apart
_form = attrgetter("form")
_settled: Recent[Any, Signature] = Recent(1 << 12)


def without_places(signatures: Sequence[Signature]) -> int:
    """A number for what signatures are except for offsets of operands."""
    return hash(tuple([_numbers.get(s) or _number(s) for s in signatures]))


def _number(signature: Signature) -> int:
    """The same for one signature; most come in graph after graph."""
    found = _numbers.recall(signature)
    if found is None:
        kinds = map(_kind, signature.geometries)
        found = hash((signature.operator, signature.attributes, signature.outputs, *kinds))
        _numbers.keep(signature, found)
    return found


def _kind(geometry: Any) -> Any:
    return geometry.family if geometry.__class__ is Geometry else geometry


def settle(reading: Reading) -> None:
    """Let operands that have values, and do not begin where these begin, be tensors of their own."""
    if settle_nodes(reading.nodes, reading.signatures):
        reading.flat.clear()
        reading.read_operands()


def settle_nodes(nodes: list[Node], signatures: list[Signature]) -> bool:
    """The same of nodes, whose signatures are given and change with them; whether there were any."""
    chosen = bool(apart) and hash(tuple(map(_form, signatures))) in apart
    parts: dict[tuple[int, int], Node] = {}
    placed = _read if chosen else _placed
    any_settled = False
    for k, signature in enumerate(signatures):
        places = placed.get(signature)
        if places is None:
            places = placed.recall(signature)
            if places is None:
                places = placed.keep(signature, _places(signature, chosen))
        if places:
            signatures[k] = _settle_one(nodes[k], signature, places, None if chosen else parts)
            any_settled = True
    return any_settled


# Forms of graphs in which the same part is read twice by chance (rows that a program chooses): each time it
# is a tensor of its own.
apart: set[int] = set()


def read_apart(signatures: Sequence[Signature]) -> None:
    """Graphs of these forms were found to read the same parts in other places each time."""
    forms = tuple(map(_form, signatures))
    apart.update((hash(forms), hash(forms[::-1])))     # the last one first, or as they are pending


def _places(signature: Signature, chosen: bool) -> tuple[int, ...]:
    """Which operands, not overwritten, do not begin where their storage begins; or may not end there."""
    return tuple([j for j, g in enumerate(signature.geometries)
                  if g.__class__ is Geometry and (g.offset or (chosen and g.numel))
                  and j not in signature.operator.owns])


def _settle_one(node: Node, signature: Signature, places: tuple[int, ...],
                parts: dict[tuple[int, int], Node] | None) -> Signature:
    operands, geometries = list(node.operands), list(signature.geometries)
    moved = [(0, 0)] * len(operands)    # bytes, and the type
    for j in places:
        leaf, g = operands[j], geometries[j]
        value = leaf.value
        if value.__class__ is not np.ndarray or value.dtype is not g.dtype.numpy \
                or not (g.offset or g.extent != len(value)):
            continue
        part = parts.get((id(leaf), g.offset)) if parts is not None else None
        if part is None:
            part = constant(value[g.offset:])
            if parts is not None:
                parts[id(leaf), g.offset] = part
        operands[j], geometries[j] = part, g.family[0]
        moved[j] = g.offset * value.itemsize, id(value.dtype)
    if not any(map(is_not, operands, node.operands)):
        return signature
    own = signature.operator, signature.attributes, *geometries
    node.operands = tuple(operands)
    node.signature = found = _settled.get(own) or _settled.recall(own) \
        or _settled.keep(own, signature.elsewhere(tuple(geometries)))
    if parts is not None:
        signature.settled = found, b"".join([pack("qq", *words) for words in moved])
    return found
