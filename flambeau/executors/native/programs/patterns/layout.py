"""Where the values of a program lie while it runs.

Note: places. A value that somebody outside the program holds, or that the interpreter reads or makes, is an
array of its own. All others lie in the arena, at an offset that a later value takes over once the last reader
has run. Values that are smaller than others were in the same places may lie where those did.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import le
from typing import Any

import numpy as np

ALIGN = 64


class Layout:
    """Where in the arena places of these sizes lie, and how much room they take together.

    ``places``: for each stage, what it needs room for, and whose room ends with it; ``sizes``: of what is
    needed, in order.
    """

    __slots__ = ("sizes", "offsets", "size", "_words")

    def __init__(self, places: Sequence[tuple[list[Any], list[Any]]], sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self.offsets: dict[Any, int] = {}
        shelf, offsets, each = Shelf(), self.offsets, iter(sizes)
        for needed, ending in places:
            for place in needed:
                offsets[place] = shelf.take(next(each))
            for place in ending:
                shelf.give(offsets[place])
        self.size = shelf.size
        self._words: dict[Any, Any] = {}

    def holds(self, sizes: Sequence[int]) -> bool:
        """Whether there is room for places of these sizes."""
        return all(map(le, sizes, self.sizes))

    def words(self, form: Any) -> Any:
        """The offsets to which the words of a skeleton that point into the arena point, except for shifts."""
        found = self._words.get(form)
        if found is None:
            offsets = np.array([self.offsets[place] for place in form.places], np.int64)
            found = self._words[form] = offsets[form.in_arena[:, 1]]
        return found


class Shelf:
    """Offsets in memory that is used, freed and used again: first fit, neighbours joined."""

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []  # (offset, size), by offset
        self._taken: dict[int, int] = {}

    def take(self, size: int) -> int:
        """The offset of ``size`` bytes that nobody uses."""
        size = -(-size // ALIGN) * ALIGN or ALIGN
        free, best, least = self._free, -1, 0
        for k, (_, room) in enumerate(free):
            if room >= size and (best < 0 or room < least):
                best, least = k, room
        if best >= 0:
            offset = free[best][0]
            if least > size:
                free[best] = offset + size, least - size
            else:
                del free[best]
        else:
            offset = self.size
            if free and sum(free[-1]) == offset:    # the last gap reaches the end: extend it
                offset = free.pop()[0]
            self.size = offset + size
        self._taken[offset] = size
        return offset

    def give(self, offset: int) -> None:
        """The bytes at an offset are used no more."""
        free, size = self._free, self._taken.pop(offset)
        k = bisect_left(free, (offset, 0))
        if k < len(free) and offset + size == free[k][0]:
            size += free.pop(k)[1]
        if k and sum(free[k - 1]) == offset:
            before, room = free[k - 1]
            free[k - 1] = before, room + size
        else:
            free.insert(k, (offset, size))
