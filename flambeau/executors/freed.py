"""Memory that was freed stays with the process."""

from __future__ import annotations

import ctypes
import functools
import os
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

KEEP = os.environ.get("FLAMBEAU_ARENA", "1") not in ("", "0")
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
_THRESHOLD = 32 << 20   # bytes: the largest that the C library takes
_LARGEST = 256 << 20    # what is larger goes back to the system at once,
_MOST = 1 << 30         # and so does what would make more than this
_MAPPINGS = 65536       # the C library's own limit


@functools.cache
def keep_freed_memory() -> None:
    """Ask the C library (glibc) to keep what is freed, so that later arrays reuse the pages of earlier ones.

    Fresh pages cost more than the arithmetic of a small operator.
    """
    mallopt = _mallopt()
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _THRESHOLD)
        mallopt(_TRIM_THRESHOLD, 1 << 29)


@functools.cache
def _mallopt() -> Any:
    return getattr(ctypes.CDLL(None), "mallopt", None) if KEEP else None


_kept: dict[int, tuple[Any, int]] = {}  # arrays that ``unmapped`` made, while they live, and their sizes


def _forget(reference: Any) -> None:
    _kept.pop(id(reference), None)


def are_mapped(sizes: Sequence[int]) -> bool:
    """Whether one of so many bytes would be mapped, and given back when freed, though it had better stay."""
    return any(_THRESHOLD < size <= _LARGEST for size in sizes) and _mallopt() is not None


def unmapped(extents: Sequence[int], dtypes: Sequence[Any]) -> list[Any]:
    """New arrays (``are_mapped``) in memory that stays with the process: no pages are faulted in each time.

    Only a few at a time: of many that were kept, the C library would hold the memory for ever.
    """
    sizes = [n * np.dtype(dtype).itemsize for n, dtype in zip(extents, dtypes)]
    if sum([size for _, size in list(_kept.values())], sum(sizes)) > _MOST:
        return [*map(np.empty, extents, dtypes)]
    mallopt = _mallopt()
    mallopt(_MMAP_MAX, 0)
    try:
        found = [*map(np.empty, extents, dtypes)]
    finally:
        mallopt(_MMAP_MAX, _MAPPINGS)
    for array, size in zip(found, sizes):
        if size > _THRESHOLD:
            reference = weakref.ref(array, _forget)
            _kept[id(reference)] = reference, size
    return found
