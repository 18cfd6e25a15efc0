"""Sorting networks: many short rows at once, one in each lane of a vector.

A comparator puts the smaller of two elements into the first place, whatever they are, so a network of them
(Batcher, *Sorting networks and their applications*, 1968) has no branches, and a vector carries a row in each
lane. An element is its key above its place in the row: all are different, and equal keys keep their order.
Rows that are shorter than the network end with the largest number there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..llvm.build import Function, Module, vector
from ..llvm.compiling.machine import machine

SIZES = (8, 16, 32)
_LAST = (1 << 63) - 1
Write = Callable[[Function, list[str], str, str], None]
Again = Callable[[Function, list[str]], None]

_SIDES = 3      # pointers kept of a row: to its values, its places, its elements


def size_for(count: int) -> int:
    """The smallest network for rows of so many elements; 0 where none is large enough."""
    return next((size for size in SIZES if count <= size), 0)


def lanes() -> int:
    """How many rows are sorted at once."""
    return machine().vector // 8


def scratch_for(size: int) -> int:
    """Bytes of working memory."""
    return 8 * lanes() * (size + _SIDES + 1)


def comparators(size: int) -> Iterator[tuple[int, int]]:
    """The network's comparators in order: sorted runs of p are merged into runs of 2 p."""
    p = 1
    while p < size:
        k = p
        while k:
            for j in range(k % p, size - k, 2 * k):
                for i in range(min(k, size - j - k)):
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):
                        yield i + j, i + j + k
            k //= 2
        p *= 2


class Network:
    """The rows that wait in scratch memory until there is one for each lane.

    ``write(f, pointers, place, j)`` writes the j-th element in order, which was at ``place``; ``again(f,
    pointers)`` writes a row with equal ones. ``counts``: of all elements, of those that are written, and of
    those among which equal ones matter.
    """

    def __init__(self, module: Module, f: Function, size: int, counts: tuple[str, str, str],
                 write: Write, again: Again | None) -> None:
        self.f, self.size = f, size
        self.count, self.wanted, self.more = counts
        self.waiting = f.variable("i64", 0)
        self.sort = _define_sort(module, size, write, again)
        with f.loop(f.mul(self.count, lanes()), size * lanes()) as i:
            f.write("i64", _LAST, f.at(f.scratch, i, "i64"), 8)

    def add(self, pointers: list[str], key: Callable[[str], str]) -> None:
        """One row more: where it is written and read, and its keys, i32 in the order of unsigned ones."""
        f, lane = self.f, self.waiting.get()
        for k, pointer in enumerate(pointers):
            f.write("ptr", pointer, _side(f, f.scratch, self.size, k, lane), 8)
        with f.loop(0, self.count) as i:
            signed = f.emit(f"xor i32 {key(i)}, {-1 << 31}")
            high = f.emit(f"shl i64 {f.emit(f'zext i32 {signed} to i64')}, 32")
            f.write("i64", f.emit(f"or i64 {high}, {i}"),
                    f.at(f.scratch, f.add(f.mul(i, lanes()), lane), "i64"), 8)
        self.waiting.set(f.add(lane, 1))
        with f.when(f.compare("eq", self.waiting.get(), lanes())):
            self.finish()

    def finish(self) -> None:
        """Sort what waits."""
        f = self.f
        f.run(self.sort, f.words, f.scratch, self.waiting.get(), self.wanted, self.more)
        self.waiting.set(0)


def _side(f: Function, scratch: str, size: int, k: int, lane: str) -> str:
    return f.at(scratch, f.add(lane, (size + k) * lanes()), "i64")


def _define_sort(module: Module, size: int, write: Write, again: Again | None) -> Function:
    """``sort(words, scratch, rows, wanted, more)``."""
    kind, step = vector(lanes(), "i64"), 8 * lanes()
    with module.helper("network", [("ptr noalias readonly", "%words"), ("ptr noalias", "%scratch"),
                                   ("i64", "%rows"), ("i64", "%wanted"), ("i64", "%more")]) as f:
        f.attributes = "noinline #0"
        held = [f.read(kind, f.at("%scratch", i * lanes(), "i64"), step) for i in range(size)]
        for a, b in comparators(size):
            held[a], held[b] = [f.call(f"llvm.s{end}.v{lanes()}i64", kind, [kind] * 2, [held[a], held[b]])
                                for end in ("min", "max")]
        for i, x in enumerate(held):
            f.write(kind, x, f.at("%scratch", i * lanes(), "i64"), step)
        if again:
            nearest = _nearest(f, kind, held)
            f.write(kind, nearest, _side(f, "%scratch", size, _SIDES, "0"), step)
        with f.loop(0, "%rows") as lane:
            pointers = [f.read("ptr", _side(f, "%scratch", size, k, lane), 8) for k in range(_SIDES)]
            with f.loop(0, "%wanted") as j:
                x = f.read("i64", f.at("%scratch", f.add(f.mul(j, lanes()), lane), "i64"), 8)
                write(f, pointers, f.emit(f"and i64 {x}, {(1 << 32) - 1}"), j)
            if again:
                difference = f.read("i64", _side(f, "%scratch", size, _SIDES, lane), 8)
                with f.when(f.compare("ult", difference, 1 << 32)):
                    again(f, pointers)
    return f


def _nearest(f: Function, kind: str, held: list[str]) -> str:
    """In each lane the smallest exclusive or of neighbours among the first: equal keys leave only places."""
    nearest = f.splat(-1, lanes(), "i64")
    for i in range(1, len(held)):
        beyond = f.emit(f"sext i1 {f.compare('sle', '%more', i)} to i64")
        bits = f.emit(f"xor {kind} {held[i]}, {held[i - 1]}")
        bits = f.emit(f"or {kind} {bits}, {f.splat(beyond, lanes(), 'i64')}")
        nearest = f.call(f"llvm.umin.v{lanes()}i64", kind, [kind] * 2, [nearest, bits])
    return nearest
