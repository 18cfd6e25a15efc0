"""Results in another order of dimensions than a template writes: contiguous first, then copied over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....graph.geometry import Geometry, contiguous
from ....graph.node import Signature
from ..plan import Call, Plan
from .copying import Place, copied

_LINE = 64  # bytes to which parts of a workspace are aligned


def relaid(template: Callable[[Signature], Plan | None]) -> Callable[[Signature], Plan | None]:
    """A template for any dense results, made of one for contiguous results that overwrites no operand."""
    def find(signature: Signature) -> Plan | None:
        moved = [k for k, g in enumerate(signature.outputs) if not g.is_contiguous]
        return _relaid(signature, template, moved) if moved else template(signature)
    return find


def _relaid(signature: Signature, template: Callable[[Signature], Plan | None],
            moved: Sequence[int]) -> Plan | None:
    plain = tuple([contiguous(g.shape, g.dtype, g.device) for g in signature.outputs])
    plan = template(Signature(signature.operator, signature.attributes, signature.geometries, plain,
                              signature.single, signature.compute))
    if plan is None or plan.in_place:
        return None
    calls, room = list(plan.calls), _aligned(plan.workspace)
    traffic = plan.traffic
    for k in moved:
        for call in plan.calls:
            _to_workspace(call, k, room)
        calls.append(_copy(plain[k], signature.outputs[k], k, room))
        size = plain[k].numel * plain[k].dtype.itemsize
        room, traffic = room + _aligned(size), traffic + 2.0 * size
    return Plan(calls, workspace=room, flops=plan.flops, traffic=traffic)


def _aligned(size: int) -> int:
    return -(-size // _LINE) * _LINE


def _to_workspace(call: Call, result: int, room: int) -> None:
    """Let a call write a result into the workspace instead."""
    words = call.words
    places = [word for word, _, k in words.outputs if k == result]
    words.outputs = tuple([x for x in words.outputs if x[2] != result])
    words.workspaces = (*words.workspaces, *places)
    words.rooms = (*words.rooms, *[room] * len(places))


def _copy(source: Geometry, to: Geometry, result: int, room: int) -> Call:
    """The call that copies a result out of the workspace."""
    call = copied(Place(to.strides, 0, result), Place(source.strides, 0, 0, source), source.shape,
                  source.dtype.itemsize)
    words = call.words
    places = [word for word, _, _ in words.inputs]
    words.inputs, words.shifts = (), ()
    words.workspaces, words.rooms = (*words.workspaces, *places), (*words.rooms, *[room] * len(places))
    return call
