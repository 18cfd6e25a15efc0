"""From a graph to a program: which steps run natively, where each value lies, what is filled in each time.

The positions in this module are those of the list of nodes, last one first, which a run gets. A result is
named (position of its node, number of the result).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ....graph.node import Node, Signature
from ..fusion.binding import bind
from ..fusion.schedule import Unit, schedule
from ..plan import Plan
from .layout import Shelf
from .outline import INNER, LEAF, UNHELD, Outline

Result = tuple[int, int]


class Stage(NamedTuple):
    """A unit of the schedule: nodes that one plan computes, or that the interpreter computes (no plan)."""

    members: list[int]
    plan: Plan | None


class Draft:
    """What is found out about a graph before its program is written.

    ``stages`` in the order of the run; ``made`` and ``last``: the stages that make a result and that read it
    last; ``held``: results that need an array of their own; ``projections``: nodes that stand for one of
    several results of a natively computed node, and get no stage; ``shared``: results that lie where the
    operand lay that they overwrite; ``offsets``: where results that are not held lie in the arena;
    ``workspaces``: where a stage's plan has room for itself.
    """

    def __init__(self, nodes: list[Node], outline: Outline) -> None:
        self.nodes = nodes
        self.outline = outline
        self.sources: list[list[tuple[int, int]]] = []
        at = 0
        for node in nodes:
            self.sources.append(outline.sources[at:at + len(node.operands)])
            at += len(node.operands)
        self.seen = self._seen_from_outside()
        self.stages: list[Stage] = []
        self.projections: dict[int, Result] = {}
        self._stage(schedule(nodes))
        self.made: dict[Result, int] = {}
        self.last: dict[Result, int] = {}
        self.shared: dict[Result, Result] = {}
        self._trace()
        self._share()
        self.held = self._held()
        self.offsets: dict[Result, int] = {}
        self.workspaces: dict[int, int] = {}
        self.size = self._place()

    def signature(self, position: int) -> Signature:
        found = self.nodes[position].signature
        assert found is not None
        return found

    def results(self, position: int) -> list[Result]:
        return [(position, r) for r in range(len(self.signature(position).outputs))]

    def source(self, position: int, operand: int) -> Result | None:
        """The result of this graph that an operand is; None if it is a leaf, a number or absent."""
        kind, at = self.sources[position][operand]
        if kind != INNER:
            return None
        return self.projections.get(at, (at, 0))

    def root(self, result: Result) -> Result:
        """The first of the results that lie in one place."""
        return self.shared.get(result, result)

    def is_native(self, result: Result) -> bool:
        """Whether a plan computes a result."""
        return self.stages[self.made[result]].plan is not None

    # --- stages ---------------------------------------------------------------------------------------------

    def _stage(self, units: list[Unit]) -> None:
        native: set[int] = set()
        for unit in units:
            plan = _plan(unit, self.nodes)
            members = unit.members
            if plan is None:
                members = [k for k in members if not self._projects(k, native)]
                if members and self.stages and self.stages[-1].plan is None:
                    self.stages[-1].members.extend(members)
                    continue
            else:
                native.update(members)
            if members:
                self.stages.append(Stage(list(members), plan))

    def _projects(self, position: int, native: set[int]) -> bool:
        signature = self.signature(position)
        if signature.operator.kind != "project":
            return False
        kind, source = self.sources[position][0]
        if kind != INNER or source not in native:
            return False
        self.projections[position] = (source, signature.attributes[0])
        return True

    # --- who reads what -------------------------------------------------------------------------------------

    def _seen_from_outside(self) -> set[int]:
        """The nodes that somebody beside the graph itself holds."""
        readers = [0] * len(self.nodes)
        for own in self.sources:
            for kind, at in own:
                if kind == INNER:
                    readers[at] += 1
        return {k for k, count in enumerate(self.outline.counts) if count > UNHELD + readers[k]}

    def _trace(self) -> None:
        self.made.clear()
        self.last.clear()
        for s, (members, _) in enumerate(self.stages):
            for k in members:
                self.made.update(dict.fromkeys(self.results(k), s))
        for s, (members, _) in enumerate(self.stages):
            for k in members:
                for operand in range(len(self.sources[k])):
                    found = self.source(k, operand)
                    if found is not None:
                        self.last[found] = s

    def _share(self) -> None:
        """Let results that overwrite an operand lie where it lies; what cannot, the interpreter computes."""
        seen = {self.projections.get(k, (k, 0)) for k in self.seen}
        for s, (members, plan) in enumerate(self.stages):
            if plan is None:
                continue
            for operand, result in plan.in_place:
                found = self.source(members[0], operand)
                if found is None:
                    continue
                alone = sum(self.source(members[0], j) == found
                            for j in range(len(self.sources[members[0]]))) == 1
                if alone and self.is_native(found) and found not in seen and self.last[found] == s:
                    self.shared[members[0], result] = self.root(found)
                else:
                    self._interpret(s)
                    break

    def _interpret(self, s: int) -> None:
        members = self.stages[s].members
        back = [k for k, (source, _) in self.projections.items() if source in members]
        for k in back:
            del self.projections[k]
        self.shared = {result: root for result, root in self.shared.items() if result[0] not in members}
        self.stages[s] = Stage([*members, *back], None)
        self._trace()

    def _held(self) -> set[Result]:
        held: set[Result] = set()
        for members, plan in self.stages:
            for k in members if plan is None else ():
                held.update(self.results(k))
                found = [self.source(k, operand) for operand in range(len(self.sources[k]))]
                held.update([result for result in found if result is not None])
            # What overwrites a value from outside lies where a private array of it lies.
            for operand, result in plan.in_place if plan is not None else ():
                if self.source(members[0], operand) is None:
                    held.add((members[0], result))
        for k in self.seen:
            held.update([self.projections[k]] if k in self.projections else self.results(k))
        return {self.root(result) for result in held}

    # --- places ---------------------------------------------------------------------------------------------

    def _place(self) -> int:
        shelf = Shelf()
        until: dict[Result, int] = {}
        for result, made in self.made.items():
            root = self.root(result)
            until[root] = max(until.get(root, 0), made, self.last.get(result, made))
        ending: dict[int, list[int]] = {}
        for s, (members, plan) in enumerate(self.stages):
            if plan is None:
                continue
            for m, k in enumerate(members):
                for result in self.results(k):
                    if self.root(result) != result or result in self.held or not _writes(plan, m, result[1]):
                        continue
                    g = self.signature(k).outputs[result[1]]
                    offset = self.offsets[result] = shelf.take(g.numel * g.dtype.itemsize)
                    ending.setdefault(until[result], []).append(offset)
            if plan.workspace:
                self.workspaces[s] = shelf.take(plan.workspace)
                ending.setdefault(s, []).append(self.workspaces[s])
            for offset in ending.pop(s, []):
                shelf.give(offset)
        return shelf.size


def _writes(plan: Plan, member: int, result: int) -> bool:
    """Whether a plan writes a result at all: what stays inside a fused kernel is never in memory."""
    return any((member, result) == (m, k) for call in plan.calls for _, m, k in call.words.outputs)


def _plan(unit: Unit, nodes: list[Node]) -> Plan | None:
    if unit.plan is not None or not unit.fused:
        return unit.plan
    binding: Any = bind(unit, [nodes[k] for k in unit.members])
    return None if binding is None else binding.plan


__all__ = ["LEAF", "Draft", "Result", "Stage"]
