"""Copies that no cache holds until they are read: they are written past the caches, in whole lines.

A store into the caches reads its line first.
"""

from __future__ import annotations

from ..llvm.build import Function, vector
from ..llvm.machine import machine
from ..products.choosing import LAST_CACHE
from ..quantity import whole
from .squares import LINE

LEAST = 16 * LINE   # bytes of a run: the lines at its ends are written in parts


@whole
def goes_past(traffic: int, run: int) -> int:
    """Whether runs of so many bytes go past the caches: what is read and written fills the last one."""
    return int(machine().passes and traffic >= LAST_CACHE and run >= LEAST)


def write_lines(f: Function, to: str, source: str, first: str, end: str) -> None:
    """Copy lines, from byte ``first`` on, past the caches; the target begins at a line."""
    size = machine().vector
    kind = vector(size // 4, "i32")
    with f.loop(first, end, LINE) as i:
        for part in range(0, LINE, size):
            at = f.add(i, part)
            f.write_past(kind, f.read(kind, f.at(source, at, "i8"), 1), f.at(to, at, "i8"), size)


def settle(f: Function, past: str) -> None:
    """Let other threads see what has been written past the caches, if anything was (``past`` is not 0)."""
    if machine().passes:
        with f.when(f.compare("ne", past, 0)):
            f.settle()
