"""Memory that was freed stays with the process."""

from __future__ import annotations

import ctypes
import functools
import os

KEEP = os.environ.get("FLAMBEAU_ARENA", "1") not in ("", "0")
MOST_KEPT = 1 << 29
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


@functools.cache
def keep_freed_memory() -> None:
    """Ask the C library (glibc) to keep what is freed, so that later arrays reuse the pages of earlier ones.

    Fresh pages cost more than the arithmetic of a small operator.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and KEEP:
        mallopt(_MMAP_THRESHOLD, 32 << 20)  # the largest that it takes
        mallopt(_TRIM_THRESHOLD, MOST_KEPT)
