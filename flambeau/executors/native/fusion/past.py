"""Results that no cache holds until they are read: they are written past the caches, in whole lines.

A store into the caches reads its line first. So elements are computed by portions into the thread's scratch
memory, in the first cache, and each portion leaves from there; one that is no whole lines is just copied.
"""

from __future__ import annotations

from ..llvm.build import Function, Module
from ..llvm.compiling.machine import LAST_CACHE, LINE, machine
from ..llvm.emitter import Dtype, memory_type
from ..movement.past import write_lines
from ..quantity import whole
from .body import Body
from .frame import splice_renamed
from .structure import ELEMENT, Structure

PORTION = 1024  # elements
APART = 320     # bytes between areas of scratch memory, that they do not all begin in the same cache lines
REGION = 8 * PORTION + APART    # bytes of an area


@whole
def loop_goes_past(traffic: int, row: int, rows: int) -> bool:
    """Whether results go past the caches: what is read and written fills the last one.

    ``row``: bytes of a result's row. Rows that begin anywhere in a line would be copied twice.

    No rule of sizes is right for all: with an operand and a result of 16 MiB it takes 0.7 of the time if the
    operand comes from memory, reader of the result included; and 1.1 to 1.4 in a chain of kernels each of
    which reads what the one before has written. With 8 MiB even the first may lose.
    """
    return machine().passes and traffic >= LAST_CACHE and (rows == 1 or row % LINE == 0)


def stored(structure: Structure, body: Body) -> list[tuple[int, Dtype]]:
    """The results for each element that a pass stores, and their types."""
    written = {use for line in body.at(ELEMENT) for use in line.uses if use.startswith("%o")}
    return [(k, structure.members[x.member].dtypes[x.result]) for k, x in enumerate(structure.outputs)
            if f"%o{k}" in written]


def splice_near(f: Function, body: Body, j: str, names: dict[str, str]) -> None:
    """Write an element's lines, which store into scratch memory instead of results."""
    place = f.sub(j, f"{body.prefix}first")
    for line in body.at(ELEMENT):
        areas = {use: f"%a{use[2:]}" for use in line.uses if use.startswith("%o")}
        splice_renamed(f, [line], names | areas | ({f"{body.prefix}at": place} if areas else {}))


def leave(f: Function, function: Function, structure: Structure, body: Body, first: str, end: str) -> None:
    """Write a portion of all results of a pass, by the module's ``function`` (``define_leave``)."""
    for k, dtype in stored(structure, body):
        target = f.at(f"%o{k}", f.add(f"{body.prefix}seg", first), memory_type(dtype))
        f.run(function, target, f"%a{k}", f.mul(f.sub(end, first), dtype.itemsize))


def define_leave(module: Module) -> Function:
    """``leave(to, from, bytes)``."""
    parameters = [("ptr noalias", "%to"), ("ptr noalias readonly", "%from"), ("i64", "%bytes")]
    with module.helper("leave", parameters) as f:
        joined = f.emit(f"or i64 {f.emit('ptrtoint ptr %to to i64')}, %bytes")
        in_lines = f.compare("eq", f.emit(f"and i64 {joined}, {LINE - 1}"), 0)
        with f.when(in_lines):
            write_lines(f, "%to", "%from", "0", "%bytes")
        with f.otherwise(in_lines):
            f.copy("%to", "%from", "%bytes")
    return f
