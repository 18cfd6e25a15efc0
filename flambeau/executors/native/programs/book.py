"""Short graphs that are known, found without a key.

Note: the book. Where a program looks after every operator or two, even the key of ``replays`` takes longer
than the kernels. So the glances of short graphs also stand in a table that native code reads: the number of a
graph's signatures, wherever its operands lie (Note: moving operands), leads to one place, and the glance
there sees for itself whether it is that graph. A place has room for one: who comes later takes it, and the
other graph is found by its key again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ....graph.node import Node, Signature
from .glances import words as at
from .glances.glance import Glance, entry, memory_of, none, python_table
from .pieces import LARGE
from .runtime.objects import address_of

_PLACES = 1 << 12
_WORD = (1 << 64) - 1

E = TypeVar("E")


class Book(Generic[E]):
    """Entries by their signatures, in the order of recording.

    ``look_up``: lets go of pending nodes that nobody needs, and asks the glance of the others; how many were
    computed, or what the glance says; None where none is found.
    """

    def __init__(self) -> None:
        self._entries: dict[int, E] = {}
        self._places: dict[int, int] = {}   # by the entry's identity
        self._memory: Any = None
        self.look_up: Glance = _nothing

    def enter(self, signatures: Sequence[Signature], entry: E, glance: Glance) -> None:
        """A graph has a glance. It stands in the book if it is short, and nothing but native code."""
        if self._memory is None and glance is not none:
            self._begin()
        memory = memory_of(glance)
        if memory is None or len(signatures) >= LARGE:
            return
        number = _number(signatures)
        place = number & (_PLACES - 1)
        if place in self._entries:
            del self._places[id(self._entries[place])]
        self._entries[place], self._places[id(entry)] = entry, place
        row = at.BOOK_PLACES + 2 * place
        self._memory[row:row + 2] = np.array([number], np.uint64).view(np.int64)[0], address_of(memory)

    def entry(self, signatures: Sequence[Signature]) -> E:
        """Whose glance was asked last."""
        return self._entries[_number(signatures) & (_PLACES - 1)]

    def drop(self, entry: E) -> None:
        """A graph is forgotten."""
        place = self._places.pop(id(entry), None)
        if place is not None:
            row = at.BOOK_PLACES + 2 * place
            self._memory[row:row + 2] = 0
            del self._entries[place]

    def clear(self) -> None:
        """Forget all graphs."""
        self._entries.clear()
        self._places.clear()
        if self._memory is not None:
            self._memory[at.BOOK_PLACES:] = 0

    def _begin(self) -> None:
        self._memory = np.zeros(at.BOOK_PLACES + 2 * _PLACES, np.int64)
        self._memory[at.BOOK_PYTHON] = address_of(python_table())
        self._memory[at.BOOK_SIZE] = _PLACES
        self.look_up = entry("look_up").of(self._memory)


def was_used(glance: Glance) -> bool:
    """Whether the book found this glance since this was last asked."""
    memory = memory_of(glance)
    if memory is None or not memory[at.USED]:
        return False
    memory[at.USED] = 0
    return True


def _nothing(pending: list[Node]) -> None:
    """What an empty book says."""


def _number(signatures: Sequence[Signature]) -> int:
    """What native code finds a graph by."""
    number = 0
    for signature in signatures:
        signature = signature.settled[0] if signature.settled is not None else signature
        mixed = (number + id(signature)) * at.MIXER & _WORD
        number = mixed ^ (mixed >> 32)
    return number
