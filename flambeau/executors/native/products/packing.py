"""Packing: operands of matrix products laid out in the order in which microkernels read them.

A panel holds ``width`` rows of A (or columns of B) as [depth][width]: what one step along the depth needs
lies together. Packing absorbs transposition, any strides and conversion from 16-bit types, so operands never
have to be copied or converted before. Three ways, chosen at run time by the strides:

* adjacent across the panel: each step of the depth is a copy of ``width`` elements;
* adjacent along the depth: squares of lanes x lanes elements are transposed in registers;
* neither: element by element.

The depth of a panel is padded to whole vectors. What a panel holds for rows that do not exist, and beyond the
depth, is undefined: it reaches only results that are not stored.
"""

from __future__ import annotations

from collections.abc import Callable

from ..llvm.build import Function, Module, Value
from ..llvm.compiling.machine import machine
from ..llvm.emitter import Dtype
from ..llvm.lanes import (
    compute_type,
    element_at,
    read_first,
    read_lanes,
    transpose,
    write_first,
)

PACK = (("ptr", "%source"), ("ptr noalias", "%panel"), ("i64", "%count"), ("i64", "%depth"),
        ("i64", "%across"), ("i64", "%along"))


def padded(depth: int, itemsize: int) -> int:
    """The depth of a panel in memory."""
    lanes = machine().lanes(itemsize)
    return -(-depth // lanes) * lanes


def padded_in_code(f: Function, depth: Value, lanes: int) -> str:
    """``padded`` of a depth known at run time."""
    return f.emit(f"and i64 {f.add(depth, lanes - 1)}, {-lanes}")


def packer(module: Module, name: str, dtype: Dtype, width: int, lanes: int) -> Function:
    """``name(source, panel, count, depth, across, along)``: pack one panel.

    ``source``: the first element; ``across``, ``along``: the strides from row to row of the panel and from
    step to step of the depth; ``count``: how many rows exist.
    """
    with module.helper(name, PACK) as f:
        adjacent = f.compare("eq", "%across", 1)
        with f.when(adjacent):
            whole = f.compare("sge", "%count", width)
            with f.when(whole):
                _copy(f, dtype, width, lanes)
            with f.otherwise(whole):
                _copy_some(f, dtype, width, lanes)
        with f.otherwise(adjacent):
            deep = f.compare("eq", "%along", 1)
            with f.when(deep):
                _transpose(f, dtype, width, lanes)
            with f.otherwise(deep):
                _gather(f, dtype, width)
    return f


def copier(module: Module, name: str, dtype: Dtype, width: int, lanes: int) -> Function:
    """``packer`` of a whole panel that is adjacent across, and is written past the caches."""
    with module.helper(name, PACK) as f:
        _copy(f, dtype, width, lanes, past=True)
    return f


def _copy(f: Function, dtype: Dtype, width: int, lanes: int, past: bool = False) -> None:
    """Adjacent across: a step is read and written as vectors."""
    element = compute_type(dtype)
    size = 8 if element == "double" else 4
    with f.loop(0, "%depth") as k:
        source = element_at(f, dtype, "%source", f.mul(k, "%along"))
        target = f.at("%panel", f.mul(k, width), element)
        whole = width // lanes * lanes
        for g in range(0, whole, lanes):
            value = read_lanes(f, dtype, lanes, element_at(f, dtype, source, g))
            if past:
                f.write_past(f"<{lanes} x {element}>", value, f.at(target, g, element), lanes * size)
            else:
                f.write(f"<{lanes} x {element}>", value, f.at(target, g, element), size)
        for start, count, value in read_first(f, dtype, width - whole, element_at(f, dtype, source, whole)):
            f.write(f"<{count} x {element}>", value, f.at(target, whole + start, element), size)


def _copy_some(f: Function, dtype: Dtype, width: int, lanes: int) -> None:
    """Adjacent across, fewer rows than the panel holds."""
    element = compute_type(dtype)
    size = 8 if element == "double" else 4
    masks = [f.first_lanes(f.sub("%count", g), lanes) for g in range(0, width, lanes)]
    with f.loop(0, "%depth") as k:
        source = element_at(f, dtype, "%source", f.mul(k, "%along"))
        target = f.at("%panel", f.mul(k, width), element)
        for mask, g in zip(masks, range(0, width, lanes)):
            value = read_lanes(f, dtype, lanes, element_at(f, dtype, source, g), mask)
            write_first(f, element, lanes, min(lanes, width - g), value, f.at(target, g, element), size)


def _transpose(f: Function, dtype: Dtype, width: int, lanes: int) -> None:
    """Adjacent along the depth: squares are transposed; rows that do not exist repeat the last one."""
    last = f.sub("%count", 1)

    def group(g: Value, rows: int) -> None:
        starts = [element_at(f, dtype, "%source", f.mul(f.least(f.add(g, i), last), "%across"))
                  for i in range(rows)]
        if machine().vector == 64:  # masks are cheap: one square is all the code
            with f.loop(0, "%depth", lanes) as k:
                _square(f, dtype, width, lanes, g, starts, k, f.first_lanes(f.sub("%depth", k), lanes))
            return
        whole = f.emit(f"and i64 %depth, {-lanes}")
        left = f.sub("%depth", whole)
        with f.loop(0, whole, lanes) as k:
            _square(f, dtype, width, lanes, g, starts, k, None)
        with f.when(f.compare("sgt", left, 0)):
            _square(f, dtype, width, lanes, g, starts, whole, f.first_lanes(left, lanes))

    by_lanes(f, width, lanes, group)


def by_lanes(f: Function, width: int, lanes: int, group: Callable[[Value, int], None]) -> None:
    """``group(first, count)`` for a vector of rows of a panel after the other, of those that exist."""
    full = width // lanes * lanes
    if full:
        with f.loop(0, f.least(full, "%count"), lanes) as g:
            group(g, lanes)
    if full < width:
        with f.when(f.compare("slt", full, "%count")):
            group(full, width - full)


def _square(f: Function, dtype: Dtype, width: int, lanes: int, g: Value, starts: list[str], k: str,
            mask: str | None) -> None:
    """Steps k to k + lanes of rows g to g + lanes."""
    element = compute_type(dtype)
    kind = f"<{lanes} x {element}>"
    rows = [read_lanes(f, dtype, lanes, element_at(f, dtype, start, k), mask) for start in starts]
    columns = transpose(f, kind, rows + ["zeroinitializer"] * (lanes - len(rows)))
    target = f.at("%panel", f.add(f.mul(k, width), g), element)
    for t, column in enumerate(columns):
        write_first(f, element, lanes, len(rows), column, f.at(target, t * width, element),
                    8 if element == "double" else 4)


def _gather(f: Function, dtype: Dtype, width: int) -> None:
    """No adjacent elements."""
    element = compute_type(dtype)
    size = 8 if element == "double" else 4
    last = f.sub("%count", 1)
    with f.loop(0, width) as i:
        source = element_at(f, dtype, "%source", f.mul(f.least(i, last), "%across"))
        target = f.at("%panel", i, element)
        with f.loop(0, "%depth") as k:
            held = f.load(element_at(f, dtype, source, f.mul(k, "%along")), dtype)
            f.write(element, held, f.at(target, f.mul(k, width), element), size)
