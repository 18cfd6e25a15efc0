"""Which nodes become one kernel.

Note: stages. A node has the stage of its latest operand if it can be computed in one kernel with it (the same
elements in the same order in memory, the same dimensions reduced), else a later one; everything else comes
one stage after its operands. Nodes of one stage that read each other form a kernel: a way from a kernel
through anything else back into it would pass a later stage, so kernels never wait for each other in a
circle. Kernels are functions of values that no one changes (in-place operators write into memory only when
nobody else refers to it), so any order that respects the operands is right.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ....graph import pending
from ....graph.geometry import Geometry
from ....graph.node import Node, Signature
from ....graph.recent import Recent
from ..plan import Plan
from ..templates import plan_of
from .structure import ELEMENT, ROW
from .traits import Dims, Space, Traits, level_beside, space_of, traits_of

_forms: Recent[Any, object] = Recent(1 << 11)

MAX_MEMBERS = 48
_LOCAL = pending.UNHELD + 1     # references to a node that only a list and a local variable hold
_LARGE = 1024   # elements: reading an array of as many twice is worth avoiding


class _Partition:
    """Kernels under construction: a forest whose roots are their latest members.

    ``space`` and ``dims`` belong to roots. ``levels``: of each result of a node, whether the kernel has one
    for each element or for each row; None of a node that is in no kernel.
    """

    def __init__(self, nodes: list[Node]) -> None:
        count = len(nodes)
        self.nodes = nodes
        self.last = count - 1
        self.stage = [0] * count
        self.parent = list(range(count))
        self.size = [1] * count
        self.space: list[Space | None] = [None] * count
        self.dims: list[Dims | None] = [None] * count
        self.levels: list[tuple[int, ...] | None] = [None] * count
        self.reads: list[list[int]] = []

    def signature(self, i: int) -> Signature:
        found = self.nodes[self.last - i].signature
        assert found is not None
        return found

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
            signature = self.signature(i)
            traits = traits_of(signature)
            reads: list[int] = []
            near: dict[int, int] = {}
            for j, operand in enumerate(node.operands):
                k = index.get(id(operand)) if operand.__class__ is Node else None
                if k is None:
                    continue
                reads.append(k)
                level = self._together(signature, traits, j, k)
                if level is None or near.get(k, level) != level:
                    near[k] = -1
                else:
                    near[k] = level
            self.reads.append(reads)
            self._place(i, traits, reads, {k: level for k, level in near.items() if level >= 0})

    # --- what fits together ---------------------------------------------------------------------------------

    def _together(self, signature: Signature, traits: Traits, j: int, k: int) -> int | None:
        """The level at which a node, whose operand j is node k, can be in k's kernel; None if it can not."""
        levels = self.levels[k]
        if levels is None or not (traits.projects or self._has_type(k, signature.geometries[j])):
            return None
        root = self.root(k)
        return level_beside(signature, traits, j, levels, self.space[root], self.dims[root])

    def _has_type(self, k: int, g: Any) -> bool:
        """Whether node k is read as elements of its own type: others are what its memory holds."""
        return not isinstance(g, Geometry) or g.dtype is self.signature(k).outputs[0].dtype

    def _place(self, i: int, traits: Traits, reads: list[int], near: dict[int, int]) -> None:
        """Give node i its stage, and its kernel."""
        stage = max([self.stage[k] + (k not in near) for k in reads], default=0)
        near = {k: level for k, level in near.items() if self.stage[k] == stage}
        roots = {self.root(k) for k in near}
        dims = {d for d in [traits.dims, *[self.dims[r] for r in roots]] if d is not None}
        fits = len(set(near.values())) <= 1 and len({self.space[r] for r in roots}) <= 1 and len(dims) <= 1 \
            and sum(self.size[r] for r in roots) < MAX_MEMBERS
        if roots and fits:
            level = next(iter(near.values()))
            for r in roots:
                self.parent[r] = i
                self.size[i] += self.size[r]
                self.space[i] = self.space[r]
            self.dims[i] = dims.pop() if dims else None
            self.levels[i] = (level,) if traits.projects or level == ROW else traits.levels
            self.stage[i] = stage
            return
        self.stage[i] = stage + bool(roots)
        if traits.fusible:
            self.space[i], self.dims[i], self.levels[i] = traits.space, traits.dims, traits.levels

    # --- afterwards -----------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Kernels are what their members say from here on: ``unit``, the latest member as it was at first."""
        self.unit = [self.root(i) for i in range(self.last + 1)]
        self.time = [*self.stage]   # of units: the member that one is called after may be moved to another
        self.readers: list[list[int]] = [[] for _ in self.unit]
        for i, reads in enumerate(self.reads):
            for k in reads:
                self.readers[k].append(i)

    def delay(self) -> None:
        """Move to the kernel that alone reads it what would have to be stored for it, and can be made there.

        What is needed in the backward pass only (x - mean of a normalization) is not kept from the forward
        pass on if what it is made of is kept anyway.
        """
        for i in range(self.last, -1, -1):
            if self.levels[i] != (ELEMENT,) or not self.readers[i]:
                continue
            source, target = self.unit[i], self.unit[self.readers[i][0]]
            if target == source or self.time[target] <= self.stage[i] or self.space[target] is None:
                continue
            moved = self._waiting(i, target)
            self.size[source] -= len(moved)
            self.size[target] += len(moved)
            for k in moved:
                self.unit[k] = target
                self.stage[k] = self.time[target]

    def _waiting(self, i: int, target: int) -> list[int]:
        """Node i and those of its kernel that it alone needs, if they can be made in kernel ``target``."""
        moved = [i]
        for k in moved:
            if self.unit[k] != self.unit[i] or not self._can_wait(k, target, moved):
                return []
            for other in self.reads[k]:
                if other not in moved and not self._is_there(other, moved, target):
                    moved.append(other)
        return moved if self.size[target] + len(moved) <= MAX_MEMBERS else []

    def _can_wait(self, i: int, target: int, moved: list[int]) -> bool:
        traits = traits_of(self.signature(i))
        space = self.space[target]
        if self.levels[i] != (ELEMENT,) or traits.dims is not None or traits.space != space:
            return False
        node = self.nodes[self.last - i]
        if sys.getrefcount(node) > _LOCAL + len(self.readers[i]):
            return False
        for r in self.readers[i]:
            if self.unit[r] != target and r not in moved:
                return False
            for operand, g in zip(self.nodes[self.last - r].operands, self.signature(r).geometries):
                if operand is node and (g.offset or space_of(g) != space or not self._has_type(i, g)):
                    return False
        return True

    def _is_there(self, k: int, moved: list[int], target: int) -> bool:
        """Whether an operand lies in memory until a later kernel has run, whether its readers wait or not."""
        levels = self.levels[k]
        if levels is not None and ELEMENT not in levels:
            return True
        others = [r for r in self.readers[k] if r not in moved and self.unit[r] != self.unit[k]]
        return any(self.stage[r] >= self.time[target] for r in others)

    def merge(self) -> None:
        """Make one kernel of kernels of a stage that read the same array: they cannot wait for each other.

        Parts of an array are other arrays: were they read in one kernel where they are as large by chance,
        graphs that differ in how long parts are would share nothing. (What has gaps may lie in between.)
        """
        readers: dict[tuple[int, Any, int, int], list[int]] = {}
        for i in range(self.last + 1):
            space = self.space[self.unit[i]]
            if self.levels[i] is None or space is None:
                continue
            for operand, g in zip(self.nodes[self.last - i].operands, self.signature(i).geometries):
                if isinstance(g, Geometry) and g.numel >= _LARGE and space_of(g) == space:
                    part = g.offset if g.has_no_gaps else -1
                    others = readers.setdefault((self.stage[i], space, id(operand), part), [])
                    if not any(self._unite(self.unit[i], self.unit[k]) for k in others):
                        others.append(i)

    def _unite(self, a: int, b: int) -> bool:
        dims = {d for d in (self.dims[a], self.dims[b]) if d is not None}
        if a == b:
            return True
        if len(dims) > 1 or self.size[a] + self.size[b] > MAX_MEMBERS:
            return False
        self.unit = [b if u == a else u for u in self.unit]
        self.size[b] += self.size[a]
        self.dims[b] = dims.pop() if dims else None
        return True

    # --- in which order -------------------------------------------------------------------------------------

    def units(self) -> list[list[int]]:
        """Members of the kernels and single nodes, each in order, in an order in which they can run."""
        members: dict[int, list[int]] = {}
        for i, unit in enumerate(self.unit):
            members.setdefault(unit, []).append(i)
        done: set[int] = set()
        order: list[list[int]] = []
        for unit in sorted(members, key=lambda u: members[u][-1]):
            self._emit(unit, members, done, order)
        return order

    def _emit(self, root: int, members: dict[int, list[int]], done: set[int], order: list[list[int]]) -> None:
        stack, begun = [root], set[int]()
        while stack:
            top = stack[-1]
            if top in done:
                stack.pop()
                continue
            waiting = {self.unit[k] for i in members[top] for k in self.reads[i]} - done - {top}
            if waiting:
                if top in begun:
                    raise RuntimeError("kernels of a graph wait for each other")
                begun.add(top)
                stack.extend(waiting)
                continue
            done.add(stack.pop())
            order.append(members[top])


