"""Graphs that were seen: each an entry, those that differ in shapes alone a family (Note: known graphs)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from ....graph.node import Signature
from ..tiers import Rent, Returns
from .execution.joint import Joints
from .execution.program import Program
from .glances.glance import Ahead, Glance
from .glances.kin import Kin
from .patterns.arrangement import Arrangement
from .patterns.outline import Outline
from .patterns.pattern import Pattern


class Family:
    """Graphs that differ in shapes alone: what they share, and each of them by its signatures.

    ``following``: the family of the graph that came after the latest one of them. ``moves``: whether some
    differ in where their operands lie alone (Note: moving operands). ``passed``: whether one ran without an
    entry of its own since it was last considered whether to forget the family's. ``spent``: what they cost
    before they had an outline.
    """

    __slots__ = ("key", "outline", "pattern", "arrangements", "joints", "entries", "rent", "returns",
                 "following", "moves", "placeless", "passer", "passed", "kin", "__weakref__")

    def __init__(self, key: tuple[Any, ...], outline: Outline, spent: float) -> None:
        self.key = key
        self.outline = outline
        self.pattern: Pattern | None = None
        self.arrangements: list[Arrangement] = []   # the one used last comes first
        self.joints = Joints()
        self.entries: dict[tuple[Any, ...], Entry] = {}
        self.rent = Rent(spent)
        self.returns = Returns()
        self.following: Callable[[], Family | None] = _nothing
        self.moves = False
        # What graphs were except for the places of their operands, once one read a part of a leaf.
        self.placeless: set[int] | None = None
        self.passer = Entry(self, [])   # stands for shapes without an entry (Note: passing programs)
        self.passed = False
        self.kin: list[Kin] = []


class Entry:
    """A graph that was seen: its signatures, its program once it has one, and what came after it.

    ``used``: since it was last considered whether to forget it. ``glance``: made when it is found again
    (Note: glances). ``ahead``: made when it is begun first; False if it cannot be.
    """

    __slots__ = ("family", "signatures", "program", "native", "rent", "following", "used", "glance",
                 "ahead", "__weakref__")

    def __init__(self, family: Family, signatures: list[Signature]) -> None:
        self.family = family
        self.signatures = signatures
        self.program: Program | None = None
        self.native = True
        self.rent = Rent()
        self.following: Callable[[], Entry | None] = _nothing
        self.used = False
        self.glance: Glance | None = None
        self.ahead: Ahead | Literal[False] | None = None


def _nothing() -> None:
    return None
