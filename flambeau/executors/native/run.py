"""The native executor: fused kernels where it has them, the interpreter's kernels in between."""

from __future__ import annotations

import numpy as np

from ...graph.node import Node
from .. import interpreter
from .binding import bind
from .execute import execute
from .programs import program_of
from .schedule import Unit


def run(nodes: list[Node]) -> list[Node]:
    """Compute ``nodes`` (last one first), emptying the list; it promises what the interpreter's does."""
    with np.errstate(all="ignore"):
        units = program_of(nodes)
    failed: list[Node] = []
    remaining: list[Node | None] = list(nodes)
    nodes.clear()
    batch: list[Node] = []
    try:
        with np.errstate(all="ignore"):
            for unit in units:
                batch = _take(unit, remaining)
                if unit.fused and _natively(unit, batch[::-1]):
                    batch.clear()
                else:
                    failed += interpreter.run(batch)
    finally:
        # Interrupted: what is not computed stays in the list, the present unit last, to be computed first.
        nodes += [node for node in remaining if node is not None]
        nodes += [node for node in batch if node.value is None]
    return failed


def _natively(unit: Unit, members: list[Node]) -> bool:
    """Compute a kernel's members; false if the interpreter has to."""
    if unit.plan is not None:
        return execute(unit.plan, members)
    if unit.binding is None:
        unit.binding = bind(unit, members)
        if unit.binding is None:
            unit.fused = False
            return False
    return bool(unit.binding.run(members))


def _take(unit: Unit, remaining: list[Node | None]) -> list[Node]:
    """The unit's nodes, last one first; the list of what remains lets go of them."""
    taken: list[Node] = []
    for k in reversed(unit.members):
        node = remaining[k]
        assert node is not None
        taken.append(node)
        remaining[k] = None
    return taken
