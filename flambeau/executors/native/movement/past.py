"""Copies that no cache holds until they are read: they are written past the caches, in whole lines.

A store into the caches reads its line first.
"""

from __future__ import annotations

from ..llvm.build import Function, vector
from ..llvm.compiling.machine import LAST_CACHE, LINE, machine
from ..quantity import whole

LEAST = 16 * LINE   # bytes of a run: the lines at its ends are written in parts


@whole
def copy_goes_past(size: int, run: int) -> bool:
    """Whether a result of ``size`` bytes, which is copied by runs, goes past the caches.

    Half of that would still be there for a reader right behind, if not much else is read and written.
    """
    return machine().passes and size >= LAST_CACHE and run >= LEAST


def write_lines(f: Function, to: str, source: str, first: str, end: str) -> None:
    """Copy lines, from byte ``first`` on, past the caches; the target begins at a line."""
    size = machine().vector
    kind = vector(size // 4, "i32")
    with f.loop(first, end, LINE) as i:
        for part in range(0, LINE, size):
            at = f.add(i, part)
            f.write_past(kind, f.read(kind, f.at(source, at, "i8"), 1), f.at(to, at, "i8"), size)
