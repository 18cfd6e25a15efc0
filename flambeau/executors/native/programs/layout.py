"""Where the values of a program lie while it runs.

Note: places. A value that somebody outside the program holds, or that the interpreter reads or makes, is an
array of its own. All others lie in the arena, at an offset that a later value takes over once the last reader
has run.
"""

from __future__ import annotations

from bisect import insort

ALIGN = 64


class Shelf:
    """Offsets in memory that is used, freed and used again: first fit, neighbours joined."""

    def __init__(self) -> None:
        self.size = 0
        self._free: list[tuple[int, int]] = []  # (offset, size), by offset
        self._taken: dict[int, int] = {}

    def take(self, size: int) -> int:
        """The offset of ``size`` bytes that nobody uses."""
        size = max(-(-size // ALIGN) * ALIGN, ALIGN)
        best = -1
        for k, (_, room) in enumerate(self._free):
            if room >= size and (best < 0 or room < self._free[best][1]):
                best = k
        if best >= 0:
            offset, room = self._free.pop(best)
            if room > size:
                insort(self._free, (offset + size, room - size))
        else:
            offset = self.size
            if self._free and sum(self._free[-1]) == self.size:  # the last gap reaches the end: extend it
                offset = self._free.pop()[0]
            self.size = offset + size
        self._taken[offset] = size
        return offset

    def give(self, offset: int) -> None:
        """The bytes at an offset are used no more."""
        size = self._taken.pop(offset)
        k = 0
        while k < len(self._free) and self._free[k][0] < offset:
            k += 1
        if k < len(self._free) and offset + size == self._free[k][0]:
            size += self._free.pop(k)[1]
        if k and sum(self._free[k - 1]) == offset:
            before, room = self._free.pop(k - 1)
            offset, size = before, room + size
        insort(self._free, (offset, size))
