"""Making the program of a graph that is to have one."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from ....graph.node import Node
from ..llvm.compiling import code
from .execution.dump import dump
from .execution.joint import Joints
from .execution.program import Program
from .families import Entry, Family
from .patterns import kept
from .patterns.arrangement import Arrangement, form_of
from .patterns.pattern import Pattern, Plans
from .patterns.stages import Planned
from .runtime import runtime

_ARRANGEMENTS = 16  # of one family


def made_program(entry: Entry, nodes: list[Node]) -> Program:
    """The program of a graph (last node first) for which no joint formula holds.

    It is made from plans: those of other shapes made anew, those that lie on disk, or those that planning
    finds.
    """
    family = entry.family
    plans = family.pattern.plans(entry.signatures) if family.pattern is not None else None
    key, new = None, list[Planned]()
    if plans is None:
        runtime.entries()   # it is compiled together with the kernels
        key = kept.key_of(family.outline, entry.signatures)
        planned = kept.find(key)
        if planned is None:
            from .patterns import planning  # what lies on disk needs none of it
            planned = new = planning.planned(nodes)
        sites = [node.site for node in nodes]
        family.pattern = Pattern(family.outline, entry.signatures, sites, planned, key)
        family.arrangements.clear()
        family.joints = Joints()
        plans = family.pattern.first
    arrangement = _arrangement(family, plans)
    program = Program(arrangement, entry.signatures, plans)
    code.finish()
    family.joints.learn(arrangement, program, plans)
    for members, plan in zip(program.pattern.stages, plans):
        for k in members if plan is not None else ():
            entry.signatures[k].plan = None     # the interpreter prepares it again, should it have to
    if key is not None and new:
        kept.keep(key, new)
    dump(program, nodes, plans)
    return program


@contextmanager
def without_collections() -> Iterator[None]:
    """What planning makes stays: to look through it for cycles again and again takes a tenth of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _arrangement(family: Family, plans: Plans) -> Arrangement:
    assert family.pattern is not None
    known = family.arrangements
    form = form_of(plans)
    found = next((x for x in known if x.form == form), None)
    if found is None:
        found = Arrangement(family.pattern, plans)
        del known[_ARRANGEMENTS - 1:]
    else:
        known.remove(found)
    known.insert(0, found)
    return found
