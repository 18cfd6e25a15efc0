"""The native function that copies parts of padded arrays, which are never made: blocks of what a border would
be put around, and one value where the border would be.

It is told, in 64-bit words, of how many blocks there are, the extents of their three dimensions, where the
rows are, two tables and how many words a line of them has, which rows the blocks are for (null: one after the
other), of the padded arrays the extents, of what is inside the extents, how many elements come before it, the
steps between its outer and its middle elements and how many elements it spans, the value's bits, and which
bit of a line says that a dimension is read backwards. A line of the first table has a block's offset in the
padded array and those bits, behind two words; of the second one where the array inside begins, how many
elements it has, and an offset. It gives 0; or 1, where a block is not all within its array.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from operator import index
from typing import Any

from ..llvm.build import Function, Module
from ..llvm.compiling.code import kernel
from ..llvm.emitter import element
from ..movement.copying import define_run
from ..programs.runtime.objects import address_of

(COUNT, EXTENTS, ROWS, PLACES, ARRAYS, WIDTH, POSITIONS, PADDED, INSIDE, BEFORE, STEPS, SPAN, VALUE,
 BITS) = 0, 1, 4, 5, 6, 7, 8, 9, 12, 15, 18, 20, 21, 22
_WORDS = 25


class _Code:
    """What the loops over a block use."""

    def __init__(self, f: Function, size: int) -> None:
        self.f, self.size, self.kind = f, size, element(size)
        self.extents, self.padded, self.inside, self.before, self.bits = [
            [self.word(first + d) for d in range(3)] for first in (EXTENTS, PADDED, INSIDE, BEFORE, BITS)]
        self.steps = [self.word(STEPS + d) for d in range(2)]
        self.value = self.word(VALUE) if size == 8 else f.emit(f"trunc i64 {self.word(VALUE)} to {self.kind}")

    def word(self, k: int, kind: str = "i64", base: str = "%words") -> str:
        return self.f.read(kind, self.f.at(base, k, "i64"), 8)

    def refuse(self, condition: str) -> None:
        with self.f.when(condition):
            self.f.give(1)

    def begin(self, offset: str) -> list[str]:
        """Where in the padded array a block begins, by dimension; the function ends if that is too far."""
        f, (_, middle, inner) = self.f, self.padded
        self.refuse(f.compare("slt", offset, 0))
        rest = f.rem(offset, f.mul(middle, inner))
        found = [f.div(offset, f.mul(middle, inner)), f.div(rest, inner), f.rem(rest, inner)]
        for x, n, most in zip(found, self.extents, self.padded):
            self.refuse(f.compare("sgt", f.add(x, n), most))
        return found

    def fill(self, goal: str, first: str, last: str) -> None:
        with self.f.loop(first, last) as j:
            self.f.write(self.kind, self.value, self.f.at(goal, j, self.kind), 1)

    def line(self, run: Function, source: str, goal: str, from_: str, to: str, back: str) -> None:
        """Elements that lie together, some of which are in the border: the others from ``from_`` on."""
        f = self.f
        self.fill(goal, "0", from_)
        self.fill(goal, to, self.extents[2])
        with f.when(f.compare("sgt", to, from_)):
            count, goal = f.sub(to, from_), f.at(goal, from_, self.kind)
            with f.when(back), f.loop(0, count) as j:
                f.write(self.kind, f.read(self.kind, f.at(source, f.sub(0, j), self.kind), 1),
                        f.at(goal, j, self.kind), 1)
            with f.otherwise(back):
                f.run(run, goal, source, f.mul(count, self.size))


@kernel("bordered")
def _kernel(size: int) -> str:
    module = Module()
    run = define_run(module)
    with module.function("bordered", [("ptr", "%words")], "i64") as f:
        c = _Code(f, size)
        outer, middle, inner = c.extents
        positions = c.word(POSITIONS, "ptr")
        in_order = f.emit(f"icmp eq ptr {positions}, null")
        with f.loop(0, c.word(COUNT)) as i:
            place, array = [f.at(c.word(k, "ptr"), f.mul(i, c.word(WIDTH)), "i64") for k in (PLACES, ARRAYS)]
            offset = c.word(2, base=array)
            c.refuse(f.compare("slt", offset, 0))
            c.refuse(f.compare("sgt", f.add(offset, c.word(SPAN)), c.word(1, base=array)))
            values = f.at(c.word(0, "ptr", array), offset, c.kind)
            starts = [f.sub(x, b) for x, b in zip(c.begin(c.word(2, base=place)), c.before)]
            back = [f.compare("ne", f.emit(f"and i64 {c.word(3, base=place)}, {bit}"), 0) for bit in c.bits]
            first = f.least(f.most(f.sub(0, starts[2]), 0), inner)
            last = f.most(f.least(f.sub(c.inside[2], starts[2]), inner), first)
            from_ = f.choose(back[2], "i64", f.sub(inner, last), first)
            to = f.choose(back[2], "i64", f.sub(inner, first), last)
            begin = f.add(starts[2], f.choose(back[2], "i64", f.sub(last, 1), first))
            row = f.variable("i64", i)
            with f.otherwise(in_order):
                row.set(f.read("i64", f.at(positions, i, "i64"), 8))
            block = f.mul(f.mul(outer, middle), inner)
            goal = f.variable("ptr", f.at(c.word(ROWS, "ptr"), f.mul(row.get(), block), c.kind))
            with f.loop(0, outer) as a, f.loop(0, middle) as b:
                x, y = [f.add(start, f.choose(turned, "i64", f.sub(f.sub(n, 1), k), k))
                        for start, turned, n, k in zip(starts, back, c.extents, (a, b))]
                within = f.emit(f"and i1 {f.compare('ult', x, c.inside[0])}, "
                                f"{f.compare('ult', y, c.inside[1])}")
                at = f.add(f.add(f.mul(x, c.steps[0]), f.mul(y, c.steps[1])), begin)
                c.line(run, f.at(values, at, c.kind), goal.get(), f.choose(within, "i64", from_, inner),
                       f.choose(within, "i64", to, inner), back[2])
                goal.set(f.at(goal.get(), inner, c.kind))
        f.give(0)
    return module.text()


@cache
def copier(size: int) -> Callable[..., bool]:
    """What copies such blocks of elements of so many bytes, unless one is not all within its array."""
    call = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(index(_kernel(size)))
    words = (ctypes.c_int64 * _WORDS)()
    address = ctypes.addressof(words)

    def copy(rows: Any, positions: Any, places: Any, arrays: Any, extents: tuple[int, ...],
             border: tuple[int, ...], value: int) -> bool:
        words[:] = [len(places), *extents, address_of(rows), address_of(places), address_of(arrays),
                    places.strides[0] // 8, 0 if positions is None else address_of(positions), *border[:-3],
                    value, *border[-3:]]
        return not call(address)
    return copy
