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

_readers: Recent[Signature, tuple[int, ...]] = Recent(1 << 13)
_settled: Recent[Any, Signature] = Recent(1 << 12)


def without_places(signatures: Sequence[Signature]) -> int:
    """A number for what signatures are except for offsets of operands."""
    return hash(tuple([(s.operator, s.attributes, s.outputs, *map(_kind, s.geometries)) for s in signatures]))


def _kind(geometry: Any) -> Any:
    return geometry.family if geometry.__class__ is Geometry else geometry


def settle(reading: Reading) -> None:
    """Let operands that have values, and do not begin where these begin, be tensors of their own."""
    if settle_nodes(reading.nodes, reading.signatures):
        reading.flat.clear()
        reading.read_operands()


def settle_nodes(nodes: list[Node], signatures: list[Signature]) -> bool:
    """The same of nodes, whose signatures are given and change with them; whether there were any.

    What is read twice becomes two tensors: rows that a program chooses are the same by chance.
    """
    any_settled = False
    for k, signature in enumerate(signatures):
        places = _readers.get(signature)
        if places is None:
            places = _readers.recall(signature)
            if places is None:
                places = _readers.keep(signature, _places(signature))
        operands, geometries = nodes[k].operands, signature.geometries
        for j in places:
            value, g = operands[j].value, geometries[j]
            if value.__class__ is np.ndarray and (g.offset or g.extent != len(value)):
                signatures[k] = _settle_one(nodes[k], signature, places)
                any_settled = True
                break
    return any_settled


def _places(signature: Signature) -> tuple[int, ...]:
    """Which operands are tensors that are not overwritten."""
    return tuple([j for j, g in enumerate(signature.geometries)
                  if g.__class__ is Geometry and g.numel and j not in signature.operator.owns])


def _settle_one(node: Node, signature: Signature, places: tuple[int, ...]) -> Signature:
    operands, geometries = list(node.operands), list(signature.geometries)
    for j in places:
        value, g = operands[j].value, geometries[j]
        if value.__class__ is np.ndarray and value.dtype is g.dtype.numpy \
                and (g.offset or g.extent != len(value)):
            operands[j], geometries[j] = constant(value[g.offset:]), g.family[0]
    own = signature.operator, signature.attributes, *geometries
    node.operands = tuple(operands)
    node.signature = found = _settled.get(own) or _settled.recall(own) \
        or _settled.keep(own, _with(signature, tuple(geometries)))
    return found


def _with(signature: Signature, geometries: tuple[Any, ...]) -> Signature:
    """The signature of the same operator on operands that lie elsewhere."""
    return Signature(signature.operator, signature.attributes, geometries, signature.outputs,
                     signature.single, signature.compute)
