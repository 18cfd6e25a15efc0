"""Which nodes become one kernel.

Note: stages. A pointwise node has the stage of its latest operand if it can be computed in one loop with it
(same extents, same order in memory), else a later one; everything else comes one stage after its operands.
Nodes of one stage that read each other form a kernel: a way from a kernel through anything else back into it
would pass a later stage, so kernels never wait for each other in a circle. Kernels are functions of values
that no one changes (in-place operators write into memory only when nobody else refers to it), so any order
that respects the operands is right.
"""

from __future__ import annotations

import sys
from typing import Any

from ... import dtypes
from ...graph import pending
from ...graph.geometry import Geometry
from ...graph.node import Node, Signature
from . import cost
from .emitter import Unsupported
from .lowering import FLAT, Input, Member, Structure, lower
from .plan import Plan
from .templates import plan_of

MAX_MEMBERS = 48
_LIMIT = 1 << 16
# Pointwise by what they compute, though they declare their shapes themselves.
_CONVERSIONS = frozenset(("to_copy", "clone"))
_SUMS = frozenset(("sum", "mean"))


class Traits:
    """What scheduling needs to know of a signature."""

    __slots__ = ("fusible", "space", "row")

    def __init__(self, fusible: bool, space: tuple[Any, ...] | None, row: int) -> None:
        self.fusible = fusible  # can be computed in a loop over its result
        self.space = space      # extents and strides of that loop
        self.row = row          # of a sum: how many elements are added up; -1 for all; 0 if it is none


_traits: dict[Signature, Traits] = {}
_native: dict[Any, bool] = {}
_OTHER = Traits(False, None, 0)


def traits_of(signature: Signature) -> Traits:
    """The traits of a signature, found out once."""
    found = _traits.get(signature)
    if found is None:
        if len(_traits) > _LIMIT:
            _traits.clear()
        found = _traits[signature] = _examine(signature)
    return found


def _examine(signature: Signature) -> Traits:
    operator = signature.operator
    if not signature.single or signature.on_meta or operator.owns:
        return _OTHER
    output = signature.outputs[0]
    if is_sum(signature):
        return Traits(False, None, _row_of(signature))
    if operator.kind != "pointwise" and operator.name not in _CONVERSIONS:
        return _OTHER
    if not output.numel or output.offset or not output.is_dense or not is_native(signature):
        return _OTHER
    return Traits(True, (output.shape, output.strides), 0)


def is_sum(signature: Signature) -> bool:
    """Whether the signature is a sum or a mean."""
    return signature.operator.name in _SUMS and signature.operator.kind == "structured"


def _row_of(signature: Signature) -> int:
    """The length of the rows that a sum adds up: trailing dimensions of a contiguous operand."""
    g = signature.geometries[0]
    dims, _, dtype = signature.attributes
    if not isinstance(g, Geometry) or not g.is_contiguous or not g.numel \
            or dtype.is_complex or dtype is dtypes.bool_:
        return 0
    if len(dims) == g.ndim:
        return -1
    if sorted(dims) != list(range(g.ndim - len(dims), g.ndim)):
        return 0
    row = 1
    for d in dims:
        row *= g.shape[d]
    return row


def is_native(signature: Signature) -> bool:
    """Whether the operator has a native form on these types: found by writing its code once."""
    member = member_of(signature, _references(signature), True)
    inputs = tuple([Input(g.dtype.numpy, FLAT) for g in signature.geometries if isinstance(g, Geometry)])
    numbers = sum(reference is not None and reference[0] == "number" for reference in member.operands)
    structure = Structure((member,), inputs, numbers, 0, ())
    found = _native.get(structure)
    if found is None:
        try:
            lower(structure)
            found = True
        except Unsupported:
            found = False
        if len(_native) > _LIMIT:
            _native.clear()
        _native[structure] = found
    return found


def _references(signature: Signature) -> tuple[Any, ...]:
    counts = {"input": 0, "number": 0}
    references: list[Any] = []
    for g in signature.geometries:
        if g is type(None):
            references.append(None)
            continue
        kind = "input" if isinstance(g, Geometry) else "number"
        references.append((kind, counts[kind]))
        counts[kind] += 1
    return tuple(references)


def member_of(signature: Signature, references: tuple[Any, ...], stored: bool) -> Member:
    """A signature as a kernel's member."""
    compute = signature.compute.numpy if signature.compute is not None else None
    return Member(signature.operator, signature.attributes, compute, signature.outputs[0].dtype.numpy,
                  references, stored)


