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
from ..tiers import form_of
from .glances import kin_words
from .glances import words as at
from .glances.glance import Glance, entry, memory_of, none, python_table
from .glances.kin import Kin, fit_address
from .pieces import LARGE
from .runtime.objects import address_of, slot_of

_PLACES = 1 << 12
_KIN_PLACES = 1 << 10
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
        self._kin: dict[int, list[Kin]] = {}        # by their number, the first asked first
        self._by_address: dict[int, Kin] = {}
        self._by_forms: dict[tuple[int, ...], list[Kin]] = {}

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
        self._memory[row:row + 2] = _signed(number), address_of(memory)

    def entry(self, signatures: Sequence[Signature]) -> E:
        """Whose glance was asked last."""
        return self._entries[_number(signatures) & (_PLACES - 1)]

    def enter_kin(self, kin: Kin) -> None:
        """Graphs of any shapes are known; the latest ones are asked first."""
        if self._memory is None:
            self._begin()
        self._memory[at.BOOK_KIN_SIZE], self._memory[at.BOOK_FIT] = _KIN_PLACES, fit_address()
        self._kin.setdefault(kin.number, []).insert(0, kin)
        self._by_address[kin.address] = kin
        self._by_forms.setdefault(kin.forms, []).insert(0, kin)
        self._chain(kin.number)

    def kin_asked(self) -> tuple[Kin, int] | None:
        """The kin that was asked last, if it is for others to run, or has failed; and what it said."""
        if self._memory is None or not self._memory[at.BOOK_KIN]:
            return None
        return self._by_address[int(self._memory[at.BOOK_KIN])], int(self._memory[at.BOOK_SAID])

    def kin_of(self, pending: Sequence[Node]) -> Kin | None:
        """The kin that pending nodes are, made ready for them."""
        if not self._by_forms:
            return None
        alike = self._by_forms.get(tuple(map(form_of, pending)), ())
        return next((kin for kin in alike if kin.fits(pending)), None)

    def drop_kin(self, dropped: Sequence[Kin]) -> None:
        """Graphs are forgotten."""
        for kin in dropped:
            del self._by_address[kin.address]
            self._by_forms[kin.forms].remove(kin)
            self._kin[kin.number].remove(kin)
            self._chain(kin.number)

    def _chain(self, number: int) -> None:
        """Let kin of a number, which stand at one place, be found one after the other."""
        chain = self._kin[number]
        for kin, following in zip(chain, [*chain[1:], None]):
            kin.memory[kin_words.NEXT] = 0 if following is None else following.address
        row = at.BOOK_PLACES + 2 * (_PLACES + (number & (_KIN_PLACES - 1)))
        if chain:
            self._memory[row:row + 2] = _signed(number), chain[0].address
        elif self._memory[row] == _signed(number):
            self._memory[row:row + 2] = 0
        if not chain:
            del self._kin[number]

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
        self._kin.clear()
        self._by_address.clear()
        self._by_forms.clear()
        if self._memory is not None:
            self._memory[at.BOOK_PLACES:] = 0
            self._memory[at.BOOK_KIN] = 0

    def _begin(self) -> None:
        self._memory = np.zeros(at.BOOK_PLACES + 2 * (_PLACES + _KIN_PLACES), np.int64)
        self._memory[at.BOOK_PYTHON] = address_of(python_table())
        self._memory[at.BOOK_SIZE] = _PLACES
        self._memory[at.BOOK_FORM_AT] = slot_of(Signature, "form")
        self.look_up = entry("look_up").of(self._memory)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


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
