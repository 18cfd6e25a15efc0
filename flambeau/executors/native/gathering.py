"""The native function behind ``gather``: blocks of many arrays, copied into rows of another in one call.

It is told, in 64-bit words, of how many blocks there are, the extents of their three dimensions and the steps
between elements, the address of a list of arrays, one for each block and at last the one that is written;
then of each block where it begins, and then which row it is for.
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
from .templates.copying import define_run, element

COUNT, EXTENTS, STEPS, LIST, TABLE = 0, 1, 4, 7, 8
SIZES = 1, 2, 4, 8      # bytes of elements


@kernel("gather")
def _kernel(size: int) -> str:
    kind = element(size)
    module = Module()
    run = define_run(module)
    with module.function("gather", [("ptr", "%words")]) as f:
        def word(k: str | int, kind: str = "i64") -> str:
            return f.read(kind, f.at("%words", k, "i64"), 8)

        def data(k: str) -> str:
            """Where the elements of an array of the list lie (Note: array objects)."""
            return f.read("ptr", f.at(f.read("ptr", f.at(items, k, "ptr"), 8), runtime.DATA_AT, "i8"), 8)

        count, (outer, middle, inner) = word(COUNT), [word(EXTENTS + d) for d in range(3)]
        steps = [f.mul(word(STEPS + d), size) for d in range(3)]
        items = f.read("ptr", f.at(word(LIST, "ptr"), runtime.ITEMS_AT, "i8"), 8)
        length = f.mul(inner, size)
        block, to = f.mul(f.mul(outer, middle), length), data(count)
        together, backwards = f.compare("eq", steps[2], size), f.compare("eq", steps[2], -size)
        with f.loop(0, count) as i:
            source = f.at(data(i), f.mul(word(f.add(i, TABLE)), size), "i8")
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
    return module.text()


@cache
def gatherer(size: int) -> Callable[..., None]:
    """What copies blocks of elements of so many bytes."""
    if not runtime.layout_is_known():
        raise ImportError("this NumPy lays out its arrays in another way")
    call = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(index(_kernel(size)))

    def gather(rows: Any, positions: list[int], values: list[Any], offsets: list[int],
               extents: tuple[int, ...], steps: tuple[int, ...]) -> None:
        arrays = [*values, rows]
        words = array("q", [len(offsets), *extents, *steps, id(arrays), *offsets, *positions])
        call(words.buffer_info()[0])
    return gather
