"""The native executor: programs of kernels where it has them, the interpreter's kernels in between.

A look asks the book, then ``replay``, which know a graph again before it is sorted out what of all that is
pending is needed: by a glance (Note: glances), or by its outline. Otherwise ``run`` gets the nodes that are
needed, and finds their program, makes it (Note: known graphs), or has them interpreted.
"""

from __future__ import annotations

from itertools import chain
from operator import attrgetter
from sys import getrefcount
from typing import Any

from ...config import settings
from ...graph.node import Node
from .. import interpreter
from ..freed import keep_freed_memory
from ..measure import ran
from . import on_return
from .programs.execution.segment import Segment
from .programs.glances.glance import ahead_of, glance_at, none
from .programs.glances.kin import Kin
from .programs.known import Entry, book, failed_kin, is_strange, moved, program_of, replays
from .programs.moving import settle_nodes
from .programs.patterns.outline import Reading
from .programs.pieces import LARGE, lengths, strangers
from .tiers import LARGEST, newcomers


def run(nodes: list[Node], forced: bool = True) -> list[Node]:
    """Compute ``nodes`` (last one first), emptying the list; it promises what the interpreter's does.

    ``forced``: a program is made for every graph at once, and not when it pays.
    """
    if len(nodes) > LARGEST:
        return _in_pieces(nodes, forced, [LARGEST] * -(-len(nodes) // LARGEST))
    keep_freed_memory()
    reading = Reading(nodes)
    if not forced and len(nodes) >= LARGE and is_strange(reading):
        reading.flat.clear()
        ran.append("pieces")
        return _in_pieces(nodes, forced, lengths(reading.forms()[::-1]))
    program = program_of(nodes, reading, forced)
    if program is not None:
        has_come_back = "new shapes" in ran     # in others
        ran.append("native")
        failed = program.run(nodes, reading.flat)
        if has_come_back:
            _tell_of_return()
        return failed
    reading.flat.clear()
    return interpreter.run(nodes)


def replay(pending: list[Node], live: list[Node],
           arrays: list[Any] | None = None) -> list[Node] | None:
    """Compute what is pending (first one first) if that is a graph whose program is known at once.

    That is one of which every node is needed, as its reference counts say: nothing has to be sorted out, no
    matter what came before. Returns and promises what ``native.replay`` says.
    """
    signatures = tuple(map(_signature, pending))
    asked = book.kin_asked()
    if asked is not None:
        kin, said = asked
        if arrays is None:
            arrays = kin.go(pending, said)
        if arrays is True:
            return _replayed(len(signatures))
        if arrays is not None:
            return _replay(failed_kin(kin, pending), pending, live, arrays)
    if arrays is not None:
        failed = book.entry(signatures)
        if failed.family.moves:
            settle_nodes(pending, [*signatures])
        return _replay(failed, pending, live, arrays)
    entry = replays.get(signatures) or moved(pending)
    if entry is None:
        return None
    glance = none if entry.glance is None or settings.kernel_times else entry.glance
    arrays = glance(pending)
    if arrays is True:
        entry.used = True
        return _replayed(len(signatures))
    return _replay(entry, pending, live, arrays)


def _replayed(count: int) -> list[Node]:
    """A glance has computed so many nodes."""
    if count >= LARGE:
        strangers.count_known()
    ran.append("native")
    return []


def known(pending: list[Node]) -> Entry | Kin | None:
    """The graph that is pending, if it has come before and can be begun (Note: head starts)."""
    entry = replays.get(tuple(map(_signature, pending))) or moved(pending)
    if entry is None or entry.program is None:
        return book.kin_of(pending)
    if entry.ahead is None:
        entry.ahead = ahead_of(entry.family.outline, entry.program) or False
    return entry if entry.ahead else None


def finish(begun: Entry | Kin, pending: list[Node], live: list[Node]) -> list[Node]:
    """Give what was begun, which is pending first, its values; it promises what ``native.replay`` says."""
    assert begun.ahead
    arrays = begun.ahead.finish(pending)
    if begun.__class__ is Entry:
        begun.used = True
    if arrays is None:
        return []
    entry = begun if isinstance(begun, Entry) else failed_kin(begun, pending)
    return _replay(entry, pending, live, arrays) or []


def modelled(pending: list[Node]) -> float | None:
    """The modelled nanoseconds of what is pending, if it is a graph that has come before."""
    entry = replays.get(tuple(map(_signature, pending)))
    if entry is None or entry.program is None:
        kin = book.kin_of(pending)
        return None if kin is None else kin.nanoseconds
    return sum(part.nanoseconds for part in entry.program.parts if isinstance(part, Segment))


def _replay(entry: Entry, pending: list[Node], live: list[Node],
            arrays: list[Any] | None) -> list[Node] | None:
    """``replay`` of a graph of these signatures; ``arrays``: of a glance in which a kernel has failed."""
    assert entry.program is not None
    count = len(entry.signatures)
    counts = [*map(getrefcount, pending)]
    counts.reverse()
    nodes = pending[count - 1::-1]
    flat = [*chain.from_iterable(map(_operands, nodes))]
    outline = entry.family.outline
    if arrays is None and not outline.fits(counts, nodes, flat):
        return None
    entry.used = True
    if len(nodes) >= LARGE:
        strangers.count_known()
    site = nodes[0].site
    live += nodes
    nodes.clear()
    del pending[:count]
    ran.append("native")
    failed = entry.program.run(live, flat, arrays)
    if entry.glance is None:
        newcomers.returned(site)
        entry.family.returns.count_back()
        entry.glance = glance_at(outline, entry.program)
        book.enter(entry.signatures[::-1], entry, entry.glance)
        _tell_of_return()
    return failed


def _tell_of_return() -> None:
    while on_return:
        on_return.pop()()


_signature, _operands = attrgetter("signature"), attrgetter("operands")


def _in_pieces(nodes: list[Node], forced: bool, lengths: list[int]) -> list[Node]:
    """What one piece hands to the next is held by the next one's nodes."""
    failed: list[Node] = []
    for length in lengths:
        piece = nodes[-length:]
        try:
            del nodes[-length:]
            failed += _piece(piece, forced)
        finally:
            if piece and not (nodes and nodes[-1] is piece[-1]):
                nodes += piece      # what an interrupt left
    return failed


def _piece(nodes: list[Node], forced: bool) -> list[Node]:
    """``run`` for a piece, which is known at once if it has come often."""
    pending = nodes[::-1]
    try:
        nodes.clear()
        arrays = None if settings.kernel_times else book.look_up(pending)
        if arrays.__class__ is int:
            ran.append("native")
            return []
        failed = replay(pending, nodes, arrays)
        if failed is not None:
            return failed
        nodes += pending[::-1]
    except BaseException:
        if not nodes:
            nodes += pending[::-1]
        raise
    pending.clear()
    return run(nodes, forced) if nodes else []      # nobody may need any node of it
