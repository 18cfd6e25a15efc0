"""Computing at once what would be recorded, where samples are made.

Note: computing at once. What a dataset does to a sample are a few small operators on values that are there,
and no two batches are alike: one sample is flipped and the next is not, and each is another row of a table.
A graph of them would be long, and would never come back. So while a thread makes samples its operators are
computed as they come, by the interpreter's kernels, if the values of all operands are known and the results
small. Everything else is recorded, as ever.

Operands that differ in their place alone, as rows do, share what a kernel was prepared with. Memory that
outsiders can see is read as it is now, so nothing has to be copied first.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .. import dtypes
from ..config import settings
from ..executors import native
from ..executors.interpreter.quiet import hush, speak
from ..executors.interpreter.run import Plan, draws, prepare
from ..executors.native.tiers import interpreted
from ..graph.geometry import Geometry
from ..graph.node import Node, Signature, constant
from ..graph.operator import Operator
from ..graph.pending import nodes as pending_nodes
from ..graph.recent import Recent
from ..graph.storage import Storage
from . import casting
from .batching import levels
from .joint import is_joint
from .known import from_value
from .record import ABSENT, DECLINED, compute_with, projection, sign
from .stacking import joins
from .tape import INFERENCE, state
from .tensor import Tensor
from .waiting import Habit, Waiting, settle

_new = object.__new__
_array = np.ndarray

# Modelled nanoseconds of the interpreter; what takes longer gains more from being fused.
_SMALL = 60e3
_MANY = 1 << 14     # numbers to be drawn
_ROWS = 0, None     # what cat and stack are told, as a rule: the dimension, and that nothing is converted
# Results with fewer elements do not wait: they are looked at.
_TINY = 16


class _Prepared:
    """What is known of an operator on operands of certain geometries; ``plan`` None: not to be computed."""

    __slots__ = ("signature", "plan", "waits")

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.waits = is_joint(signature) and signature.outputs[0].numel > _TINY
        self.plan = None if signature.on_meta or not signature.outputs else _plan_of(signature)


_prepared: Recent[Any, _Prepared] = Recent(1 << 12)
dtypes.on_default_change.append(_prepared.clear)


class AtOnce:
    """A block in which the operators that this thread records are computed (Note: computing at once).

    With a ``habit`` some wait for their batch (Note: joint computing).
    """

    __slots__ = ("_begun", "waiting")

    def __init__(self, habit: Habit | None = None) -> None:
        self.waiting = Waiting(habit) if habit is not None and habit.waits else None

    def __enter__(self) -> AtOnce:
        self._begun = state.at_once is None and settings.executor in ("auto", "interpreter") and not (
            settings.eager or settings.verify or settings.kernel_times)
        if self._begun:
            state.at_once = self
            state.waiting = self.waiting
            compute_with(_COMPUTER, True)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._begun:
            state.at_once = None
            compute_with(_COMPUTER, False)
            if self.waiting is not None:
                self.waiting.end()


def _compute(operator: Operator, operands: Any, attributes: tuple[Any, ...], enough: int | None) -> Any:
    """The result, or results; ``DECLINED`` where it has to be recorded."""
    if state.at_once is None or levels or (casting.used and operator.name in casting.OPERATORS):
        return DECLINED
    if attributes == _ROWS and operands and (join := joins.get(operator)) is not None \
            and (result := join(operands)) is not None:
        return result
    waiting = state.waiting
    key: list[Any] = [operator, attributes]
    values: list[Any] = []
    pending, exposed = 0, False
    for x in operands:
        if x.__class__ is Tensor:
            storage, g, base = x._storage, x._geometry, x._base
            node = storage.node
            value = node.value
            if x._requires_grad or (base is not None and base._requires_grad) or x._sparse:
                return DECLINED
            if value.__class__ is not _array:
                if waiting is None or node not in waiting.nodes:
                    return DECLINED
                pending += 1
            else:
                if storage.exposed:
                    exposed = True
                if g.offset:
                    node, g = _from_start(node, g)
                    if g.offset:
                        return DECLINED
            key.append(g)
            values.append(node)
        elif isinstance(x, Tensor):
            return DECLINED
        else:
            key.append(x.__class__)
            values.append(x)
    found = tuple(key)
    prepared = _prepared.get(found) or _prepare(operator, found, attributes)
    if waiting is not None:
        if prepared.waits:
            if exposed:
                values = [constant(x.value.copy()) if x.__class__ is Node and x.value is not None else x
                          for x in values]
            waiting.readings += pending
            return _wait(prepared.signature, tuple(values), waiting)
        if pending:
            settle(operands)
    return _computed(prepared, tuple(values), enough)


def _short(operator: Operator, x: Tensor, y: Any, attributes: tuple[Any, ...]) -> Any:
    """``_compute`` for a tensor, and another one, a number, or nothing: what is usual of it, unrolled."""
    at_once = state.at_once
    if at_once is None or x.__class__ is not Tensor or levels or casting.used:
        return DECLINED
    waiting = at_once.waiting
    storage, g, base = x._storage, x._geometry, x._base
    node, pending = storage.node, 0
    values: tuple[Any, ...]
    if x._requires_grad or storage.exposed or (base is not None and base._requires_grad):
        return DECLINED
    if node.value.__class__ is not _array:
        if waiting is None or node not in waiting.nodes:
            return DECLINED
        pending = 1
    elif g.offset:
        node, g = _from_start(node, g)
    if y.__class__ is Tensor:
        storage, h, base = y._storage, y._geometry, y._base
        other = storage.node
        if y._requires_grad or storage.exposed or (base is not None and base._requires_grad):
            return DECLINED
        if other.value.__class__ is not _array:
            if waiting is None or other not in waiting.nodes:
                return DECLINED
            pending += 1
        elif h.offset:
            other, h = _from_start(other, h)
        values, prepared = (node, other), _prepared.get((operator, attributes, g, h))
    elif y is ABSENT:
        values, prepared = (node,), _prepared.get((operator, attributes, g))
    else:
        values, prepared = (node, y), _prepared.get((operator, attributes, g, y.__class__))
    if prepared is None:
        return DECLINED
    if waiting is not None and prepared.waits:
        waiting.readings += pending
        return _wait(prepared.signature, values, waiting)
    return DECLINED if pending else _computed(prepared, values, None)


def _from_start(node: Node, g: Geometry) -> tuple[Node, Geometry]:
    """The part of a known value that is read, and how it is read there."""
    if node.value.dtype is not g.dtype.numpy:   # a view in another type, whose places are counted otherwise
        return node, g
    part = _new(Node)
    part.value = node.value[g.offset:g.extent]
    part.operands = node, g.offset
    return part, g.family[0]


def _computed(prepared: _Prepared, values: tuple[Any, ...], enough: int | None) -> Any:
    plan, signature = prepared.plan, prepared.signature
    if plan is None:
        return DECLINED
    before = hush()
    try:
        result = plan(values)
    except Exception:   # recorded, it fails where it is looked at
        return DECLINED
    finally:
        speak(before)
    if signature.single:
        return from_value(result, signature.outputs[0])
    return tuple([from_value(one, geometry) for one, geometry in zip(result, signature.outputs[:enough])])


_COMPUTER = _compute, _short


def _wait(signature: Signature, values: tuple[Any, ...], waiting: Waiting) -> Tensor:
    """The result, of which the value is made with those of other samples."""
    node = Node(signature, values, _SITE)
    _append(node)
    waiting.nodes[node] = None
    out = _new(Tensor)
    out._geometry = geometry = signature.outputs[0]
    out._storage = Storage(node, geometry)
    if state.inference:
        out._counter = INFERENCE
    return out


_SITE = AtOnce.__enter__.__code__, 0     # nothing that waits fails
_append = pending_nodes.append


def _prepare(operator: Operator, key: tuple[Any, ...], attributes: tuple[Any, ...]) -> _Prepared:
    """How to compute such an operator, made once."""
    return _prepared.recall(key) or _prepared.keep(key, _Prepared(sign(operator, key, attributes)))


def _plan_of(signature: Signature) -> Plan | None:
    operator = signature.operator
    if draws(signature):
        return partial(_drawn, signature) if signature.outputs[0].numel <= _MANY else None
    joins = operator.kind == "variadic"     # only to be done once, whatever its size
    if operator.kind == "multi_tensor" or not (joins or interpreted((Node(signature, (), None),)) <= _SMALL):
        return None
    return signature.plan or prepare(signature)


def _drawn(signature: Signature, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numbers drawn, and the state after them, as any graph of that much: NumPy is slow at this."""
    node = Node(signature, operands, None)
    results = [Node(projection(i, g), (node,), None) for i, g in enumerate(signature.outputs)]
    for failed in native.auto([*results, node]):
        raise failed.value.error
    return tuple([result.value for result in results])
