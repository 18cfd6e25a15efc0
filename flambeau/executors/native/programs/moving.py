"""Graphs that differ in where their operands lie alone: batches cut from one tensor, one after the other.

Note: moving operands. A slice is a geometry, so the graph of each batch is another one, and would have plans
and a layout of its own. Where graphs came that differ in the offsets of operands alone, and these operands
have values, those of the family are read as if what lies there were a tensor of its own. A signature of
which that was asked keeps the answer, which native code reads (``glancing.py``).

Note: the same by chance. A batch that is chosen from a list of tensors may have one of them twice, and so may
states and the states that followed them: each such batch would be another graph. Where several graphs of the
same operators came that differ in which of their operands are one tensor alone, what was not the same in all
of them is a tensor of its own each time.
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
from .patterns.outline import INNER, LEAF, Outline, Reading

_numbers: Recent[Signature, int] = Recent(1 << 13)
_placed: Recent[Signature, tuple[int, ...]] = Recent(1 << 13)
_read: Recent[Signature, tuple[int, ...]] = Recent(1 << 13)     # of graphs whose parts are read apart
_CHOSEN = 1 << 12   # forms of graphs that read what a program chooses, after which they are found out anew
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
    if reading.settled:
        return
    reading.settled = True
    if settle_nodes(reading.nodes, reading.signatures):
        reading.flat.clear()
        reading.read_operands()


def settle_nodes(nodes: list[Node], signatures: list[Signature]) -> bool:
    """The same of nodes, whose signatures are given and change with them; whether there were any."""
    key = hash(tuple(map(_form, signatures))) if apart or groups else 0
    chosen = key in apart
    parts: dict[tuple[int, int], Node] = {}
    placed = _read if chosen else _placed
    any_settled = _tell_apart(nodes, signatures, groups.get(key, ()))
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

# Node, operand, and the number of the group of operands that are always one tensor.
Groups = Sequence[tuple[int, int, int]]
# Of the forms of graphs in which several groups were one tensor by chance.
groups: dict[int, Groups] = {}


def read_apart(signatures: Sequence[Signature]) -> None:
    """Graphs of these forms were found to read the same parts in other places each time."""
    if len(apart) >= _CHOSEN:
        apart.clear()
    apart.update(_keys(signatures))


def _keys(signatures: Sequence[Signature]) -> tuple[int, int]:
    forms = tuple(map(_form, signatures))
    return hash(forms), hash(forms[::-1])   # the last one first, or as they are pending


def are_grouped(signatures: Sequence[Signature]) -> bool:
    """Whether graphs of these forms are known to have several groups that were one tensor by chance."""
    return bool(groups) and _keys(signatures)[0] in groups


def are_apart(signatures: Sequence[Signature]) -> bool:
    """Whether what graphs of these forms read is told apart in other ways than by where it lies."""
    key = _keys(signatures)[0] if apart or groups else 0
    return key in apart or key in groups


def group(reading: Reading, outlines: Sequence[Outline]) -> bool:
    """Compare a graph with others of its operators: whether groups are one tensor in some of them alone."""
    first, signatures = outlines[0], reading.signatures
    outlines = [outline for outline in outlines if _wires(outline) == _wires(first)]
    numbers: dict[tuple[int, ...], int] = {}    # of groups, by which leaf they are in each graph
    found: list[tuple[int, int, int]] = []
    owned = set[int]()
    for k, own in enumerate(first.sources):
        for j, (kind, _) in enumerate(own):
            if kind == LEAF:
                leaves = tuple([outline.sources[k][j][1] for outline in outlines])
                found.append((k, j, numbers.setdefault(leaves, len(numbers))))
                if j in signatures[k].operator.owns:
                    owned.add(found[-1][2])
    if all(len({*leaf_of}) == len(numbers) for leaf_of in zip(*numbers)):
        return False
    found = [each for each in found if each[2] not in owned]
    if len(groups) >= _CHOSEN:
        groups.clear()
    last = len(signatures) - 1
    key, pending = _keys(signatures)
    groups[key], groups[pending] = found, [(last - k, j, number) for k, j, number in found]
    reading.settled = False
    return True


def _wires(outline: Outline) -> list[list[tuple[int, int]]]:
    """Who reads whom inside of a graph."""
    return [[(kind, at if kind == INNER else 0) for kind, at in own] for own in outline.sources]


def _tell_apart(nodes: list[Node], signatures: list[Signature], known: Groups) -> bool:
    """Let groups that are one tensor by chance be several; whether there were any."""
    met: dict[int, int] = {}
    copies: dict[int, Node] = {}
    for k, j, group in known:
        node = nodes[k]
        leaf, g = node.operands[j], signatures[k].geometries[j]
        if met.setdefault(id(leaf), group) == group:
            continue
        copy = copies.get(group)
        if copy is None:
            value = leaf.value
            if value.__class__ is not np.ndarray or value.dtype is not g.dtype.numpy:
                continue
            copy = copies[group] = constant(value)
        node.operands = (*node.operands[:j], copy, *node.operands[j + 1:])
    return bool(copies)


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