class Unit:
    """A kernel, or nodes for the interpreter. ``members`` are positions in the list of nodes, in order.

    ``references``: what the members' operands are. Of a fused kernel: ``stored``, whether somebody beside its
    members reads a member's value; the space, the reduced dimensions and the members' levels (see
    ``_Partition``); how many passes over the elements it makes, 0 if that was not asked for; ``form``, equal
    (the same object) where all of this but the space is: signatures decide the rest.
    """

    __slots__ = ("members", "references", "stored", "fused", "plan", "space", "dims", "levels", "passes",
                 "form")

    def __init__(self, members: list[int], references: References | None) -> None:
        self.members = members
        self.references = references
        self.stored: tuple[bool, ...] = ()
        self.fused = references is not None
        self.plan: Plan | None = None
        self.space: Space | None = None
        self.dims: Dims | None = None
        self.levels: tuple[tuple[int, ...], ...] = ()
        self.passes = 0
        self.form: object = None


class References:
    """What the operands of a kernel's members are: other members' results, arrays from outside, numbers."""

    __slots__ = ("operands", "numbers")

    def __init__(self, operands: tuple[tuple[Any, ...], ...]) -> None:
        self.operands = operands
        self.numbers = [(m, j) for m, own in enumerate(operands) for j, x in enumerate(own)
                        if x is not None and x[0] == "number"]


