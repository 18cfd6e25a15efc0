"""Memory that stays from step to step.

Note: the arena. Fresh large buffers cost page faults, and small pages cost address look-ups, as much as the
arithmetic that is done in them. Values that only kernels of one program see lie in one block that all
programs use in turn, in huge pages where the system grants them. Much that none of the last programs needed
is given back. ``FLAMBEAU_ARENA=0`` gives the block back after each program.

Note: small pages. A huge page is cleared whole when its first byte is written, and comes from memory that the
system has not used for long: where the system is a guest, its host may have to find that memory first, which
takes milliseconds. What processors remember of addresses covers some megabytes in small pages as well. So the
arena begins in those, and small programs have no others.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from typing import Any

import numpy as np

from ....freed import KEEP

_HUGE = 2 << 20             # bytes of a huge page
_SMALL_PAGES = 8 << 20      # bytes (Note: small pages)
_SPARE = 4                  # times as much is taken as is asked for,
_LEAST = 64 << 20           # and as many bytes at least; fewer are not worth giving back
_LAST = 32                  # programs, after which it is considered what they did not need


class Block:
    """Zeroed memory of its own, freed with this object."""

    __slots__ = ("size", "address", "bytes", "_memory", "_shift")

    def __init__(self, size: int) -> None:
        large = size >= _HUGE
        self.size = size
        room = size + (_HUGE if large else 64)
        # Private: a forked process must not write into its parent's values.
        memory: Any = mmap.mmap(-1, max(room, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        whole = np.frombuffer(memory, np.uint8)
        start = whole.__array_interface__["data"][0]
        shift = -start % (_HUGE if large else 64)
        if size > _SMALL_PAGES and hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # the kernel has none
                memory.madvise(mmap.MADV_HUGEPAGE, shift + _SMALL_PAGES)
        self.address = start + shift
        self.bytes = whole[shift:shift + size]
        self._memory, self._shift = memory, shift

    def give_back(self, first: int) -> None:
        """Give the system the pages from byte ``first`` on, which are zeroed when they are needed again."""
        at = self._shift + first
        at += -at % mmap.PAGESIZE
        if hasattr(mmap, "MADV_DONTNEED"):
            self._memory.madvise(mmap.MADV_DONTNEED, at, len(self._memory) - at)


class Arena:
    """The block in which programs keep their intermediate values; it grows, and then lies elsewhere.

    Address space costs nothing until it is written to: more of it is taken than is asked for, so that graphs
    of growing shapes do not touch all pages anew each time. ``cell_address``: where native code reads the
    block's address; 0 while there is none.
    """

    def __init__(self) -> None:
        self.block: Block | None = None
        self._written = 0   # bytes, at most
        self._needed = 0    # by the last programs,
        self._programs = 0  # so many of them
        self._cell = ctypes.c_int64()
        self.cell_address = ctypes.addressof(self._cell)

    def reserve(self, size: int) -> Block:
        """A block of at least ``size`` bytes, the same one as before where that is large enough."""
        if self.block is None or self.block.size < size:
            self._drop()    # freed before the larger one is taken
            try:
                self.block = Block(max(_SPARE * size, _LEAST))
            except (OSError, MemoryError):  # a limit on address space
                self.block = Block(size)
            self._cell.value = self.block.address
        self._programs += 1
        if size > self._needed:
            self._needed = size
        if self._programs == _LAST:
            self._shrink(self.block)
        return self.block

    def _shrink(self, block: Block) -> None:
        """Give back what the last programs did not need, if it is much."""
        self._written = max(self._written, self._needed)
        if self._written - self._needed > _LEAST:
            block.give_back(self._needed)
            self._written = self._needed
        self._needed = self._programs = 0

    def rest(self) -> None:
        """No program runs: give the memory back, unless it is to stay."""
        if not KEEP:
            self._drop()

    def _drop(self) -> None:
        self.block = None
        self._written = self._needed = self._programs = 0
        self._cell.value = 0


arena = Arena()
