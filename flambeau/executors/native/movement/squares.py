"""Square tiles that are transposed in registers."""

from __future__ import annotations

from ..llvm.build import Function, Module, vector
from ..llvm.compiling.machine import LINE, machine
from ..llvm.lanes import transpose
from ..products.ahead import Walk


def tile_of(size: int) -> int:
    """The side of a square tile that a CPU transposes in registers: at most half of them hold its rows."""
    host = machine()
    return min(host.vector // size, host.registers // 2, 16)


def is_in_lines(f: Function, to: str, into: str) -> str:
    """Whether rows of a target begin at cache lines."""
    places = f.emit(f"or i64 {f.emit(f'ptrtoint ptr {to} to i64')}, {into}")
    return f.compare("eq", f.emit(f"and i64 {places}, {LINE - 1}"), 0)


_SIDES = [("ptr noalias", "%to"), ("ptr noalias readonly", "%source"), ("i64", "%into"), ("i64", "%out")]


def define_tile(module: Module, size: int, side: int) -> Function:
    """``tile(to, source, into, out)``: a square, read and written as rows that are so many bytes apart."""
    kind = vector(side, f"i{8 * size}")
    with module.helper("tile", _SIDES) as f:
        rows = [f.read(kind, f.at("%source", f.mul(i, "%out"), "i8"), size) for i in range(side)]
        for i, x in enumerate(transpose(f, kind, rows)):
            f.write(kind, x, f.at("%to", f.mul(i, "%into"), "i8"), size)
    return f


def define_line_tile(module: Module, size: int, side: int, across: int) -> Function:
    """The same of so many squares that the target's rows are cache lines, which are written past the caches.

    Meanwhile as many lines are asked for as it reads (``state``: Note: panels).
    """
    kind = vector(side, f"i{8 * size}")
    with module.helper("line_tile", [*_SIDES, ("ptr noalias", "%state")]) as f:
        walk = Walk(f, "%state")
        parts = []
        for part in range(across):
            places = [f.at("%source", f.mul(part * side + i, "%out"), "i8") for i in range(side)]
            parts.append(transpose(f, kind, [f.read(kind, place, size) for place in places]))
        for _ in range(side):
            walk.step()
        walk.save()
        for i in range(side):
            row = f.at("%to", f.mul(i, "%into"), "i8")
            for part, columns in enumerate(parts):
                f.write_past(kind, columns[i], f.at(row, part * side * size, "i8"), side * size)
    return f


def define_edge(module: Module, size: int) -> Function:
    """``edge(to, source, into, out, height, width)``: what is left beside the square tiles."""
    kind = f"i{8 * size}"
    with module.helper("edge", [*_SIDES, ("i64", "%height"), ("i64", "%width")]) as f:
        with f.loop(0, "%height") as q:
            row, column = f.at("%to", f.mul(q, "%into"), "i8"), f.at("%source", f.mul(q, size), "i8")
            with f.loop(0, "%width") as p:
                x = f.read(kind, f.at(column, f.mul(p, "%out"), "i8"), size)
                f.write(kind, x, f.at(row, p, kind), size)
    return f
