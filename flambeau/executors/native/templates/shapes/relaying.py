"""Operands and results in another order of dimensions than a template reads and writes: copied before, after.

The calls of the template's plan then read or write a place in the plan's workspace instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....graph.geometry import Geometry, contiguous
from .....graph.node import Signature
from .....layouts import reads_last
from ...llvm.compiling.machine import LINE
from ...movement.copying import Place, copied
from ...plan import Call, Plan, Template


def relaid(template: Template) -> Template:
    """A template for any dense results, made of one for contiguous results that overwrites no operand.

    Operands that are channels last are copied, too: kernels that go along planes read them badly.
    """
    def find(signature: Signature) -> Plan | None:
        if all(g.is_contiguous for g in signature.outputs):
            return template(signature)
        operands = [i for i, g in enumerate(signature.geometries) if isinstance(g, Geometry)
                    and not g.is_contiguous and reads_last(g.shape, g.strides)]
        return plan_by_copies(template, signature, operands)
    return find


def plan_by_copies(template: Template, signature: Signature, operands: Sequence[int]) -> Plan | None:
    """The plan for contiguous results, and ``operands``, with copies around it."""
    geometries: list[Any] = list(signature.geometries)
    for i in operands:
        geometries[i] = _plain(geometries[i])
    results = [k for k, g in enumerate(signature.outputs) if not g.is_contiguous]
    plain = tuple([_plain(g) for g in signature.outputs])
    plan = template(Signature(signature.operator, signature.attributes, tuple(geometries), plain,
                              signature.single, signature.compute))
    if plan is None or plan.in_place:
        return None
    room, traffic = _aligned(plan.workspace), plan.traffic
    before: list[Call] = []
    after: list[Call] = []
    for i in operands:
        g = signature.geometries[i]
        for call in plan.calls:
            call.words.to_workspace(room, operand=i)
        before.append(copied(Place(geometries[i].strides), Place(g.strides, 0, i, g), g.shape,
                             g.dtype.itemsize))
        before[-1].words.to_workspace(room, result=0)
        room, traffic = room + _aligned(g.nbytes), traffic + 2.0 * g.nbytes
    for k in results:
        g = signature.outputs[k]
        for call in plan.calls:
            call.words.to_workspace(room, result=k)
        after.append(copied(Place(g.strides, 0, k), Place(plain[k].strides, 0, 0, plain[k]), g.shape,
                            g.dtype.itemsize))
        after[-1].words.to_workspace(room, operand=0)
        room, traffic = room + _aligned(g.nbytes), traffic + 2.0 * g.nbytes
    return Plan([*before, *plan.calls, *after], workspace=room, flops=plan.flops, traffic=traffic)


def _plain(g: Geometry) -> Geometry:
    return contiguous(g.shape, g.dtype, g.device)


def _aligned(size: int) -> int:
    return -(-size // LINE) * LINE
