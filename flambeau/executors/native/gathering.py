"""The native function behind ``gather``: blocks of many arrays, copied into rows of another in one call.

It is told, in 64-bit words, of how many blocks there are, the extents of their three dimensions and the steps
between elements, how far the first and the last element in memory are from where a block begins, the address
of a list of arrays, one for each block and at last the one that is written; then of each block where it
begins, and then which row it is for. It gives 0; or 1, where a block is not all within its array.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from functools import cache
from operator import index
from typing import Any

from .llvm.build import Module
from .llvm.code import kernel
from .programs import runtime
from .programs.objects import DATA_AT, EXTENTS_AT, ITEMS_AT
from .templates.copying import define_run, element

COUNT, EXTENTS, STEPS, FIRST, LAST, LIST, TABLE = 0, 1, 4, 7, 8, 9, 10


@kernel("gather")
def _kernel(size: int) -> str:
    kind = element(size)
    module = Module()
    run = define_run(module)
    with module.function("gather", [("ptr", "%words")], "i64") as f:
        def word(k: str | int, kind: str = "i64") -> str:
            return f.read(kind, f.at("%words", k, "i64"), 8)

        def of(k: str, at: int) -> str:
            """A pointer that the k-th array of the list has."""
            return f.read("ptr", f.at(f.read("ptr", f.at(items, k, "ptr"), 8), at, "i8"), 8)

        count, (outer, middle, inner) = word(COUNT), [word(EXTENTS + d) for d in range(3)]
        steps = [f.mul(word(STEPS + d), size) for d in range(3)]
        items = f.read("ptr", f.at(word(LIST, "ptr"), ITEMS_AT, "i8"), 8)
        length = f.mul(inner, size)
        block, to = f.mul(f.mul(outer, middle), length), of(count, DATA_AT)
        together, backwards = f.compare("eq", steps[2], size), f.compare("eq", steps[2], -size)
        with f.loop(0, count) as i:
            begin = word(f.add(i, TABLE))
            too_soon = f.compare("slt", f.add(begin, word(FIRST)), 0)
            too_late = f.compare("sge", f.add(begin, word(LAST)), f.read("i64", of(i, EXTENTS_AT), 8))
            with f.when(f.emit(f"or i1 {too_soon}, {too_late}")):
                f.give(1)
            source = f.at(of(i, DATA_AT), f.mul(begin, size), "i8")
            row = word(f.add(f.add(i, count), TABLE))
            target = f.variable("ptr", f.at(to, f.mul(row, block), "i8"))
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


@cache
def gatherer(size: int) -> Callable[..., None]:
    """What copies blocks of elements of so many bytes."""
    if not runtime.layout_is_known():
        raise ImportError("this NumPy lays out its arrays in another way")
    call = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(index(_kernel(size)))

    def gather(rows: Any, positions: list[int], values: list[Any], offsets: list[int],
               extents: tuple[int, ...], steps: tuple[int, ...]) -> None:
        arrays = [*values, rows]
        ways = [(n - 1) * step for n, step in zip(extents, steps)]
        first, last = [sum([way for way in ways if (way < 0) == negative]) for negative in (True, False)]
        words = array("q", [len(offsets), *extents, *steps, first, last, id(arrays), *offsets, *positions])
        if call(words.buffer_info()[0]):
            raise ValueError("a part of an array that is beyond its end")
    return gather
