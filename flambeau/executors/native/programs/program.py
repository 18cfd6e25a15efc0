"""Programs: graphs prepared for running again and again.

A program is a list of parts: segments, which run natively in one call, and batches of nodes for the
interpreter in between. What differs from run to run (arrays, numbers) is filled into a segment's words just
before it runs. Where a segment cannot run, or a kernel finds an operand that is not allowed, the values that
are still needed are taken out of the arena and the interpreter computes the rest.
"""

from __future__ import annotations

from typing import Any

from ....graph.node import Node
from ... import interpreter
from .arena import arena
from .planning import Draft, Result
from .segment import Segment


class Batch:
    """Nodes that the interpreter computes."""

    __slots__ = ("members", "stage")

    def __init__(self, members: list[int], stage: int) -> None:
        self.members = sorted(members)      # last one first
        self.stage = stage


class Program:
    """A graph that is known. ``run`` computes one that fits its outline."""

    def __init__(self, nodes: list[Node], draft: Draft) -> None:
        self.size = draft.size
        self.parts: list[Segment | Batch] = []
        self.count = len(nodes)
        self.stages = [list(members) for members, _ in draft.stages]
        self.projections = dict(draft.projections)
        self.last = dict(draft.last)
        self.shared = dict(draft.shared)
        self.stage_of = {k: s for s, members in enumerate(self.stages) for k in members}
        self.offsets = {result: (offset, draft.signature(result[0]).outputs[result[1]])
                        for result, offset in draft.offsets.items()}
        self.single = [draft.signature(k).single for k in range(len(nodes))]
        self.outputs = [len(draft.signature(k).outputs) for k in range(len(nodes))]
        self._divide(draft)

    def _divide(self, draft: Draft) -> None:
        first = 0
        while first < len(draft.stages):
            after = first
            if draft.stages[first].plan is None:
                self.parts.append(Batch(draft.stages[first].members, first))
                after = first + 1
            else:
                while after < len(draft.stages) and draft.stages[after].plan is not None:
                    after += 1
                self.parts.append(Segment(draft, first, after))
            first = after

    def run(self, nodes: list[Node], flat: list[Any]) -> list[Node]:
        """Compute nodes (last one first), emptying the list; it promises what the interpreter's does.

        ``flat``: the operands of all nodes in turn, which is emptied too.
        """
        failed: list[Node] = []
        remaining: list[Node | None] = list(nodes)
        progress = [0]  # the first stage that is not computed
        arrays: dict[Result, Any] = {}
        batch: list[Node] = []      # what the interpreter has still to compute, at these places of the graph:
        places: list[int] = []
        try:
            nodes.clear()
            beside: list[Any] | None = flat
            if len(self.parts) > 1:     # the interpreter asks who refers to an operand
                flat.clear()
                beside = None
            for part in self.parts:
                if isinstance(part, Batch):
                    places = part.members
                    for k in places:
                        node = remaining[k]
                        assert node is not None
                        batch.append(node)
                        remaining[k] = None
                        del node
                    failed += interpreter.run(batch)
                    progress[0] = part.stage + 1
                    continue
                part.run(remaining, beside, arrays, arena.reserve(self.size), progress)
                if progress[0] < part.after:
                    flat.clear()
                    failed += self._interpret(progress[0], remaining, arrays)
                    return failed
        except BaseException:
            flat.clear()
            # Interrupted, or out of memory: what is not computed stays, to be computed first.
            for k, node in zip(places, batch):
                remaining[k] = node
            for part in self.parts:
                if isinstance(part, Segment):
                    part.give(remaining, arrays, progress)
            self._take_out(progress[0], remaining, arrays)
            nodes[:] = [node for node in remaining if node is not None and node.value is None]
            raise
        flat.clear()
        remaining.reverse()     # to be freed from the last recorded on: no chain of nodes goes by recursion
        remaining.clear()
        return failed

    def _interpret(self, stage: int, remaining: list[Node | None], arrays: dict[Result, Any]) -> list[Node]:
        """Leave everything from ``stage`` on to the interpreter."""
        self._take_out(stage, remaining, arrays)
        rest = [node for node in remaining if node is not None and node.value is None]
        remaining.clear()
        return interpreter.run(rest)

    def _take_out(self, stage: int, remaining: list[Node | None], arrays: dict[Result, Any]) -> None:
        """Give the nodes computed before ``stage`` the values that stages from there on read."""
        for position in range(self.count):
            node = remaining[position]
            source, k = self.projections.get(position, (position, 0))
            if node is None or self.stage_of[source] >= stage:
                continue
            if node.value is None:
                node.value = self._value((source, k), stage, arrays) if self.single[position] else \
                    self._values(position, stage, arrays)
            node.operands = ()
            remaining[position] = None

    def _values(self, position: int, stage: int, arrays: dict[Result, Any]) -> Any:
        found = [self._value((position, r), stage, arrays) for r in range(self.outputs[position])]
        return None if any(x is None for x in found) else tuple(found)

    def _value(self, result: Result, stage: int, arrays: dict[Result, Any]) -> Any:
        """What a computed result is, if somebody still reads it."""
        if self.last.get(result, -1) < stage:
            return None
        root = self.shared.get(result, result)
        return self._copied(root) if root in self.offsets else arrays.get(root)

    def _copied(self, result: Result) -> Any:
        offset, g = self.offsets[result]
        assert arena.block is not None
        size = g.numel * g.dtype.itemsize
        return arena.block.bytes[offset:offset + size].view(g.dtype.numpy).copy()

