"""The shared memory of a worker process (Note: segments)."""

from __future__ import annotations

import mmap
import os
import weakref
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

# Smaller buffers go through the pipe with the pickle.
SMALLEST = 4096
ALIGNMENT = 64
# Where there is no unnamed memory to share (macOS, Windows), everything goes through the pipe.
HAS_SEGMENTS = hasattr(os, "memfd_create")
# How many segments may wait to be sent for the first time: each keeps a file descriptor open.
_MOST_UNSENT = 32

Place = tuple[int, int, int]  # segment, where in it, how many bytes


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


class Segments:
    """The segments of a worker: free, lent to arrays in this process, or in use by the other one."""

    def __init__(self) -> None:
        self.maps: list[mmap.mmap] = []
        self.addresses: dict[int, int] = {}  # where segments begin, and which ones
        self.free: set[int] = set()
        self.uses: Counter[int] = Counter()  # by arrays here, and by messages that the receiver holds
        self.unsent: dict[int, int] = {}  # descriptors of segments that the receiver does not know

    def lend(self, count: int, dtype: Any) -> np.ndarray[Any, Any]:
        """An array of `count` elements, in a segment if that is worth it."""
        size = count * np.dtype(dtype).itemsize
        if not HAS_SEGMENTS or size < SMALLEST or len(self.unsent) >= _MOST_UNSENT:
            return np.empty(count, dtype)
        segment = self._take(size)
        whole = np.frombuffer(self.maps[segment], np.uint8)
        weakref.finalize(whole, self.release, (segment,)).atexit = False
        return whole[:size].view(dtype)

    def place(self, buffers: Sequence[memoryview]) -> list[Place]:
        """Where buffers are, in use once more: those in no segment are copied into one."""
        places: list[Any] = [self._find(buffer) for buffer in buffers]
        total = sum(_aligned(buffer.nbytes) for buffer, place in zip(buffers, places) if place is None)
        used = {place[0] for place in places if place is not None}
        self.uses.update(used)
        if not total:
            return places
        segment, start = self._take(total), 0
        target = np.frombuffer(self.maps[segment], np.uint8)
        for number, buffer in enumerate(buffers):
            if places[number] is None:
                target[start : start + buffer.nbytes] = np.frombuffer(buffer, np.uint8)
                places[number] = segment, start, buffer.nbytes
                start += _aligned(buffer.nbytes)
        return places

    def take_unsent(self, segments: Iterable[int]) -> dict[int, int]:
        """Of some segments, those that the receiver does not know, with their descriptors."""
        return {segment: self.unsent.pop(segment) for segment in segments if segment in self.unsent}

    def release(self, segments: Iterable[int]) -> None:
        """One use less of each: by an array here, or by the receiver."""
        for segment in segments:
            self.uses[segment] -= 1
            if not self.uses[segment]:
                self.free.add(segment)

    def _find(self, buffer: memoryview) -> Place | None:
        segment = self.addresses.get(_address(buffer))
        if segment is None or segment in self.free or buffer.nbytes > len(self.maps[segment]):
            return None
        return segment, 0, buffer.nbytes

    def _take(self, size: int) -> int:
        """A free segment that is large enough but not much too large, or a new one; it is in use."""
        fitting = [number for number in self.free if size <= len(self.maps[number]) <= 4 * size]
        if fitting:
            segment = min(fitting, key=lambda number: len(self.maps[number]))
            self.free.discard(segment)
        else:
            segment = self._make(-(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
        self.uses[segment] = 1
        return segment

    def _make(self, size: int) -> int:
        descriptor = os.memfd_create("flambeau-batch")
        os.ftruncate(descriptor, size)
        # All of it will be written: the pages are made at once, which is quicker than one by one.
        made = mmap.mmap(descriptor, size, mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0))
        segment = len(self.maps)
        self.maps.append(made)
        self.addresses[_address(made)] = segment
        self.unsent[segment] = descriptor
        return segment


def _address(buffer: Any) -> int:
    return int(np.frombuffer(buffer, np.uint8).__array_interface__["data"][0])


__all__ = ["HAS_SEGMENTS", "SMALLEST", "Place", "Segments"]
