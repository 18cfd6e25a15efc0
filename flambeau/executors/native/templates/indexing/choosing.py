"""Choosing between two operands by a mask: where, masked_fill."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...llvm.build import Module
from ...llvm.compiling.code import kernel
from ...llvm.emitter import element
from ...movement.spaces import Nest, Space, fused, rank_for, split
from ...plan import Call, Plan, Template, Words
from ..shapes.movement import number_for
from .indexing import expanded

STRIP = 4096   # columns of a block where an operand is the same in all rows


def _where(signature: Signature) -> Plan | None:
    return _chosen(signature, 0, (1, 2))


def _masked_fill(signature: Signature) -> Plan | None:
    """The value where the mask holds, else the input."""
    return _chosen(signature, 1, (2, 0))


def _chosen(signature: Signature, mask: int, sides: tuple[int, int]) -> Plan | None:
    """``sides``: the operand where the mask holds, the operand elsewhere."""
    geometries, out = signature.geometries, signature.outputs[0]
    condition, size = geometries[mask], out.dtype.itemsize
    if not out.numel or size > 8 or not isinstance(condition, Geometry) or condition.dtype.itemsize != 1:
        return None
    words = Words()
    words.output()
    words.input(mask, condition)
    strides = [[s * size for s in out.strides], expanded(condition, out.shape)]
    for side in sides:
        g = geometries[side]
        if isinstance(g, Geometry) and g.dtype is out.dtype:
            words.input(side, g)
            strides.append([s * size for s in expanded(g, out.shape)])
        elif number_for(g, out.dtype):
            words.number(side, np.dtype(out.dtype.numpy))
            strides.append([0] * out.ndim)
        else:
            return None
    space = fused(out.shape, strides)
    constant = tuple([not isinstance(geometries[side], Geometry) for side in sides])
    cut = split(space, 3 * size + 1, widest=STRIP)
    rank = rank_for(space)
    Nest(rank, 4, 4).place(words, space, cut)
    call = Call(_kernel(rank, size, constant, _steps(space, size)), words, cut.tasks, cut.grain)
    return Plan([call], traffic=(3.0 * size + 1) * out.numel)


def _steps(space: Space, size: int) -> tuple[Any, ...]:
    """Which of the operands lie along memory or do not move: what LLVM has vector code for."""
    known = []
    for own, width in zip(space.strides, (size, 1, size, size)):
        known.append(own[-1] if own[-1] in (0, width) else None)
    return tuple(known)


@kernel("choose")
def _kernel(rank: int, size: int, constant: tuple[bool, ...], known: tuple[Any, ...]) -> str:
    kind = element(size)
    module = Module()
    parameters = [("ptr noalias", "%to"), ("ptr noalias readonly", "%mask"),
                  ("ptr noalias readonly", "%first"), ("ptr noalias readonly", "%second"), ("i64", "%n"),
                  *[("i64", f"%step{k}") for k in range(4)]]
    with module.helper("choose_row", parameters) as f:
        steps = [f"%step{k}" if step is None else str(step) for k, step in enumerate(known)]
        fixed = [f.read(kind, side, size) if step == 0 else ""
                 for side, step in zip(("%first", "%second"), known[2:])]
        with f.loop(0, "%n") as i:
            held = f.emit(f"icmp ne i8 {f.read('i8', f.at('%mask', f.mul(i, steps[1]), 'i8'), 1)}, 0")
            sides = [x or f.read(kind, f.at(side, f.mul(i, step), "i8"), size)
                     for x, side, step in zip(fixed, ("%first", "%second"), steps[2:])]
            f.write(kind, f.choose(held, kind, *sides), f.at("%to", f.mul(i, steps[0]), "i8"), size)
    row_of = f
    with module.kernel("choose") as f:
        nest = Nest(rank, 4, 4)
        numbers = (False, False, *constant)
        bases = [f.at(f.words, k, "i64") if numbers[k] else f.word(k, "ptr") for k in range(4)]
        with nest.rows(f) as row:
            pointers = [f.at(base, offset, "i8") for base, offset in zip(bases, row.offsets)]
            f.run(row_of, *pointers, row.width(f), *[nest.step(f, k) for k in range(4)])
    return module.text()


TEMPLATES: dict[str, Template] = {"where": _where, "masked_fill": _masked_fill}
