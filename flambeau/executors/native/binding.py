"""From the members of a unit to the plan of its kernel: what is input, what is number, what is kept.

The plan is a function of the members' signatures and of which operand is which member's result, so that units
of the same form share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph.geometry import Geometry
from ...graph.node import Node
from . import cost
from .compile import Kernel, kernel_of
from .execute import execute
from .finishing import finish
from .loops import Loop, loop_of
from .lowering import Structure, sum_type
from .plan import Call, Plan, Words
from .schedule import Unit, is_sum, member_of

_LIMIT = 1 << 14

Reference = tuple[str, int] | None
Place = tuple[int, int]  # (member, operand)

_plans: dict[Any, Plan | None] = {}


class Binding:
    """The plan of a fused kernel."""

    __slots__ = ("plan",)

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def run(self, members: list[Node]) -> bool:
        """Compute the members; false if the interpreter has to."""
        try:
            return execute(self.plan, members)
        except MemoryError:  # the interpreter, which needs one result at a time, tells which node it is
            return False


class _Parts:
    """Operands of the members: other members' results, arrays from outside, numbers."""

    def __init__(self, members: Sequence[Node]) -> None:
        position = {id(node): i for i, node in enumerate(members)}
        known: dict[tuple[int, Any], int] = {}
        self.signatures = [node.signature for node in members]
        self.references: list[tuple[Reference, ...]] = []
        self.inputs: list[Place] = []
        self.geometries: list[Geometry] = []
        self.numbers: list[Place] = []
        for m, node in enumerate(members):
            assert node.signature is not None
            own: list[Reference] = []
            for j, (operand, g) in enumerate(zip(node.operands, node.signature.geometries)):
                if operand is None:
                    own.append(None)
                elif operand.__class__ is not Node:
                    own.append(("number", len(self.numbers)))
                    self.numbers.append((m, j))
                elif id(operand) in position:
                    own.append(("member", position[id(operand)]))
                else:
                    k = known.setdefault((id(operand), g), len(self.inputs))
                    if k == len(self.inputs):
                        self.inputs.append((m, j))
                        self.geometries.append(g)
                    own.append(("input", k))
            self.references.append(tuple(own))


def bind(unit: Unit, members: list[Node]) -> Binding | None:
    """The plan of a unit; None where its kernel has no native form."""
    parts = _Parts(members)
    key = (tuple(parts.signatures), tuple(parts.references), tuple(unit.stored), unit.row)
    if key not in _plans:
        if len(_plans) > _LIMIT:
            _plans.clear()
        _plans[key] = _prepare(unit, parts)
    plan = _plans[key]
    return None if plan is None else Binding(plan)


def _prepare(unit: Unit, parts: _Parts) -> Plan | None:
    signatures: list[Any] = parts.signatures
    loop = loop_of(signatures[0].outputs[0], parts.geometries, unit.row)
    if loop is None:
        return None
    members: list[Any] = []
    outputs: list[int] = []
    sums: list[Any] = []
    structure_sums: list[Any] = []
    numbers: list[Any] = []
    renamed: dict[int, int] = {}
    for i, (signature, own) in enumerate(zip(signatures, parts.references)):
        if is_sum(signature):
            reference = own[0]
            assert reference is not None
            dtype = signature.attributes[2]
            wanted = np.dtype(np.float32) if dtype.is_floating_point and dtype.itemsize < 4 else dtype.numpy
            structure_sums.append((renamed[reference[1]], wanted))
            sums.append((i, signature, sum_type(wanted)))
            continue
        renamed[i] = len(members)
        mapped = tuple([("member", renamed[r[1]]) if r is not None and r[0] == "member" else r for r in own])
        members.append(member_of(signature, mapped, unit.stored[i]))
        if unit.stored[i]:
            outputs.append(i)
        numbers += [signature.compute.numpy if signature.compute is not None else None
                    for r in own if r is not None and r[0] == "number"]
    structure = Structure(tuple(members), loop.inputs, len(numbers), len(loop.extents), tuple(structure_sums))
    kernel = kernel_of(structure)
    return None if kernel is None else _plan(kernel, loop, parts, outputs, sums, numbers)


def _plan(kernel: Kernel, loop: Loop, parts: _Parts, outputs: list[int], sums: list[Any],
          numbers: list[Any]) -> Plan:
    """The words in the order of the kernel's layout; sums go to the workspace and are finished by calls."""
    words = Words()
    words.constant(loop.total, loop.inner, *loop.extents, *[step for s in loop.strides for step in s])
    for (member, operand), g in zip(parts.inputs, parts.geometries):
        words.input(operand, g, member)
    for member in outputs:
        words.output(0, member)
    apart = -(-loop.rows * 8 // 64) * 64
    for k in range(len(sums)):
        words.workspace(k * apart)
    for (member, operand), dtype in zip(parts.numbers, numbers):
        words.number(operand, dtype, member)
    signatures: list[Any] = parts.signatures
    row = loop.inner * cost.NATIVE_ELEMENT * max(kernel.work, 4)
    calls = [Call(kernel.address, words, loop.rows, cost.grain(loop.rows, row))]
    for k, (member, signature, partial) in enumerate(sums):
        result = signature.outputs[0]
        divisor = signature.geometries[0].numel // result.numel if signature.operator.name == "mean" else 0
        calls.append(finish(partial, result.dtype.numpy, k * apart, loop.rows // result.numel, result.numel,
                            divisor, member))
    traffic = sum(g.numel * g.dtype.itemsize for g in parts.geometries) \
        + sum(signatures[member].nbytes for member in outputs)
    return Plan(calls, workspace=len(sums) * apart, traffic=float(traffic), nanoseconds=row * loop.rows)
