"""The native executor: programs of kernels where it has them, the interpreter's kernels in between."""

from __future__ import annotations

from ...graph.node import Node
from .. import interpreter
from .arena import keep_freed_memory
from .programs import program_of


def run(nodes: list[Node], forced: bool = True) -> list[Node]:
    """Compute ``nodes`` (last one first), emptying the list; it promises what the interpreter's does.

    ``forced``: a program is made for every graph at once, and not when it pays.
    """
    program = program_of(nodes, forced)
    return interpreter.run(nodes) if program is None else program.run(nodes)


keep_freed_memory()
