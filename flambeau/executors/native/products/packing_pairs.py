"""Packing for processors that multiply pairs of bfloat16 numbers: two steps of the depth make one.

A panel holds [depth / 2][width] pairs of adjacent steps, in the memory of an ordinary panel; an odd depth is
completed with zero. The product of two pairs is added to a float: twice the multiply-adds of float32.
"""

from __future__ import annotations

from ..llvm.build import Function, Module, Value
from ..llvm.compiling.machine import machine
from ..llvm.lanes import transpose, write_first
from .packing import PACK, by_lanes


def multiplies_pairs() -> bool:
    """Whether the processor has an instruction for it."""
    host = machine()
    return host.vector == 64 and "+avx512bf16" in host.features.split(",")


def pair_packer(module: Module, name: str, width: int, lanes: int) -> Function:
    """What ``packing.packer`` is, for bfloat16."""
    with module.helper(name, PACK) as f:
        adjacent = f.compare("eq", "%across", 1)
        with f.when(adjacent):
            _merge(f, width, lanes)
        with f.otherwise(adjacent):
            deep = f.compare("eq", "%along", 1)
            with f.when(deep):
                _transpose(f, width, lanes)
            with f.otherwise(deep):
                _gather(f, width)
    return f


def _merge(f: Function, width: int, lanes: int) -> None:
    """Adjacent across: lanes of two steps are put side by side."""
    kind, held = f"<{lanes} x i32>", f"<{lanes} x i16>"
    masks = [f.first_lanes(f.sub("%count", g), lanes) for g in range(0, width, lanes)]

    def read(k: str, g: int, mask: str) -> str:
        at = f.at(f.at("%source", f.mul(k, "%along"), "i16"), g, "i16")
        return f.emit(f"zext {held} {f.read_masked(held, at, mask, 2)} to {kind}")

    shift = "<" + ", ".join(["i32 16"] * lanes) + ">"
    whole = f.emit("and i64 %depth, -2")

    def step(k: str, single: bool) -> None:
        row = f.at("%panel", f.mul(f.emit(f"lshr i64 {k}, 1"), width), "i32")
        for mask, g in zip(masks, range(0, width, lanes)):
            value = read(k, g, mask)
            if not single:
                second = f.emit(f"shl {kind} {read(f.add(k, 1), g, mask)}, {shift}")
                value = f.emit(f"or {kind} {value}, {second}")
            write_first(f, "i32", lanes, min(lanes, width - g), value, f.at(row, g, "i32"))

    with f.loop(0, whole, 2) as k:
        step(k, False)
    with f.when(f.compare("slt", whole, "%depth")):
        step(whole, True)


def _transpose(f: Function, width: int, lanes: int) -> None:
    """Adjacent along the depth: pairs are elements of squares that are transposed."""
    span = 2 * lanes
    kind, held = f"<{lanes} x i32>", f"<{span} x i16>"
    last = f.sub("%count", 1)

    def group(g: Value, count: int) -> None:
        starts = [f.at("%source", f.mul(f.least(f.add(g, i), last), "%across"), "i16") for i in range(count)]
        with f.loop(0, "%depth", span) as k:
            mask, rows = f.first_lanes(f.sub("%depth", k), span), []
            for start in starts:
                value = f.read_masked(held, f.at(start, k, "i16"), mask, 2)
                rows.append(f.emit(f"bitcast {held} {value} to {kind}"))
            columns = transpose(f, kind, rows + ["zeroinitializer"] * (lanes - len(rows)))
            target = f.at("%panel", f.add(f.mul(f.emit(f"lshr i64 {k}, 1"), width), g), "i32")
            for t, column in enumerate(columns):
                write_first(f, "i32", lanes, count, column, f.at(target, t * width, "i32"))

    by_lanes(f, width, lanes, group)


def _gather(f: Function, width: int) -> None:
    """No adjacent elements."""
    last = f.sub("%count", 1)
    whole = f.emit("and i64 %depth, -2")
    with f.loop(0, width) as i:
        source = f.at("%source", f.mul(f.least(i, last), "%across"), "i16")
        target = f.at("%panel", i, "i32")

        def element(k: str, source: str = source) -> str:
            held = f.read("i16", f.at(source, f.mul(k, "%along"), "i16"), 2)
            return f.emit(f"zext i16 {held} to i32")

        def place(k: str, target: str = target) -> str:
            return f.at(target, f.mul(f.emit(f"lshr i64 {k}, 1"), width), "i32")

        with f.loop(0, whole, 2) as k:
            second = f.emit(f"shl i32 {element(f.add(k, 1))}, 16")
            f.write("i32", f.emit(f"or i32 {element(k)}, {second}"), place(k))
        with f.when(f.compare("slt", whole, "%depth")):
            f.write("i32", element(whole), place(whole))
