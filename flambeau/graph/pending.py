"""The list of nodes recorded and not yet computed, in the order of recording.

One list for all threads: ``append`` and slicing are atomic, and the order in which it was recorded is a valid order
of execution whatever the threads do.

Note: liveness. Nothing marks a node as needed. A node is needed when somebody beside this list refers to it: a
storage, or a needed node that reads it. Taking nodes from the end of the list and letting go of those that nobody
else holds frees, in one pass, exactly what is unreachable.
"""

from __future__ import annotations

import sys
import threading

from .node import Node

nodes: list[Node] = []
lock = threading.RLock()

# References that a node has when nobody holds it: measured, since interpreters differ in what a local variable costs.
def _baseline() -> int:
    held = [Node(None, (), None)]
    node = held.pop()
    return sys.getrefcount(node)


UNHELD = _baseline()


def take_live() -> list[Node]:
    """Remove all pending nodes; return those that are needed, last one first."""
    count = len(nodes)
    batch = nodes[:count]
    del nodes[:count]
    live: list[Node] = []
    refcount = sys.getrefcount
    while batch:
        node = batch.pop()
        if refcount(node) > UNHELD:
            live.append(node)
    return live
