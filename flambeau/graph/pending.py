"""The list of nodes recorded and not yet computed, in the order of recording.

One list for all threads: ``append`` and slicing are atomic, and the order in which it was recorded is a valid
order of execution whatever the threads do.

Note: liveness. Nothing marks a node as needed. A node is needed when somebody beside this list refers to it:
a storage, or a needed node that reads it. Taking nodes from the end of the list and letting go of those that
nobody else holds frees, in one pass, exactly what is unreachable.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from .node import Node
from .references import UNHELD as UNHELD

nodes: list[Node] = []
lock = threading.RLock()
# Told of all nodes that leave the list, before it is decided which are needed.
watchers: list[Callable[[list[Node]], None]] = []


def take_live(live: list[Node], keep: int = 0) -> None:
    """Move the pending nodes that are needed to ``live``, last one first, except the ``keep`` recorded last.

    Interrupted, it moves none.
    """
    batch: list[Node] = []
    refcount = sys.getrefcount
    try:
        count = len(nodes) - keep
        for watch in watchers:
            watch(nodes[:count])
        batch.extend(nodes[:count])
        del nodes[:count]
        while batch:
            node = batch[-1]
            if refcount(node) > _HELD_BY_BATCH:
                live.append(node)
            batch.pop()
            del node
    except BaseException:  # each node is put back once, whatever the interrupt fell between
        if batch and live and batch[-1] is live[-1]:
            live.pop()
        if not (batch and nodes and nodes[0] is batch[0]):
            nodes[:0] = batch + live[::-1]
        live.clear()
        raise


_HELD_BY_BATCH = UNHELD + 1