def _references(members: Sequence[Node]) -> References:
    position = {id(node): i for i, node in enumerate(members)}
    outside: dict[int, int] = {}
    found: list[tuple[Any, ...]] = []
    numbers = 0
    for node in members:
        own: list[Any] = []
        for operand in node.operands:
            if operand is None:
                own.append(None)
            elif operand.__class__ is not Node:
                own.append(("number", numbers))
                numbers += 1
            elif id(operand) in position:
                own.append(("member", position[id(operand)]))
            else:
                own.append(("node", outside.setdefault(id(operand), len(outside))))
        found.append(tuple(own))
    return References(tuple(found))


def schedule(nodes: list[Node]) -> list[Unit]:
    """Partition a list of nodes (last one first) into units, in the order in which they run."""
    partition = _Partition(nodes)
    partition.build()
    partition.settle()
    partition.delay()
    partition.merge()
    units: list[Unit] = []
    for members in partition.units():
        positions = [partition.last - i for i in members]
        if partition.levels[members[0]] is not None:
            units.append(_kernel(partition, members, positions))
        elif len(positions) == 1 and (plan := plan_of(partition.signature(members[0]))) is not None:
            units.append(Unit(positions, None))
            units[-1].plan = plan
        elif units and units[-1].plan is None and not units[-1].fused:
            units[-1].members += positions
        else:
            units.append(Unit(positions, None))
    return units


def _kernel(partition: _Partition, members: list[int], positions: list[int]) -> Unit:
    root = partition.unit[members[0]]
    unit = kernel(positions, _references([partition.nodes[k] for k in positions]),
                  tuple(is_stored(partition.nodes, positions)), partition.dims[root],
                  tuple([partition.levels[i] or () for i in members]))
    unit.space = partition.space[root]
    return unit


def kernel(members: list[int], references: References, stored: tuple[bool, ...], dims: Dims | None,
           levels: tuple[tuple[int, ...], ...]) -> Unit:
    """A fused kernel, in no space so far."""
    unit = Unit(members, references)
    unit.stored, unit.dims, unit.levels = stored, dims, levels
    form = (references.operands, stored, levels, dims is None)
    unit.form = _forms.get(form) or _forms.recall(form) or _forms.keep(form, object())
    return unit


def is_stored(nodes: Sequence[Node], positions: Sequence[int]) -> list[bool]:
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
