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

from ... import dtypes
from ...config import settings
from ...executors import native
from ...executors.gather import is_native, spend
from ...executors.interpreter.quiet import hush, speak
from ...executors.interpreter.run import Plan, draws, prepare
from ...executors.native.tiers import interpreted
from ...graph.geometry import Family, Geometry
from ...graph.node import Node, Signature, constant, plain_numbers
from ...graph.operator import Operator
from ...graph.recent import Recent
from ..batching import levels
from ..recording import casting
from ..recording.record import ABSENT, DECLINED, compute_with
from ..recording.signing import projection, sign
from ..tape import INFERENCE, inferring, state
from ..tensor import Tensor
from .joint import is_joint, stands_for
from .known import from_value
from .stacking import joins
from .waiting import Habit, Shared, Waits, cut, known

_new = object.__new__
_array = np.ndarray

# Modelled nanoseconds of the interpreter; what takes longer gains more from being fused.
_SMALL = 60e3
_ALONE = 4e3        # what it costs more to compute one alone
_MANY = 1 << 14     # numbers to be drawn
_ROWS = 0, None     # what cat and stack are told, as a rule: the dimension, and that nothing is converted


class _Prepared:
    """What is known of an operator on operands of certain families; ``plan`` None: not to be computed."""

    __slots__ = ("signature", "plan", "waits")

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        self.waits = is_joint(signature) and not _is_looked_at(signature.outputs[0])
        if self.waits:
            signature.alike = stands_for(signature)
        self.plan = None if signature.on_meta or not signature.outputs else _plan_of(signature)


def _is_looked_at(g: Geometry) -> bool:
    """Whether such results are: a decision, or a number that was drawn."""
    return g.numel == 1 and (g.ndim == 1 or g.dtype is dtypes.bool_)


_prepared: Recent[Any, _Prepared] = Recent(1 << 12)
dtypes.on_default_change.append(_prepared.clear)


class AtOnce:
    """A block in which the operators that this thread records are computed (Note: computing at once).

    With a ``habit`` some wait for their batch (Note: joint computing).
    """

    __slots__ = ("_begun", "_habit", "waits", "waited", "alone", "joined")

    def __init__(self, habit: Habit | None = None) -> None:
        self._habit = habit
        self.waits = habit is not None and habit.waits and is_native()
        self.waited = False     # whether any operator did
        self.alone = 0      # how many that might wait were computed before there was a batch
        self.joined = 0     # and how many with others

    def __enter__(self) -> AtOnce:
        self._begun = state.at_once is None and settings.executor in ("auto", "interpreter") and not (
            settings.eager or settings.verify or settings.kernel_times)
        if self._begun:
            state.at_once = self
            compute_with(_COMPUTER, True)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._begun:
            state.at_once = None
            compute_with(_COMPUTER, False)
            if self.waited and self.alone >= self.joined and self._habit is not None:
                self._habit.waits = False
            elif self._habit is not None and self._habit.waits and not self.waits:
                spend(self.alone * _ALONE)


def _compute(operator: Operator, operands: Any, attributes: tuple[Any, ...], enough: int | None) -> Any:
    """The result, or results; ``DECLINED`` where it has to be recorded."""
    at_once = state.at_once
    if at_once is None or levels or (casting.used and operator.name in casting.OPERATORS):
        return DECLINED
    if attributes == _ROWS and operands and (join := joins.get(operator)) is not None \
            and (result := join(operands)) is not None:
        return result
    key: list[Any] = [operator, attributes]
    reads: list[Any] = []
    for x in operands:
        if x.__class__ is Tensor:
            storage, g, base = x._storage, x._geometry, x._base
            if x._requires_grad or (base is not None and base._requires_grad) or x._sparse:
                return DECLINED
            source = storage.owner
            if storage.__class__ is Shared and at_once.waits and g is storage.geometry:
                source = constant(source.flatten())
            elif storage.__class__ is not Waits:
                source = storage.node
                if source.value.__class__ is not _array:
                    return DECLINED
                if storage.exposed and at_once.waits:
                    source, g = _as_now(source, g)
            key.append(g.family)
            reads += source, g
        elif isinstance(x, Tensor):
            return DECLINED
        else:
            key.append(x.__class__)
            reads += x, None
    found = tuple(key)
    prepared = _prepared.get(found)
    if prepared is None:
        if (plainly := plain_numbers(operands)) is not None:
            return _compute(operator, plainly, attributes, enough)
        prepared = _prepare(operator, found, attributes)
    if at_once.waits and prepared.waits:
        return _wait(at_once, prepared.signature, reads)
    return _computed(prepared, reads[::2], reads[1::2], enough)


