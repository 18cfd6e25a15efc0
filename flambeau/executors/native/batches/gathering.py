"""The native function behind ``gather``: blocks of many arrays, copied into rows of another in one call.

It is told, in 64-bit words, of how many blocks there are, the extents of their three dimensions, where the
rows are, a table of the blocks and how many words a line of it has (none: there is one line for all), the
same of their offsets, which rows the blocks are for (null: one after the other), and a table of the ways in
which blocks are read. A block's line: where its array begins and how many elements it has, its offset, and
the number of its way. A way: the steps between elements, and how far the element that is read first, and the
last one in memory, are from the offset. It gives 0; or 1, where a block is not all within its array.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from operator import index
from typing import Any

import numpy as np

from ..llvm.build import Module
from ..llvm.compiling.code import is_noted, kernel
from ..llvm.emitter import element
from ..movement.copying import define_run
from ..programs.runtime.objects import address_of, check_array_layout

COUNT, EXTENTS, ROWS, TABLE, WIDTH, OFFSETS, OFFSET_WIDTH, POSITIONS, WAYS = 0, 1, 4, 5, 6, 7, 8, 9, 10
WAY_WORDS = 5


@kernel("gather")
def _kernel(size: int) -> str:
    kind = element(size)
    module = Module()
    run = define_run(module)
    with module.function("gather", [("ptr", "%words")], "i64") as f:
        def word(k: int, kind: str = "i64", base: str = "%words") -> str:
            return f.read(kind, f.at(base, k, "i64"), 8)

        outer, middle, inner = [word(EXTENTS + d) for d in range(3)]
        length = f.mul(inner, size)
        block, to = f.mul(f.mul(outer, middle), length), word(ROWS, "ptr")
        positions = word(POSITIONS, "ptr")
        in_order = f.emit(f"icmp eq ptr {positions}, null")
        with f.loop(0, word(COUNT)) as i:
            line = f.at(word(TABLE, "ptr"), f.mul(i, word(WIDTH)), "i64")
            way = f.at(word(WAYS, "ptr"), f.mul(word(3, base=line), WAY_WORDS), "i64")
            steps = [f.mul(word(d, base=way), size) for d in range(3)]
            begin = f.read("i64", f.at(word(OFFSETS, "ptr"), f.mul(i, word(OFFSET_WIDTH)), "i64"), 8)
            too_late = f.compare("sge", f.add(begin, word(4, base=way)), word(1, base=line))
            with f.when(f.emit(f"or i1 {f.compare('slt', begin, 0)}, {too_late}")):
                f.give(1)
            source = f.at(word(0, "ptr", line), f.mul(f.add(begin, word(3, base=way)), size), "i8")
            row = f.variable("i64", i)
            with f.otherwise(in_order):
                row.set(f.read("i64", f.at(positions, i, "i64"), 8))
            target = f.variable("ptr", f.at(to, f.mul(row.get(), block), "i8"))
            together, backwards = f.compare("eq", steps[2], size), f.compare("eq", steps[2], -size)
            with f.loop(0, outer) as a, f.loop(0, middle) as b:
                start = f.at(source, f.add(f.mul(a, steps[0]), f.mul(b, steps[1])), "i8")
                goal = target.get()
                with f.when(together):
                    f.run(run, goal, start, length)
                with f.otherwise(together):
                    for condition, step in ((f.when, str(-size)), (f.otherwise, steps[2])):
                        with condition(backwards), f.loop(0, inner) as j:
                            x = f.read(kind, f.at(start, f.mul(j, step), "i8"), 1)
                            f.write(kind, x, f.at(goal, j, kind), 1)
                target.set(f.at(goal, length, "i8"))
        f.give(0)
    return module.text()


def is_kept(size: int) -> bool:
    """Whether the code for elements of so many bytes is on disk."""
    return is_noted(_kernel, size)


@cache
def gatherer(size: int) -> Callable[..., None]:
    """What copies blocks of elements of so many bytes."""
    check_array_layout()
    call = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(index(_kernel(size)))
    words = (ctypes.c_int64 * (WAYS + 1))()
    address = ctypes.addressof(words)

    def gather(rows: Any, table: Any, offsets: Any, positions: Any, extents: tuple[int, ...],
               ways: Any) -> None:
        lines, width = address_of(table), table.strides[0] // 8
        if offsets is None:
            places = len(table), *extents, address_of(rows), lines, width, lines + 16, width
        else:
            own = np.asarray(offsets, np.int64)
            places = len(own), *extents, address_of(rows), lines, 0, address_of(own), 1
        words[:] = [*places, 0 if positions is None else address_of(positions), address_of(ways)]
        if call(address):
            raise ValueError("a part of an array that is beyond its end")
    return gather
