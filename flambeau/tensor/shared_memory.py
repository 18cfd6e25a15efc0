"""Memory that several processes share: ``share_memory_``.

Note: shared memory. A shared storage is an exposed one for ever (Note: exposed memory): another process may
write at any time, so who reads gets the value at that moment, and what is written is there at once. A forked
process has the same mapping; to others ``multiprocessing`` sends the file descriptor in place of the values.
"""

from __future__ import annotations

import mmap
import os
import tempfile

import numpy as np

from .. import dtypes
from ..devices import META
from ..engine import value_of
from ..graph.geometry import contiguous
from ..graph.node import constant
from ..graph.storage import Storage


class SharedMemory:
    """A file without a name, mapped into memory. ``descriptor`` is taken over; None: a new file."""

    __slots__ = ("size", "descriptor", "bytes")

    def __init__(self, size: int, descriptor: int | None = None) -> None:
        self.size = size
        self.descriptor = _new_file(size) if descriptor is None else descriptor
        mapped = mmap.mmap(self.descriptor, max(size, 1))
        self.bytes = np.frombuffer(mapped, np.uint8, size)

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)


def _new_file(size: int) -> int:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("flambeau")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, max(size, 1))
    return descriptor


def is_shared(storage: Storage) -> bool:
    """Whether other processes share the memory of a storage."""
    return isinstance(storage.owner, SharedMemory)


def share(storage: Storage) -> None:
    """Move a storage's value to memory that processes share; one that is there stays."""
    if is_shared(storage) or storage.geometry.device is META:
        return
    value = value_of(storage, "share_memory_")
    memory = SharedMemory(value.nbytes)
    memory.bytes[:] = value.view(np.uint8)
    _place(storage, memory)


def received(handle: int, size: int, dtype: dtypes.dtype, count: int) -> Storage:
    """The storage of ``count`` elements whose memory another process sent the descriptor of."""
    storage = Storage(constant(np.zeros(0, dtype.numpy)), contiguous((count,), dtype))
    _place(storage, SharedMemory(size, handle))
    return storage


def _place(storage: Storage, memory: SharedMemory) -> None:
    storage.node = constant(memory.bytes.view(storage.geometry.dtype.numpy))
    storage.exposed, storage.owner = True, memory
