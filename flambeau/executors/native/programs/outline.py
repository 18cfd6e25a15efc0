"""What a graph is known again by.

Note: replay. Comparing a graph with the one that is expected costs a tenth of a microsecond a node: lists of
signatures and of reference counts are compared, and the operands at the places where the expected graph had
equal ones, all in loops of C. Only where no expected graph fits is a key made and looked up.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

from ....graph.node import Node, Signature

_signature = attrgetter("signature")
_operands = attrgetter("operands")


def _unheld() -> int:
    """The reference count, as ``reading`` sees it, of a node that only its list holds."""
    return Reading([Node(None, (), None)]).counts[0]


class Reading:
    """A graph as it comes: nodes, last one first. Holds operands until it is dropped."""

    __slots__ = ("signatures", "counts", "flat", "nodes")

    def __init__(self, nodes: list[Node]) -> None:
        self.counts = list(map(sys.getrefcount, nodes))
        self.signatures: list[Signature] = list(map(_signature, nodes))
        self.nodes = nodes
        self.flat: list[Any] = []
        self.read_operands()

    def read_operands(self) -> None:
        """Refer to all operands; ``flat.clear()`` lets go of them."""
        self.flat.extend(chain.from_iterable(map(_operands, self.nodes)))


class Outline:
    """A graph's structure.

    ``sources``: for each operand of each node in turn, what it is: (INNER, node), (LEAF, number of the leaf),
    (NUMBER, 0) or (NOTHING, 0).
    """

    __slots__ = ("signatures", "counts", "sources", "leaves", "_inner", "_inner_nodes", "_again", "_first")

    def __init__(self, reading: Reading) -> None:
        self.signatures = reading.signatures
        self.counts = reading.counts
        index = {id(node): k for k, node in enumerate(reading.nodes)}
        leaves: dict[int, int] = {}
        self.sources: list[tuple[int, int]] = []
        self.leaves: list[int] = []    # where each leaf is first met, as a position in the operands
        inner: list[tuple[int, int]] = []
        again: list[tuple[int, int]] = []
        for at, operand in enumerate(reading.flat):
            key = id(operand)
            if operand.__class__ is not Node:
                self.sources.append((NOTHING if operand is None else NUMBER, 0))
            elif key in index:
                inner.append((at, index[key]))
                self.sources.append((INNER, index[key]))
            else:
                k = leaves.setdefault(key, len(leaves))
                if k == len(self.leaves):
                    self.leaves.append(at)
                else:
                    again.append((at, self.leaves[k]))
                self.sources.append((LEAF, k))
        self._inner, self._inner_nodes = _getters(inner)
        self._again, self._first = _getters(again)

    def fits(self, reading: Reading) -> bool:
        """Whether a graph has this structure."""
        if self.signatures != reading.signatures or self.counts != reading.counts \
                or len(self.sources) != len(reading.flat):
            return False
        flat = reading.flat
        # Nodes are equal only if they are one: these are comparisons of pointers.
        return bool(self._inner(flat) == self._inner_nodes(reading.nodes)
                    and self._again(flat) == self._first(flat))

    def key(self) -> tuple[Any, ...]:
        """What equal outlines have in common."""
        return tuple(self.signatures), tuple(self.counts), tuple(self.sources)


INNER, LEAF, NUMBER, NOTHING = range(4)


def _getters(pairs: list[tuple[int, int]]) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    if not pairs:
        return _nothing, _nothing
    return itemgetter(*[a for a, _ in pairs]), itemgetter(*[b for _, b in pairs])


def _nothing(ids: Any) -> None:
    return None


UNHELD = _unheld()
