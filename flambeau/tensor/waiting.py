"""Operators on samples that wait until a batch is made of them.

Note: joint computing. Most of what is done to a sample is done to all samples of a batch, each of which is
small: a call of NumPy costs as much as all of its elements. So while samples are made (Note: computing at
once) an operator that treats elements alike, such as a pointwise one, is recorded and waits. Where samples
are stacked and the same operator waits for all of them, or for many, it is computed once, on the stacks of
its operands; of them the same is true.

Whatever else needs a value that waits has it computed alone, then and there. A loader that turns out to be of
that kind (it looks at its samples, or makes no batches) waits no more.
"""

from __future__ import annotations

from collections.abc import Iterable
from sys import getrefcount
from typing import Any

from ..executors import interpreter
from ..graph import pending
from ..graph.node import Node
from .tape import state


class Habit:
    """What is known of a loader's samples: whether it is worth while to wait for their batch."""

    __slots__ = ("waits",)

    def __init__(self) -> None:
        self.waits = True


class Waiting:
    """The operators that wait, in the order of recording: all are pending nodes like any other."""

    __slots__ = ("habit", "nodes", "readings", "joined")

    def __init__(self, habit: Habit) -> None:
        self.habit = habit
        self.nodes: dict[Node, None] = {}
        self.readings = 0   # how often one of them is an operand of another
        self.joined = 0     # how many were computed with others

    def settle(self, node: Node) -> None:
        """Compute what this one needs, and it, alone."""
        needed: dict[Node, None] = {}
        todo = [node]
        while todo:
            one = todo.pop()
            if one.value is None and one in self.nodes:
                needed[one] = None
                todo.extend([x for x in one.operands if x.__class__ is Node])
        in_order = [x for x in self.nodes if x in needed]
        with pending.lock:
            for one in in_order:
                if one in pending.nodes:
                    pending.nodes.remove(one)
            interpreter.run(in_order[::-1])

    def end(self) -> None:
        """The batch is made: compute what is left and held by somebody."""
        state.waiting = None
        count = len(self.nodes)
        if not count:
            return
        nodes = [node for node in self.nodes if node.value is None]
        self.nodes.clear()
        alone = count - len(nodes)
        if not _taken_back(nodes):  # recorded among others
            alone += len(nodes)
        # Held by the list, and by those of them that read them.
        elif alone or sum(map(getrefcount, nodes)) > count * (pending.UNHELD + _BY_MAP) + self.readings:
            left = _held(nodes)
            alone += len(left)
            interpreter.run(left)
        if alone > self.joined:
            self.habit.waits = False


def _taken_back(nodes: list[Node]) -> bool:
    """Whether these were the latest of the pending nodes, of which they are none any more."""
    with pending.lock:
        first = len(pending.nodes) - len(nodes)
        found = first >= 0 and pending.nodes[first:first + len(nodes)] == nodes
        if found:
            del pending.nodes[first:first + len(nodes)]
    return found


def _held(nodes: list[Node]) -> list[Node]:
    """Those that somebody needs, last one first; the list is emptied (Note: liveness)."""
    live: list[Node] = []
    while nodes:
        node = nodes[-1]
        if getrefcount(node) > pending.UNHELD + 1:
            live.append(node)
        nodes.pop()
        del node
    return live


# References to what only a list holds, as ``map`` counts them, beside ``pending.UNHELD``.
_BY_MAP = sum(map(getrefcount, [object()])) - pending.UNHELD


def settle(tensors: Iterable[Any]) -> None:
    """Let the values of these be there, if they wait."""
    waiting = state.waiting
    for x in tensors:
        storage = getattr(x, "_storage", None)
        if storage is not None and storage.node in waiting.nodes:
            waiting.settle(storage.node)
