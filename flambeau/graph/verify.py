"""What every graph must satisfy before it runs: for tests and ``FLAMBEAU_VERIFY=1``."""

from __future__ import annotations

from typing import Any

from .geometry import Geometry
from .node import Node


class GraphError(AssertionError):
    """A graph violates an invariant."""


def verify(nodes: list[Node]) -> None:
    """Check nodes in the order of a run, last one first.

    * A pending node has a signature, and one operand for each of its geometries.
    * What an operand refers to is computed, or comes earlier in the run.
    * A geometry reads inside the value of its operand.
    * A number is of the type that the signature was made for; an absent operand is None.
    """
    known: set[int] = set()
    for node in reversed(nodes):
        if node.signature is None:
            raise GraphError(f"{node!r} is pending and has no signature")
        if len(node.operands) != len(node.signature.geometries):
            raise GraphError(f"{node!r} has {len(node.operands)} operands for "
                             f"{len(node.signature.geometries)} geometries")
        for operand, geometry in zip(node.operands, node.signature.geometries):
            _verify_operand(node, operand, geometry, known)
        known.add(id(node))


def _verify_operand(node: Node, operand: Any, geometry: Any, known: set[int]) -> None:
    if not isinstance(operand, Node):
        if isinstance(geometry, Geometry) or (geometry is not None and type(operand) is not geometry):
            raise GraphError(f"{node!r} was signed for {geometry} and has {operand!r}")
        return
    if operand.value is None and id(operand) not in known:
        raise GraphError(f"{node!r} reads {operand!r}, which is neither computed nor earlier in the run")
    if isinstance(geometry, Geometry) and operand.signature is not None and operand.signature.single:
        source = operand.signature.outputs[0]
        held = source.nbytes
        if geometry.extent * geometry.dtype.itemsize > held:
            raise GraphError(f"{node!r} reads {geometry!r} of a value of {held} bytes")
