"""Reading ahead: while tiles are computed, the rows of A that are packed next come into the second cache.

Packing is bound by memory, the tiles by arithmetic: one after the other, each leaves idle what the other
needs. So each step of a tile also asks for one line of the block that comes next. The walk over its lines
goes on from tile to tile; before a tile it is read from ``state``, five words, and written there after it.
Asking for memory never fails and changes no result.
"""

from __future__ import annotations

from ..llvm.build import Function, Value
from ..llvm.compiling.machine import LINE

STATE = 5       # words: ADDRESS, LEFT in this run, LINES of a run, JUMP to the next run, LAST address
SECOND_CACHE = 2


def begin(f: Function, state: str, first: str, runs: Value, size: Value, stride: Value) -> None:
    """Start a walk over ``runs`` pieces of memory of ``size`` bytes, ``stride`` bytes apart."""
    start = f.emit(f"ptrtoint ptr {first} to i64")
    inside = f.emit(f"and i64 {start}, {LINE - 1}")
    lines = f.emit(f"lshr i64 {f.add(f.add(inside, size), LINE - 1)}, 6")
    jump = f.sub(stride, f.mul(f.sub(lines, 1), LINE))
    last = f.add(f.add(start, f.mul(f.sub(runs, 1), stride)), f.sub(size, 1))
    for k, value in enumerate((start, lines, lines, jump, last)):
        f.write("i64", value, f.at(state, k, "i64"), 8)


class Walk:
    """A walk over lines, within one tile: into which cache they come, and whether to be overwritten."""

    def __init__(self, f: Function, state: str, cache: int = SECOND_CACHE, write: bool = False) -> None:
        self.f, self.state, self.cache, self.write = f, state, cache, write
        address, left, self.lines, self.jump, self.last = [
            f.read("i64", f.at(state, k, "i64"), 8) for k in range(STATE)]
        self.address, self.left = f.variable("i64", address), f.variable("i64", left)

    def step(self) -> None:
        """Ask for a line."""
        f = self.f
        at = self.address.get()
        f.prefetch(f.emit(f"inttoptr i64 {at} to ptr"), self.cache, self.write)
        left = f.sub(self.left.get(), 1)
        over = f.compare("eq", left, 0)
        self.left.set(f.choose(over, "i64", self.lines, left))
        self.address.set(f.least(f.add(at, f.choose(over, "i64", self.jump, LINE)), self.last))

    def save(self) -> None:
        """Let the next tile go on."""
        f = self.f
        f.write("i64", self.address.get(), f.at(self.state, 0, "i64"), 8)
        f.write("i64", self.left.get(), f.at(self.state, 1, "i64"), 8)


class Beyond:
    """Rows ``distance`` bytes behind those that some tiles read, which are read next: each asks for a line.

    ``size``: bytes of a row. The first tile asks for the first line of each row, the next one for the second.
    """

    def __init__(self, f: Function, distance: str, size: int) -> None:
        self.f, self.distance, self.size = f, distance, size
        self.line = f.variable("i64", 0)

    def next(self) -> str:
        """How many bytes behind its rows the next tile's lines lie; 0: all have been asked for."""
        f, line = self.f, self.line.get()
        self.line.set(f.add(line, LINE))
        return f.choose(f.compare("slt", line, self.size), "i64", f.add(self.distance, line), 0)
