"""Joining tensors: cat and stack.

The result is seen as a matrix whose rows are made of one run of each operand, by a table of (pointer, bytes
from row to row, place in the row, length) among the arguments: the code does not depend on how many operands
there are. A task is a block of rows, or of a row's bytes. Operands of which no row is a run are copied one by
one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...llvm.build import Module
from ...llvm.compiling.code import kernel
from ...movement.copying import Place, copied, define_run, define_run_past
from ...movement.past import copy_goes_past
from ...movement.spaces import ALIGNED, fused, tasks_for
from ...plan import Call, Plan, Template, Words
from .movement import bytes_moved, source_of

TABLE = 7          # the words before the table
ENTRY = 4          # words of an operand
FEW = 8            # operands of one element in a row that are copied one by one,
NARROW = 32        # where rows have so few bytes
BLOCK = 4 << 10    # bytes of a block of rows: so few that the result is written nearly in order


def _cat(signature: Signature) -> Plan | None:
    """One beside the other along a dimension."""
    out, dim = signature.outputs[0], signature.attributes[0]
    operands = signature.geometries
    if not out.numel or any(g.dtype is not out.dtype for g in operands):
        return None
    return _joined(signature, operands, dim, [g.shape[dim] * out.strides[dim] for g in operands])


def _stack(signature: Signature) -> Plan | None:
    """One beside the other along a new dimension."""
    out, dim = signature.outputs[0], signature.attributes[0]
    operands = signature.geometries
    if not out.numel or any(g.dtype is not out.dtype for g in operands):
        return None
    return _joined(signature, operands, dim, [out.strides[dim]] * len(operands))


def _joined(signature: Signature, operands: Sequence[Geometry], dim: int, lengths: list[int]) -> Plan:
    """``lengths``: of each operand's runs in the result, in elements."""
    out = signature.outputs[0]
    size = out.dtype.itemsize
    stacked = signature.operator.name == "stack"
    order = tuple(range(operands[0].ndim)) if stacked else out.order
    own = dim if stacked else order.index(dim)
    rows = math.prod([out.shape[d] for d in order[:own]])
    steps = [_row_step(g, order, own) for g in operands]
    apart = any(step is None for step, g in zip(steps, operands) if g.numel)
    single = len(operands) <= FEW and sum(lengths) * size <= NARROW and not any(n > 1 for n in lengths)
    if apart or single or (stacked and not out.is_contiguous):
        strides = (*out.strides[:dim], *out.strides[dim + 1:]) if stacked else out.strides
        calls, start = [], 0
        for i, (g, length) in enumerate(zip(operands, lengths)):
            if g.numel:
                calls.append(copied(Place(strides, start), source_of(g, i), g.shape, size))
            start += length
        return Plan(calls, traffic=bytes_moved(signature))
    width = sum(lengths) * size
    words = Words()
    words.output()
    high, wide = _blocks(rows, width)
    across = -(-width // wide)
    count = words.constant(rows, high, width, wide, across, 0) + 5
    start = 0
    for i, (g, length, step) in enumerate(zip(operands, lengths, steps)):
        if length and step is not None:
            words.input(i, g)
            words.constant(step * size, start, length * size)
            words.values[count] += 1
        start += length * size
    tasks = -(-rows // high) * across
    past = bool(copy_goes_past(rows * width, width // len(lengths)))
    call = Call(_join_kernel(past), words, tasks, max(1, tasks // tasks_for(2 * rows * width)))
    return Plan([call], traffic=bytes_moved(signature))


def _row_step(g: Geometry, order: Sequence[int], own: int) -> int | None:
    """Elements from row to row, where a row is a run; else None.

    ``order``: of the dimensions in the result's memory. A row is all from the one at ``own`` on.
    """
    if not g.numel:
        return None
    shape, strides = [g.shape[d] for d in order], [g.strides[d] for d in order]
    run = fused(shape[own:], (strides[own:],), ordered=False)
    rows = fused(shape[:own], (strides[:own],), ordered=False)
    if len(run.extents) > 1 or len(rows.extents) > 1 or (run.size > 1 and run.strides[0] != (1,)):
        return None
    return rows.strides[0][0]


def _blocks(rows: int, width: int) -> tuple[int, int]:
    """Rows and bytes of a task."""
    wanted = tasks_for(2 * rows * width)
    if rows >= wanted:
        return max(1, min(BLOCK // width, -(-rows // wanted))) if wanted > 1 else rows, width
    wide = -(-width // -(-wanted // rows))
    return 1, -(-wide // ALIGNED) * ALIGNED


@kernel("join")
def _join_kernel(past: bool) -> str:
    module = Module()
    run = define_run_past(module) if past else define_run(module)
    with module.kernel("join") as f:
        to, (rows, high, width, wide, across, count) = f.word(0, "ptr"), [f.word(k) for k in range(1, TABLE)]
        with f.loop(f.begin, f.end) as task:
            block = f.div(task, across)
            first = f.mul(f.sub(task, f.mul(block, across)), wide)
            last = f.least(f.add(first, wide), width)
            row = f.mul(block, high)
            end = f.least(f.add(row, high), rows)
            with f.loop(0, count) as i:
                entry = f.at(f.words, f.add(f.mul(i, ENTRY), TABLE), "i64")
                source = f.read("ptr", entry, 8)
                step, start, length = [f.read("i64", f.at(entry, k, "i64"), 8) for k in range(1, ENTRY)]
                left, right = f.most(start, first), f.least(f.add(start, length), last)
                with f.when(f.compare("slt", left, right)):
                    with f.loop(row, end) as r:
                        f.run(run, f.at(to, f.add(f.mul(r, width), left), "i8"),
                              f.at(source, f.add(f.mul(r, step), f.sub(left, start)), "i8"),
                              f.sub(right, left))
        if past:
            f.settle()
    return module.text()


TEMPLATES: dict[str, Template] = {"cat": _cat, "stack": _stack}
