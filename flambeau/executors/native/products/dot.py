"""The product of two vectors: the sums of chunks of fixed size, then their sum, whoever computes them."""

from __future__ import annotations

from enum import IntEnum

from ..llvm.build import Function, Module
from ..llvm.compiling.code import kernels
from ..llvm.compiling.effort import Effort
from ..llvm.compiling.machine import machine
from ..llvm.emitter import Dtype
from ..llvm.lanes import compute_type, element_at, read_lanes

CHUNK = 1 << 15     # elements
_SUMS = 8           # accumulators, so that additions need not wait for each other


class Word(IntEnum):
    """The arguments of the kernel that sums chunks; the other one has TARGET, SUMS, COUNT."""

    A = 0
    B = 1
    SUMS = 2
    SIZE = 3


@kernels("dot", Effort.FEW)
def dot_kernels(source: Dtype, target: Dtype, compute: Dtype) -> str:
    """The kernel for ``chunks`` (tasks) and the one that adds them up to a ``total``."""
    module = Module()
    element, size = compute_type(compute), compute.itemsize
    with module.kernel("chunks") as f:
        with f.loop(f.begin, f.end) as task:
            start = f.mul(task, CHUNK)
            count = f.least(f.sub(f.word(Word.SIZE), start), CHUNK)
            a, b = (element_at(f, source, f.word(k, "ptr"), start) for k in (Word.A, Word.B))
            f.write(element, _sum(f, source, compute, a, b, count),
                    f.at(f.word(Word.SUMS, "ptr"), task, element), size)
    with module.kernel("total") as f:
        total = f.variable(element, "0.0")
        with f.loop(0, f.word(2)) as i:
            part = f.read(element, f.at(f.word(1, "ptr"), i, element), size)
            total.set(f.emit(f"fadd {element} {total.get()}, {part}"))
        f.store(total.get(), f.word(0, "ptr"), target)
    return module.text()


def _sum(f: Function, source: Dtype, compute: Dtype, a: str, b: str, count: str) -> str:
    """The sum of a[i] b[i]."""
    lanes = machine().lanes(compute.itemsize)
    kind = f"<{lanes} x {compute_type(compute)}>"
    sums = [f.variable(kind, "zeroinitializer") for _ in range(_SUMS)]

    def step(k: str, number: int, mask: str | None) -> None:
        x, y = (read_lanes(f, source, lanes, element_at(f, source, p, k), mask) for p in (a, b))
        sums[number].set(f.fma(kind, x, y, sums[number].get()))

    whole = f.emit(f"and i64 {count}, {-lanes * _SUMS}")
    with f.loop(0, whole, lanes * _SUMS) as k:
        for number in range(_SUMS):
            step(f.add(k, number * lanes), number, None)
    with f.loop(whole, count, lanes) as k:
        step(k, 0, f.first_lanes(f.sub(count, k), lanes))
    found = [x.get() for x in sums]
    while len(found) > 1:
        found = [f.emit(f"fadd {kind} {x}, {y}") for x, y in zip(found[::2], found[1::2])]
    return f.total(kind, found[0])