def _short(operator: Operator, x: Tensor, y: Any, attributes: tuple[Any, ...]) -> Any:
    """``_compute`` for a tensor, and another one, a number, or nothing: what is usual of it.

    (Note: hot functions, in ``recording/record.py``)
    """
    at_once = state.at_once
    if at_once is None or x.__class__ is not Tensor or levels \
            or (casting.used and operator.name in casting.OPERATORS):
        return DECLINED
    storage, g, base = x._storage, x._geometry, x._base
    if x._requires_grad or (base is not None and base._requires_grad):
        return DECLINED
    source = storage.owner
    if storage.__class__ is Shared and at_once.waits and g is storage.geometry:
        source = constant(source.flatten())     # as it is now
    elif storage.__class__ is not Waits:    # asked last: another thread may have the value computed
        source = storage.node
        if source.value.__class__ is not _array:
            return DECLINED
        if storage.exposed and at_once.waits:
            source, g = _as_now(source, g)
    if y.__class__ is Tensor:
        storage, h, base = y._storage, y._geometry, y._base
        if y._requires_grad or (base is not None and base._requires_grad):
            return DECLINED
        other = storage.owner
        if storage.__class__ is not Waits:
            other = storage.node
            if other.value.__class__ is not _array:
                return DECLINED
            if storage.exposed and at_once.waits:
                other, h = _as_now(other, h)
        prepared = _prepared.get((operator, attributes, g.family, h.family))
        reads = [prepared, source, g, other, h]
    elif y is ABSENT:
        prepared = _prepared.get((operator, attributes, g.family))
        reads = [prepared, source, g]
    else:
        prepared = _prepared.get((operator, attributes, g.family, y.__class__))
        reads = [prepared, source, g, y, None]
    if prepared is None:
        return DECLINED
    if not (prepared.waits and at_once.waits):
        return _computed(prepared, reads[1::2], reads[2::2], None)
    at_once.waited = True
    reads[0] = signature = prepared.signature
    out = _new(Tensor)
    out._storage = storage = _new(Waits)
    storage.version = 0
    storage.owner = reads
    out._geometry = signature.outputs[0]
    out._requires_grad = False
    out._grad_fn = out._base = None
    out._counter = INFERENCE if inferring and state.inference else None
    return out


def _wait(at_once: AtOnce, signature: Signature, reads: list[Any]) -> Tensor:
    """The result, of which the value is made with those of other samples."""
    at_once.waited = True
    out = _new(Tensor)
    out._storage = Waits([signature, *reads])
    out._geometry = signature.outputs[0]
    out._requires_grad = False
    out._grad_fn = out._base = None
    out._counter = INFERENCE if inferring and state.inference else None
    return out


def _as_now(node: Node, g: Geometry) -> tuple[Node, Geometry]:
    """What is read of a value that somebody may change before it is."""
    return constant(cut(node.value, g).copy()), g.family[0]


def _computed(prepared: _Prepared, sources: list[Any], geometries: list[Any], enough: int | None) -> Any:
    plan, signature = prepared.plan, prepared.signature
    if prepared.waits:
        state.at_once.alone += 1
    if plan is None:
        return DECLINED
    for x, g in zip(sources, geometries):
        if g is not None and (g.offset or x.__class__ is not Node):
            sources = [x if g is None else known(x, g) for x, g in zip(sources, geometries)]
            break
    operands = tuple(sources)
    before = hush()
    try:
        result = plan(operands)
    except Exception:   # recorded, it fails where it is looked at
        return DECLINED
    finally:
        speak(before)
    if signature.single:
        return from_value(result, signature.outputs[0])
    return tuple([from_value(one, geometry) for one, geometry in zip(result, signature.outputs[:enough])])


_COMPUTER = _compute, _short


def _prepare(operator: Operator, key: tuple[Any, ...], attributes: tuple[Any, ...]) -> _Prepared:
    """How to compute such an operator, made once."""
    found = _prepared.recall(key)
    if found is None:
        geometries = [kind[0] if kind.__class__ is Family else kind for kind in key[2:]]
        found = _Prepared(sign(operator, (operator, attributes, *geometries), attributes))
        _prepared.keep(key, found)
    return found


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
