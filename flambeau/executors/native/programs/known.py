"""The programs of graphs that come back."""

from __future__ import annotations

import logging
from typing import Any

from ....graph.node import Node
from ..tiers import Rent, ledger
from .arrangement import Arrangement
from .dump import dump
from .outline import Outline, Reading
from .pattern import Pattern, Plans
from .program import Program

_LIMIT = 100_000    # nodes in all graphs that are remembered
_ARRANGEMENTS = 16  # of one family
_log = logging.getLogger("flambeau")


class Family:
    """Graphs that differ in shapes alone: what they share, and each of them by its signatures.

    ``following``: the family of the graph that came after the latest one of them.
    """

    __slots__ = ("outline", "pattern", "arrangements", "entries", "following")

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.pattern: Pattern | None = None
        self.arrangements: list[Arrangement] = []   # the one used last comes first
        self.entries: dict[tuple[Any, ...], Entry] = {}
        self.following: Family | None = None


class Entry:
    """A graph that was seen: its signatures, its program once it has one, and what came after it."""

    __slots__ = ("family", "signatures", "program", "native", "rent", "following")

    def __init__(self, family: Family, reading: Reading) -> None:
        self.family = family
        self.signatures = reading.signatures
        self.program: Program | None = None
        self.native = True
        self.rent = Rent()
        self.following: Entry | None = None


_families: dict[tuple[Any, ...], Family] = {}
_latest: Entry | None = None
_remembered = 0


def program_of(nodes: list[Node], reading: Reading, forced: bool) -> Program | None:
    """The program of a graph (last node first); None while it is to be interpreted (unless ``forced``)."""
    global _latest
    expected = _latest.following if _latest is not None else None
    if expected is not None and expected.signatures == reading.signatures \
            and expected.family.outline.fits(reading):
        entry = expected
    else:
        entry = _find(reading, _latest.family.following if _latest is not None else None)
    if _latest is not None:
        _latest.following = entry
        _latest.family.following = entry.family
    _latest = entry
    if entry.program is None and entry.native \
            and (forced or ledger.buys(entry.rent, nodes, entry.family.pattern is not None)):
        reading.flat.clear()    # planning asks who refers to a node
        try:
            entry.program = _plan(entry, nodes)
        except Exception:
            if forced:
                raise
            entry.native = False
            _log.warning("a graph has no native program, and is interpreted: please report this",
                         exc_info=True)
        reading.read_operands()
    return entry.program


def _plan(entry: Entry, nodes: list[Node]) -> Program:
    family = entry.family
    plans = family.pattern.plans(entry.signatures) if family.pattern is not None else None
    if plans is None:
        family.pattern = Pattern(nodes, family.outline)
        family.arrangements.clear()
        plans = family.pattern.first
    program = Program(_arrangement(family, plans), entry.signatures, plans)
    dump(program, nodes, plans)
    return program


def _arrangement(family: Family, plans: Plans) -> Arrangement:
    assert family.pattern is not None
    known = family.arrangements
    found = next((x for x in known if x.is_of(plans)), None)
    if found is None:
        found = Arrangement(family.pattern, plans)
        del known[_ARRANGEMENTS - 1:]
    else:
        known.remove(found)
    known.insert(0, found)
    return found


def _find(reading: Reading, expected: Family | None) -> Entry:
    """The entry of a graph; most likely one of the family that is expected."""
    global _remembered
    if expected is None or not expected.outline.is_of(reading):
        outline = Outline(reading)
        expected = _families.setdefault(outline.key(), Family(outline))
    key = tuple(reading.signatures)
    entry = expected.entries.get(key)
    if entry is None:
        if _remembered > _LIMIT:
            clear()
            return _find(reading, None)
        _remembered += len(key)
        entry = expected.entries[key] = Entry(expected, reading)
    return entry


def clear() -> None:
    """Forget all programs."""
    global _latest, _remembered
    _families.clear()
    _latest = None
    _remembered = 0
