"""The native executor: programs of kernels where it has them, the interpreter's kernels in between."""

from __future__ import annotations

from ...config import settings
from ...graph.node import Node
from .. import interpreter
from ..freed import keep_freed_memory
from ..measure import ran
from .programs.arena import arena
from .programs.known import alone, program_of
from .programs.outline import Reading

# Nodes of a program. Of a long loop in one graph the first piece, those in the middle, which are equal, and
# the last one are remembered together (known.py).
LARGEST = 16_000


def run(nodes: list[Node], forced: bool = True) -> list[Node]:
    """Compute ``nodes`` (last one first), emptying the list; it promises what the interpreter's does.

    ``forced``: a program is made for every graph at once, and not when it pays.
    """
    if len(nodes) > LARGEST:
        return _in_pieces(nodes, forced)
    keep_freed_memory()
    if len(nodes) == 1 and run_alone(nodes[0]):
        nodes.clear()
        return []
    reading = Reading(nodes)
    program = program_of(nodes, reading, forced)
    if program is not None:
        ran.append("native")
        try:
            return program.run(nodes, reading.flat)
        finally:
            arena.rest()
    reading.flat.clear()
    return interpreter.run(nodes)


def run_alone(node: Node) -> bool:
    """Compute a graph of one small node, if its program is known; whether it was.

    What is recorded and looked at one by one is found by its signature alone, and does not count for what
    comes after what.
    """
    assert node.signature is not None
    found = alone.get(node.signature)
    if found is None or settings.kernel_times:
        return False
    entry, program, segment = found
    try:
        if not segment.run_alone(node, arena.reserve(program.size)):
            return False
    finally:
        arena.rest()
    entry.used = True
    ran.append("native")
    return True


def _in_pieces(nodes: list[Node], forced: bool) -> list[Node]:
    """What one piece hands to the next is held by the next one's nodes."""
    failed: list[Node] = []
    while nodes:
        piece = nodes[-LARGEST:]
        del nodes[-LARGEST:]
        try:
            failed += run(piece, forced)
        finally:
            nodes += piece      # empty, but for what an interrupt left
    return failed
