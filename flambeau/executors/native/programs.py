"""The schedules of graphs that come back.

Note: programs. A graph is known again by its signatures, by which operand is which node, and by how often
each node is referred to, which tells what somebody holds. A training step is scheduled once; values and
numbers are no part of the key.
"""

from __future__ import annotations

import sys
from typing import Any

from ...graph.node import Node
from .schedule import Unit, schedule

_LIMIT = 256
_programs: dict[tuple[Any, ...], list[Unit]] = {}


def program_of(nodes: list[Node]) -> list[Unit]:
    """The units of a graph (last node first), in the order in which they run."""
    key = _key(nodes)
    found = _programs.get(key)
    if found is None:
        if len(_programs) >= _LIMIT:
            _programs.clear()
        found = _programs[key] = schedule(nodes)
    return found


def _key(nodes: list[Node]) -> tuple[Any, ...]:
    index: dict[int, int] = {}
    key: list[Any] = []
    refcount = sys.getrefcount
    for node in reversed(nodes):
        key.append(node.signature)
        key.append(refcount(node))
        for operand in node.operands:
            if operand.__class__ is Node:
                k = id(operand)
                if k not in index:
                    index[k] = len(index)
                key.append(index[k])
        index[id(node)] = len(index)
        operand = None
    return tuple(key)


def clear() -> None:
    """Forget all programs."""
    _programs.clear()
