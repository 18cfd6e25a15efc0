"""Memory that was freed stays with the process, and some is there before it is asked for.

Note: pages ahead. To find a page of memory takes as long as to compute some hundred elements, and the first
training step finds thousands: of gradients, states and activations. A program that makes an optimizer will
take them: so a thread has the system find as many as its parameters let expect, while the program goes on.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import threading
from typing import Any

KEEP = os.environ.get("FLAMBEAU_ARENA", "1") not in ("", "0")
MOST_KEPT = 1 << 29     # bytes of freed memory that stay
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_FEW, _MANY = 1 << 20, 6 << 20      # bytes: fewer are not worth a thread, more are found when they are needed
_POPULATE_WRITE = 23    # advice to Linux


@functools.cache
def keep_freed_memory() -> None:
    """Ask the C library (glibc) to keep what is freed, so that later arrays reuse the pages of earlier ones.

    Fresh pages cost more than the arithmetic of a small operator.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and KEEP:
        mallopt(_MMAP_THRESHOLD, 32 << 20)  # the largest that it takes
        mallopt(_TRIM_THRESHOLD, MOST_KEPT)


def touch_ahead(size: int) -> None:
    """Let a thread have the system find pages for about so many bytes (Note: pages ahead)."""
    library: Any = ctypes.CDLL(None)
    if size < _FEW or not KEEP or not hasattr(library, "mallopt"):
        return
    keep_freed_memory()
    size = min(size, _MANY)
    library.malloc.restype = ctypes.c_void_p
    given = library.malloc(ctypes.c_size_t(size))
    if given is None:
        return
    # The pages stay those of the next arrays that are made, even if one is written to at this moment.
    library.free(ctypes.c_void_p(given))
    first = given + -given % mmap.PAGESIZE
    arguments = ctypes.c_void_p(first), ctypes.c_size_t(size - 2 * mmap.PAGESIZE), _POPULATE_WRITE
    threading.Thread(target=library.madvise, args=arguments, daemon=True).start()
