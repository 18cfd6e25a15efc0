"""Graphs that differ in where their operands lie alone: batches cut from one tensor, one after the other.

Note: moving operands. A slice is a geometry, so the graph of each batch is another one, and would have plans
and a layout of its own. Where graphs came that differ in the offsets of operands alone, and these operands
have values, those of the family are read as if what lies there were a tensor of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....graph.geometry import Geometry
from ....graph.node import Node, Signature, constant
from ....graph.recent import Recent
from .outline import Reading

_placed: Recent[Signature, tuple[int, ...]] = Recent(1 << 13)
_settled: Recent[Any, Signature] = Recent(1 << 12)


def differ_in_places_alone(some: Sequence[Signature], others: Sequence[Signature]) -> bool:
    """Whether signatures are the same except for offsets of operands, which they are not."""
    return all(a is b or (a.operator is b.operator and a.attributes == b.attributes and a.outputs == b.outputs
                          and [*map(_kind, a.geometries)] == [*map(_kind, b.geometries)])
               for a, b in zip(some, others, strict=True))


def _kind(geometry: Any) -> Any:
    return geometry.family if geometry.__class__ is Geometry else geometry


def settle(reading: Reading) -> None:
    """Let operands that have values, and do not begin where these begin, be tensors of their own."""
    if settle_nodes(reading.nodes, reading.signatures):
        reading.flat.clear()
        reading.read_operands()


def settle_nodes(nodes: list[Node], signatures: list[Signature]) -> bool:
    """The same of nodes, whose signatures are given and change with them; whether there were any."""
    parts: dict[tuple[int, int], Node] = {}
    for k, signature in enumerate(signatures):
        places = _placed.get(signature)
        if places is None:
            places = _placed.recall(signature)
            if places is None:
                places = _placed.keep(signature, _places(signature))
        if places:
            signatures[k] = _settle_one(nodes[k], signature, places, parts)
    return bool(parts)


def _places(signature: Signature) -> tuple[int, ...]:
    """Which operands do not begin where their storage begins, and are not overwritten."""
    return tuple([j for j, g in enumerate(signature.geometries)
                  if g.__class__ is Geometry and g.offset and j not in signature.operator.owns])


def _settle_one(node: Node, signature: Signature, places: tuple[int, ...],
                parts: dict[tuple[int, int], Node]) -> Signature:
    operands, geometries = list(node.operands), list(signature.geometries)
    for j in places:
        leaf, g = operands[j], geometries[j]
        value = leaf.value
        if value.__class__ is not np.ndarray or value.dtype is not g.dtype.numpy:
            continue
        part = parts.get((id(leaf), g.offset))
        if part is None:
            part = parts[id(leaf), g.offset] = constant(value[g.offset:])
        operands[j], geometries[j] = part, g.family[0]
    own = signature.operator, signature.attributes, *geometries
    node.operands = tuple(operands)
    node.signature = found = _settled.get(own) or _settled.recall(own) \
        or _settled.keep(own, _with(signature, tuple(geometries)))
    return found


def _with(signature: Signature, geometries: tuple[Any, ...]) -> Signature:
    """The signature of the same operator on operands that lie elsewhere."""
    return Signature(signature.operator, signature.attributes, geometries, signature.outputs,
                     signature.single, signature.compute)
