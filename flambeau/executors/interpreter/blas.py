"""How many threads NumPy's BLAS takes for a product.

Note: waiting threads. After a product the threads of OpenBLAS, the library in NumPy's wheels, wait for the
next one without rest, for a tenth of a second; a native program that follows shares the cores with them, and
takes twice as long. So where native programs will follow, products of moderate size are left to one thread.
A graph with larger ones is hardly interpreted: it gets its program at once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from numpy.linalg import _umath_linalg

PARALLEL = 200_000         # multiply-adds: below, BLAS takes one thread anyway
MODERATE = 400_000_000      # multiply-adds: ten milliseconds of one thread
SMALL = 100_000_000         # a few milliseconds of one thread

SPELLINGS = (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", ""))  # of OpenBLAS's own functions

_moderate = 0
_Threads = tuple[Callable[[], int], Callable[[int], Any]]


def rest_between_products() -> None:
    """From now on, leave products of moderate size to one thread."""
    global _moderate
    _moderate = MODERATE


def few_threads(work: int) -> int:
    """Leave a product of so many multiply-adds to one thread, if it should be; for ``restore``."""
    if not PARALLEL <= work < _moderate:
        return 0
    found = _threads()
    if found is None:
        return 0
    get, put = found
    before = get()
    if before > 1:
        put(1)
    return before


def one_thread(work: int) -> int:
    """Leave LAPACK's work of so many multiply-adds to one thread, unless it is large; for ``restore``.

    Its routines wake the other threads for matrices that one thread is done with before they come.
    """
    found = _threads() if work < SMALL else None
    if found is None:
        return 0
    before = found[0]()
    if before > 1:
        found[1](1)
    return before


def restore(before: int) -> None:
    """Let BLAS take as many threads as before."""
    if before > 1:
        found = _threads()
        assert found is not None
        found[1](before)


@cache
def _threads() -> _Threads | None:
    """What gets and sets OpenBLAS's number of threads; None where NumPy is linked with another BLAS."""
    try:
        library = ctypes.CDLL(_umath_linalg.__file__)   # names of the libraries it needs are found through it
    except OSError:
        return None
    for start, end in SPELLINGS:
        get = getattr(library, f"{start}openblas_get_num_threads{end}", None)
        put = getattr(library, f"{start}openblas_set_num_threads{end}", None)
        if get is not None and put is not None:
            get.argtypes, get.restype = [], ctypes.c_int
            put.argtypes, put.restype = [ctypes.c_int], None
            return get, put
    return None
