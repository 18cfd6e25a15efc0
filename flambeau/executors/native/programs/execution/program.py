"""Programs: graphs prepared for running again and again.

A program is a list of parts: segments, which run natively in one call, and batches of nodes for the
interpreter in between. What differs from run to run (arrays, numbers) is filled into a segment's words just
before it runs. Where a segment cannot run, or a kernel finds an operand that is not allowed, the values that
are still needed are taken out of the arena and the interpreter computes the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....graph.node import Node, Signature
from .... import interpreter
from ....freed import KEEP
from ..patterns.arrangement import Arrangement, Batch
from ..patterns.layout import Layout
from ..patterns.pattern import Pattern, Plans, Result
from ..runtime.arena import arena
from .segment import Segment


class Program:
    """An arrangement for certain shapes. ``run`` computes a graph that fits.

    ``offsets``: where results, and the working memory of stages (by their number), lie in the arena.
    """

    __slots__ = ("pattern", "signatures", "offsets", "size", "parts", "several")

    def __init__(self, arrangement: Arrangement, signatures: Sequence[Signature], plans: Plans) -> None:
        self.pattern = arrangement.pattern
        self.signatures = signatures
        layout = arrangement.layout(self._sizes(arrangement, plans))
        self.offsets = layout.offsets
        self.size = layout.size
        self.parts: list[Segment | Batch] = []
        for part in arrangement.parts:
            if isinstance(part, Batch):
                self.parts.append(part)
            else:
                own = [plan for plan in plans[part.first:part.after] if plan is not None]
                self.parts.append(Segment(part, own, signatures, layout))
        self.several = len(self.parts) > 1

    @classmethod
    def of(cls, pattern: Pattern, signatures: Sequence[Signature], layout: Layout,
           segment: Segment) -> Program:
        """A program of one segment."""
        made = cls.__new__(cls)
        made.pattern, made.signatures = pattern, signatures
        made.offsets, made.size = layout.offsets, layout.size
        made.parts, made.several = [segment], False
        return made

    def _sizes(self, arrangement: Arrangement, plans: Plans) -> list[int]:
        """The sizes, in bytes, of all that needs room in the arena."""
        sizes, signatures = [], self.signatures
        for needed, _ in arrangement.places:
            for place in needed:
                if place.__class__ is int:
                    plan = plans[place]
                    assert plan is not None
                    sizes.append(plan.workspace)
                else:
                    g = signatures[place[0]].outputs[place[1]]
                    sizes.append(g.nbytes)
        return sizes

    def run(self, nodes: list[Node], flat: list[Any], values: list[Any] | None = None) -> list[Node]:
        """Compute nodes (last one first), emptying the list; it promises what the interpreter's does.

        ``flat``: the operands of all nodes in turn, which is emptied too. ``values``: the arrays of the only
        segment, where it was run in which a kernel failed. (Note: hot functions, ``recording/record.py``)
        """
        failed: list[Node] = []
        remaining: list[Node | None] = [*nodes]
        progress = [0]  # the first stage that is not computed
        arrays: dict[Result, Any] = {}
        batch: list[Node] = []      # what the interpreter has still to compute, at these places of the graph:
        places: list[int] = []
        try:
            nodes.clear()
            beside: list[Any] | None = flat
            if self.several:     # the interpreter asks who refers to an operand
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
                    progress[0] = part.first + 1
                    continue
                if values is None:
                    part.run(remaining, beside, arrays, arena.reserve(self.size), progress)
                else:
                    part.go_on(values, remaining, arrays, progress)
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
        finally:
            if not KEEP:
                arena.rest()
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
        pattern = self.pattern
        for position in range(len(self.signatures)):
            node = remaining[position]
            source, k = pattern.projections.get(position, (position, 0))
            if node is None or pattern.stage_of[source] >= stage:
                continue
            if node.value is None:
                node.value = self._value((source, k), stage, arrays) if pattern.single[position] else \
                    self._values(position, stage, arrays)
            node.operands = ()
            remaining[position] = None

    def _values(self, position: int, stage: int, arrays: dict[Result, Any]) -> Any:
        found = [self._value(result, stage, arrays) for result in self.pattern.results(position)]
        return None if any(x is None for x in found) else tuple(found)

    def _value(self, result: Result, stage: int, arrays: dict[Result, Any]) -> Any:
        """What a computed result is, if somebody still reads it."""
        if self.pattern.last.get(result, -1) < stage:
            return None
        root = self.pattern.root(result)
        return self._copied(root) if root in self.offsets else arrays.get(root)

    def _copied(self, result: Result) -> Any:
        offset, g = self.offsets[result], self.signatures[result[0]].outputs[result[1]]
        assert arena.block is not None
        size = g.nbytes
        return arena.block.bytes[offset:offset + size].view(g.dtype.numpy).copy()

