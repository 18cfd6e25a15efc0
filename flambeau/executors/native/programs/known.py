"""The programs of graphs that come back."""

from __future__ import annotations

import logging
from typing import Any

from ....graph.node import Node
from ..tiers import Rent, ledger
from .dump import dump
from .outline import Outline, Reading
from .planning import Draft
from .program import Program

_LIMIT = 100_000    # nodes in all graphs that are remembered
_log = logging.getLogger("flambeau")


class Entry:
    """A graph that was seen: its outline, its program once it has one, and the entry that came after it."""

    __slots__ = ("outline", "program", "native", "rent", "following")

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.program: Program | None = None
        self.native = True
        self.rent = Rent()
        self.following: Entry | None = None


_entries: dict[tuple[Any, ...], Entry] = {}
_latest: Entry | None = None
_remembered = 0


def program_of(nodes: list[Node], reading: Reading, forced: bool) -> Program | None:
    """The program of a graph (last node first); None while it is to be interpreted (unless ``forced``)."""
    global _latest
    entry = _latest.following if _latest is not None else None
    if entry is None or not entry.outline.fits(reading):
        entry = _find(reading)
    if _latest is not None:
        _latest.following = entry
    _latest = entry
    if entry.program is None and entry.native and (forced or ledger.buys(entry.rent, nodes)):
        reading.flat.clear()    # planning asks who refers to a node
        try:
            draft = Draft(nodes, entry.outline)
            entry.program = Program(nodes, draft)
            dump(draft)
        except Exception:
            if forced:
                raise
            entry.native = False
            _log.warning("a graph has no native program, and is interpreted: please report this",
                         exc_info=True)
        reading.read_operands()
    return entry.program


def _find(reading: Reading) -> Entry:
    global _remembered
    outline = Outline(reading)
    key = outline.key()
    entry = _entries.get(key)
    if entry is None:
        if _remembered > _LIMIT:
            clear()
        _remembered += len(outline.signatures)
        entry = _entries[key] = Entry(outline)
    return entry


def clear() -> None:
    """Forget all programs."""
    global _latest, _remembered
    _entries.clear()
    _latest = None
    _remembered = 0