class _Partition:
    """Kernels under construction: a forest whose roots are their latest members."""

    def __init__(self, nodes: list[Node]) -> None:
        count = len(nodes)
        self.nodes = nodes
        self.last = count - 1
        self.stage = [0] * count
        self.parent = list(range(count))
        self.size = [1] * count
        self.row = [0] * count
        self.traits: list[Traits] = []
        self.reads: list[list[int]] = []

    def node(self, i: int) -> Node:
        return self.nodes[self.last - i]

    def root(self, i: int) -> int:
        parent = self.parent
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    def build(self) -> None:
        index = {id(node): self.last - k for k, node in enumerate(self.nodes)}
        for i in range(self.last + 1):
            node = self.nodes[self.last - i]
            signature = node.signature
            assert signature is not None
            traits = traits_of(signature)
            self.traits.append(traits)
            reads: list[int] = []
            near: list[int] = []
            stage = 0
            for operand, g in zip(node.operands, signature.geometries):
                k = index.get(id(operand)) if operand.__class__ is Node else None
                if k is None:
                    continue
                reads.append(k)
                if self._shares_loop(traits, k, g):
                    near.append(k)
                    stage = max(stage, self.stage[k])
                else:
                    stage = max(stage, self.stage[k] + 1)
            if len(reads) < len(node.operands):
                reads += self._others(node, index, reads)
                for k in reads:
                    if k not in near:
                        stage = max(stage, self.stage[k] + 1)
            self.reads.append(reads)
            self.stage[i] = stage
            self._join(i, [k for k in near if self.stage[k] == stage])

    @staticmethod
    def _others(node: Node, index: dict[int, int], reads: list[int]) -> list[int]:
        """Operands without a geometry of their own: lists, results of several."""
        found = []
        for operand in node.operands:
            if operand.__class__ is Node:
                k = index.get(id(operand))
                if k is not None and k not in reads:
                    found.append(k)
        return found

    def _shares_loop(self, traits: Traits, k: int, g: Any) -> bool:
        """Whether a node of these traits, reading node k through g, can be in k's loop."""
        before = self.traits[k]
        if not before.fusible or not (traits.fusible or traits.row):
            return False
        signature = self.node(k).signature
        assert signature is not None
        return g == signature.outputs[0] and (bool(traits.row) or traits.space == before.space)

    def _join(self, i: int, others: list[int]) -> None:
        roots = {self.root(k) for k in others}
        row = self.traits[i].row
        rows = {r for r in (row, *[self.row[k] for k in roots]) if r}
        if roots and (len(rows) > 1 or sum(self.size[k] for k in roots) >= MAX_MEMBERS):
            self.stage[i] += 1
            return
        for k in roots:
            self.parent[k] = i
            self.size[i] += self.size[k]
        self.row[i] = rows.pop() if rows else 0

    def units(self) -> list[list[int]]:
        """Members of the kernels and single nodes, each in order, in an order in which they can run."""
        members: dict[int, list[int]] = {}
        for i in range(self.last + 1):
            members.setdefault(self.root(i), []).append(i)
        done: set[int] = set()
        order: list[list[int]] = []
        for i in range(self.last + 1):
            if self.parent[i] == i:
                self._emit(i, members, done, order)
        return order

    def _emit(self, root: int, members: dict[int, list[int]], done: set[int], order: list[list[int]]) -> None:
        stack = [root]
        while stack:
            top = stack[-1]
            if top in done:
                stack.pop()
                continue
            waiting = {self.root(k) for i in members[top] for k in self.reads[i]} - done - {top}
            if waiting:
                stack.extend(waiting)
                continue
            done.add(stack.pop())
            order.append(members[top])


class Unit:
    """A kernel, or nodes for the interpreter. ``members`` are positions in the list of nodes, in order."""

    __slots__ = ("members", "stored", "row", "fused", "binding", "plan")

    def __init__(self, members: list[int], stored: list[bool], row: int, fused: bool) -> None:
        self.members = members
        self.stored = stored
        self.row = row
        self.fused = fused
        self.binding: Any = None  # of a kernel: how it is launched
        self.plan: Plan | None = None


def schedule(nodes: list[Node]) -> list[Unit]:
    """Partition a list of nodes (last one first) into units, in the order in which they run."""
    partition = _Partition(nodes)
    partition.build()
    last = partition.last
    units: list[Unit] = []
    for members in partition.units():
        row = partition.row[partition.root(members[0])]
        positions = [last - i for i in members]
        if partition.traits[members[0]].fusible and _worthwhile(nodes[positions[0]], len(members)):
            units.append(Unit(positions, _stored(nodes, positions), row, True))
        elif len(positions) == 1 and (plan := plan_of(_signature(nodes[positions[0]]))) is not None:
            units.append(Unit(positions, [], 0, True))
            units[-1].plan = plan
        elif units and not units[-1].fused:
            units[-1].members += positions
        else:
            units.append(Unit(positions, [], 0, False))
    return units


def _signature(node: Node) -> Signature:
    assert node.signature is not None
    return node.signature


def _worthwhile(first: Node, operators: int) -> bool:
    assert first.signature is not None
    return cost.worthwhile(first.signature.outputs[0].numel, operators)


def _stored(nodes: list[Node], positions: list[int]) -> list[bool]:
    """Whether somebody beside the kernel itself holds a member's value."""
    readers: dict[int, int] = {}
    for k in positions:
        for operand in nodes[k].operands:
            if operand.__class__ is Node:
                readers[id(operand)] = readers.get(id(operand), 0) + 1
            operand = None
    found: list[bool] = []
    refcount = sys.getrefcount
    for k in positions:
        node = nodes[k]
        # The list of nodes holds each of them once.
        found.append(refcount(node) > pending.UNHELD + 1 + readers.get(id(node), 0))
    return found
