"""What a graph is known again by.

Note: replay. Comparing a graph with another one costs a tenth of a microsecond a node: lists of signatures
and of reference counts are compared, and the operands at the places where the other graph had equal ones, all
in loops of C. What is pending is compared with the latest graph of the same signatures. If it fits, all of it
is needed, and nothing has to be sorted out. Else what is needed is compared with the graph that is expected
after the one before. Only where that does not fit either is a key made and looked up.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

from .....graph.node import Node, Signature

_signature = attrgetter("signature")
_operands = attrgetter("operands")
_form = attrgetter("form")
_value = attrgetter("value")
_NO_VALUE = id(None)
_refcount = sys.getrefcount
_chained = chain.from_iterable


def _unheld() -> int:
    """The reference count, as a ``Reading`` sees it, of a node that only its list holds."""
    return Reading([Node(None, (), None)]).counts[0]


class Reading:
    """A graph as it comes: nodes, last one first. Holds operands until it is dropped.

    ``settled``: whether operands that move are tensors of their own already (Note: moving operands).
    """

    __slots__ = ("signatures", "counts", "flat", "nodes", "settled")

    def __init__(self, nodes: list[Node]) -> None:
        self.counts = [*map(_refcount, nodes)]
        self.signatures: list[Signature] = [*map(_signature, nodes)]
        self.nodes = nodes
        self.flat: list[Any] = [*_chained(map(_operands, nodes))]
        self.settled = False

    def read_operands(self) -> None:
        """Refer to all operands; ``flat.clear()`` lets go of them."""
        self.flat.extend(_chained(map(_operands, self.nodes)))

    def forms(self) -> list[int]:
        """What the signatures are except for their shapes."""
        return list(map(_form, self.signatures))


class Outline:
    """A graph's structure, which graphs of other shapes share.

    ``sources``: for each node, of each of its operands what it is: (INNER, node), (LEAF, number of the leaf),
    (NUMBER, 0) or (NOTHING, 0).
    """

    __slots__ = ("forms", "counts", "sources", "_total", "_inner", "_inner_nodes", "_again", "_first",
                 "_leaf_count", "_leaves", "_read")

    def __init__(self, reading: Reading) -> None:
        self.forms = reading.forms()
        self.counts = reading.counts
        index = {id(node): k for k, node in enumerate(reading.nodes)}
        leaves: dict[int, int] = {}
        first: list[int] = []       # where each leaf is first met, as a position in the operands
        inner: list[tuple[int, int]] = []
        again: list[tuple[int, int]] = []
        found: list[tuple[int, int]] = []
        for at, operand in enumerate(reading.flat):
            key = id(operand)
            if operand.__class__ is not Node:
                found.append((NOTHING if operand is None else NUMBER, 0))
            elif key in index:
                inner.append((at, index[key]))
                found.append((INNER, index[key]))
            else:
                k = leaves.setdefault(key, len(leaves))
                if k == len(first):
                    first.append(at)
                else:
                    again.append((at, first[k]))
                found.append((LEAF, k))
        self.sources: list[list[tuple[int, int]]] = []
        at = 0
        for signature in reading.signatures:
            self.sources.append(found[at:at + len(signature.geometries)])
            at += len(signature.geometries)
        self._total = at
        self._inner, self._inner_nodes = _getters(inner)
        self._again, self._first = _getters(again)
        self._leaf_count = len(first)
        self._leaves = itemgetter(*first) if len(first) > 1 else _slice_of(first)
        self._read: list[tuple[int, int]] | None = None     # which operands of which nodes are leaves

    def is_of(self, reading: Reading) -> bool:
        """Whether a graph has this structure, whatever its shapes."""
        return self.counts == reading.counts and self.forms == reading.forms() \
            and self.fits(reading.counts, reading.nodes, reading.flat)

    def fits(self, counts: list[int], nodes: list[Node], flat: list[Any]) -> bool:
        """Whether a graph, as it is read, has this structure, if its signatures have these forms."""
        if self.counts != counts or self._total != len(flat):
            return False
        # Nodes are equal only if they are one: these are comparisons of pointers.
        if not (self._inner is None or self._inner(flat) == self._inner_nodes(nodes)) \
                or not (self._again is None or self._again(flat) == self._first(flat)):
            return False
        # Different leaves are different nodes, which kernels read apart, and have their values.
        leaves = self._leaves(flat)
        return len({*leaves}) == self._leaf_count and _NO_VALUE not in map(id, map(_value, leaves))

    def reads_parts(self, signatures: Sequence[Signature]) -> bool:
        """Whether a leaf of a graph of this structure is read from elsewhere than where it begins."""
        if self._read is None:
            # What has several results, of which a part is still to be taken, has no geometry.
            self._read = [(k, j) for k, own in enumerate(self.sources) for j, (kind, _) in enumerate(own)
                          if kind == LEAF and signatures[k].geometries[j] is not None]
        return any([signatures[k].geometries[j].offset for k, j in self._read])     # noqa: C419

    def key(self) -> tuple[Any, ...]:
        """What equal outlines have in common."""
        return tuple(self.forms), tuple(self.counts), tuple(map(tuple, self.sources))


INNER, LEAF, NUMBER, NOTHING = range(4)


def _slice_of(places: list[int]) -> Callable[[Any], Any]:
    """What takes no element, or one, out of a list, as a list."""
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))


def _getters(pairs: list[tuple[int, int]]) -> tuple[Callable[[Any], Any] | None, Callable[[Any], bool]]:
    if not pairs:
        return None, bool
    return itemgetter(*[a for a, _ in pairs]), itemgetter(*[b for _, b in pairs])


UNHELD = _unheld()
