"""Pending nodes that nobody needs.

Note: dead nodes. What nobody reads any more (the values of ``x.max(0)[1]``) is pending with the rest, and a
graph with it is not one of which every node is needed, which would be known at once (Note: replay). Where
such nodes were in graphs that came is remembered: they are let go of, if nobody holds them this time either.
"""

from __future__ import annotations

from operator import attrgetter
from sys import getrefcount

from ...graph.node import Node
from ...graph.recent import Recent

_signature = attrgetter("signature")
# Their places, last one first, by a number for the signatures: to keep those alive would take much memory,
# and where two graphs have one number, nothing is let go of that anybody holds.
_dead: Recent[int, tuple[int, ...]] = Recent(1 << 10)
SHORT = 256         # nodes of a graph of which that is remembered


def drop_dead(pending: list[Node]) -> int | None:
    """Let go of pending nodes that nobody needs, as far as they are remembered.

    None if there were any; else the number for what is pending, which ``note_dead`` is to be told.
    """
    recorded, number = len(pending), hash(tuple(map(_signature, pending)))
    for k in _dead.get(number) or _dead.recall(number) or ():
        if k >= recorded or getrefcount(pending[k]) > _IN_LIST:
            break
        del pending[k]
    return number if len(pending) == recorded else None


def note_dead(number: int, ids: list[int], live: list[Node]) -> None:
    """Remember which nodes, of those with ``ids`` that were pending, are not among those that are needed."""
    needed = {*map(id, live)}
    _dead.keep(number, tuple([k for k in range(len(ids) - 1, -1, -1) if ids[k] not in needed]))


def _in_list() -> int:
    nodes = [Node(None, (), None)]
    return getrefcount(nodes[0])


_IN_LIST = _in_list()
