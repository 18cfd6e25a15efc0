"""record(): check an operation and put it down, computing nothing.

This is the hot path of every program: it is bare on purpose. A signature found in the table carries
everything that is the same each time (output geometry, dtype to compute in, which operands can have
gradients).

Note: hot functions. In Python a call costs as much as several steps of what runs for each operator: such code
is one function where it could be several, says so by naming this note, and is measured when it is changed
(``benchmarks/recording.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...config import settings
from ...engine.look import check_budget, snapshot
from ...executors import native
from ...graph import pending
from ...graph.geometry import Geometry
from ...graph.node import Node, constant, plain_numbers
from ...graph.operator import Operator
from ...graph.site import is_library_file, user_frame
from ...graph.storage import Storage
from ..batching import BatchedTensor, any_batched, levels, rules
from ..tape import INFERENCE, state
from ..tensor import Tensor
from . import casting
from .history import attach, attach_one, attach_scaled, attach_three, attach_two
from .signing import projection, projections, sign, signatures

# What sees every operator before it is recorded (Note: dispatch modes, in utils/_python_dispatch.py). While
# one does, or operators are computed at once, the short ways of recording find no signature in the table and
# come to ``record``, where it is asked.
interceptors: list[Any] = []

_signatures: Any = signatures
_bare: Any = {}     # where nothing is found, as nothing is kept in it
DECLINED = object()
_taker: Any = None          # who is asked before an operator is recorded, which it may decline to take
_short: Any = None          # the same for one operand or two, who decides what is not to be asked again
_computers: list[Any] = []  # who computes it, if nobody intercepts: both, once for each thread that wants it
ABSENT = object()           # in the place of a second operand
# Classes of tensors, beside ``Tensor``, whose hot fields are what they seem; and whether, as nobody is asked,
# native code may record (Note: native recording).
plain_classes: list[type] = []
derived: list[type] = []    # the class of storages that are made of others (Note: turned storages)
switch: Any = np.ones(1, np.int64)
aliasing: dict[str, Any] = {}   # who makes and writes views, and what is known of them (set where they are)


def intercept(with_them: list[Any]) -> None:
    """From now on these see what is recorded, the last one first; none: as usual."""
    interceptors[:] = with_them
    _settle()


def compute_with(computer: tuple[Any, Any], begins: bool) -> None:
    """A thread begins, or ends, to have computed what it records (Note: computing at once)."""
    if begins:
        _computers.append(computer)
    else:
        _computers.remove(computer)
    _settle()


def _settle() -> None:
    global _signatures, _taker, _short
    _taker, _short = (interceptors[-1], None) if interceptors else [(None, None), *_computers][-1]
    _signatures = signatures if _taker is None else _bare
    switch[0] = _taker is None


def _record_natively() -> None:
    from .native.record import begin  # the native executor has imported llvmlite
    begin()


native.on_return.append(_record_natively)
_new = object.__new__
_append = pending.nodes.append
_nodes = pending.nodes
_frame = sys._getframe
META_NODE = constant(None)


def site_from(depth: int) -> Any:
    """Code and instruction offset of the nearest caller outside the package, from ``depth`` callers up."""
    return state.site or user_frame(_frame(depth))


def record(operator: Operator, operands: Sequence[Any], attributes: tuple[Any, ...] = (),
           enough: int | None = None) -> Any:
    """Record ``operator`` applied to tensors, Python numbers and None; return its Tensor, or a tuple of them.

    Of several results, ``enough`` is how many the caller reads: the others are there if backward needs them.
    Raises what PyTorch raises when shapes, dtypes or devices do not fit. (Note: hot functions)
    """
    if _taker is not None:
        taken = _taker(operator, operands, attributes, enough)
        if taken is not DECLINED:
            return taken
    key: list[Any] = [operator, attributes]
    inputs: list[Any] = []
    taping = state.enabled
    wants_grad = False
    for x in operands:
        if isinstance(x, Tensor):
            key.append(x._geometry)
            storage = x._storage
            inputs.append(snapshot(storage) if storage.exposed else storage.node)
            if taping and (x._requires_grad
                           or (x._base is not None and x._base._requires_grad and x.requires_grad)):
                wants_grad = True
        else:
            key.append(x.__class__)
            inputs.append(x)
    found = tuple(key)
    signature = signatures.get(found)
    if signature is None:
        if casting.used and operator.name in casting.OPERATORS:
            cast = casting.lowered_operands(operands)
            if cast is not None:
                return record(operator, cast, attributes, enough)
            signature = casting.guarded.get(found)
        if signature is None:
            if levels and any_batched(operands):
                return rules.record(operator, operands, attributes, enough)
            if (plainly := plain_numbers(operands)) is not None:
                return record(operator, plainly, attributes, enough)
            signature = sign(operator, found, attributes)
    geometries = signature.outputs
    if signature.on_meta:
        node = META_NODE
    else:
        frame = _frame(2)
        code = frame.f_code
        inside = is_library_file.get(code.co_filename, True)
        node = Node(signature, tuple(inputs),
                    (state.site or user_frame(frame)) if inside else (code, frame.f_lasti))
        _append(node)
    if signature.single:
        out = _new(Tensor)
        out._geometry = geometry = geometries[0]
        out._storage = Storage(node, geometry)
        out._requires_grad = False
        out._grad_fn = out._counter = out._base = None
        if wants_grad:
            attach(operator, signature, operands, (out,))
        elif not taping and state.inference:
            out._counter = INFERENCE
        if len(_nodes) > settings.check_at:
            check_budget()
        return out
    if enough == 1 and not wants_grad:
        out = _project(node, 0, geometries[0])
        if not taping and state.inference:
            out._counter = INFERENCE
        if len(_nodes) > settings.check_at:
            check_budget()
        return (out,)
    if enough is not None and not wants_grad:
        geometries = geometries[:enough]
    outs = tuple([_project(node, i, geometry) for i, geometry in enumerate(geometries)])
    if wants_grad:
        attach(operator, signature, operands, outs)
    elif not taping and state.inference:
        for out in outs:
            out._counter = INFERENCE
    if len(_nodes) > settings.check_at:
        check_budget()
    return outs


def record_one(operator: Operator, x: Tensor, attributes: tuple[Any, ...] = ()) -> Tensor:
    """``record`` for one tensor and one result: the same, unrolled."""
    if _short is not None and (taken := _short(operator, x, ABSENT, attributes)) is not DECLINED:
        return taken
    key = (operator, attributes, x._geometry)
    signature = _signatures.get(key)
    if signature is None:
        if _taker is not None:
            return record(operator, (x,), attributes)
        if x.__class__ is BatchedTensor:
            return rules.record(operator, (x,), attributes)
        signature = sign(operator, key, attributes)
    if not signature.usual:
        return record(operator, (x,), attributes)
    storage = x._storage
    frame = _frame(2)
    code = frame.f_code
    inside = is_library_file.get(code.co_filename, True)
    node = Node(signature, (snapshot(storage) if storage.exposed else storage.node,),
                (state.site or user_frame(frame)) if inside else (code, frame.f_lasti))
    _append(node)
    out = _new(Tensor)
    out._geometry = geometry = signature.outputs[0]
    out._storage = Storage(node, geometry)
    out._requires_grad = False
    out._grad_fn = out._counter = out._base = None
    if state.enabled:
        if x._requires_grad or (x._base is not None and x._base._requires_grad and x.requires_grad):
            attach_one(signature, x, out)
    elif state.inference:
        out._counter = INFERENCE
    if len(_nodes) > settings.check_at:
        check_budget()
    return out


def record_pair(operator: Operator, a: Tensor, b: Tensor, attributes: tuple[Any, ...] = ()) -> Tensor:
    """``record`` for two tensors and one result: the same, unrolled."""
    if _short is not None and (taken := _short(operator, a, b, attributes)) is not DECLINED:
        return taken
    key = (operator, attributes, a._geometry, b._geometry)
    signature = _signatures.get(key)
    if signature is None:
        if _taker is not None or (casting.used and operator.name in casting.OPERATORS):
            return record(operator, (a, b), attributes)
        if levels and any_batched((a, b)):
            return rules.record(operator, (a, b), attributes)
        signature = sign(operator, key, attributes)
    if not signature.usual:
        return record(operator, (a, b), attributes)
    storage, other = a._storage, b._storage
    frame = _frame(2)
    code = frame.f_code
    inside = is_library_file.get(code.co_filename, True)
    node = Node(signature, (snapshot(storage) if storage.exposed else storage.node,
                            snapshot(other) if other.exposed else other.node),
                (state.site or user_frame(frame)) if inside else (code, frame.f_lasti))
    _append(node)
    out = _new(Tensor)
    out._geometry = geometry = signature.outputs[0]
    out._storage = Storage(node, geometry)
    out._requires_grad = False
    out._grad_fn = out._counter = out._base = None
    if state.enabled:
        if (a._requires_grad or b._requires_grad
                or (a._base is not None and a._base._requires_grad and a.requires_grad)
                or (b._base is not None and b._base._requires_grad and b.requires_grad)):
            attach_two(signature, a, b, out)
    elif state.inference:
        out._counter = INFERENCE
    if len(_nodes) > settings.check_at:
        check_budget()
    return out


def record_scaled(operator: Operator, x: Tensor, number: Any, attributes: tuple[Any, ...] = ()) -> Tensor:
    """``record`` for a tensor, a Python number and one result: the same, unrolled."""
    if _short is not None and (taken := _short(operator, x, number, attributes)) is not DECLINED:
        return taken
    key = (operator, attributes, x._geometry, number.__class__)
    signature = _signatures.get(key)
    if signature is None:
        if _taker is not None:
            return record(operator, (x, number), attributes)
        if x.__class__ is BatchedTensor:
            return rules.record(operator, (x, number), attributes)
        if isinstance(number, np.generic):
            return record(operator, (x, number), attributes)
        signature = sign(operator, key, attributes)
    if not signature.usual:
        return record(operator, (x, number), attributes)
    storage = x._storage
    frame = _frame(2)
    code = frame.f_code
    inside = is_library_file.get(code.co_filename, True)
    node = Node(signature, (snapshot(storage) if storage.exposed else storage.node, number),
                (state.site or user_frame(frame)) if inside else (code, frame.f_lasti))
    _append(node)
    out = _new(Tensor)
    out._geometry = geometry = signature.outputs[0]
    out._storage = Storage(node, geometry)
    out._requires_grad = False
    out._grad_fn = out._counter = out._base = None
    if state.enabled:
        if x._requires_grad or (x._base is not None and x._base._requires_grad and x.requires_grad):
            attach_scaled(signature, x, number, out)
    elif state.inference:
        out._counter = INFERENCE
    if len(_nodes) > settings.check_at:
        check_budget()
    return out


def record_three(operator: Operator, a: Tensor, b: Tensor, c: Tensor | None) -> Tensor:
    """``record`` for two tensors, one more or None, and one result: the same, unrolled."""
    key = (operator, (), a._geometry, b._geometry, _NONE if c is None else c._geometry)
    signature = _signatures.get(key)
    if signature is None:
        if _taker is not None or casting.used:
            return record(operator, (a, b, c))
        if levels and any_batched((a, b, c)):
            return rules.record(operator, (a, b, c), ())
        signature = sign(operator, key, ())
    if not signature.usual:
        return record(operator, (a, b, c))
    first, second = a._storage, b._storage
    last = None
    if c is not None:
        third = c._storage
        last = snapshot(third) if third.exposed else third.node
    frame = _frame(2)
    code = frame.f_code
    inside = is_library_file.get(code.co_filename, True)
    node = Node(signature, (snapshot(first) if first.exposed else first.node,
                            snapshot(second) if second.exposed else second.node, last),
                (state.site or user_frame(frame)) if inside else (code, frame.f_lasti))
    _append(node)
    out = _new(Tensor)
    out._geometry = geometry = signature.outputs[0]
    out._storage = Storage(node, geometry)
    out._requires_grad = False
    out._grad_fn = out._counter = out._base = None
    if state.enabled:
        if b._requires_grad or a.requires_grad or b.requires_grad or (c is not None and c.requires_grad):
            attach_three(signature, a, b, c, out)
    elif state.inference:
        out._counter = INFERENCE
    if len(_nodes) > settings.check_at:
        check_budget()
    return out


def record_numbers(operator: Operator, numbers: tuple[Any, ...], attributes: tuple[Any, ...]) -> Tensor:
    """``record`` for Python numbers, for what factories call: the same, unrolled."""
    signature = _signatures.get((operator, attributes, *map(type, numbers)))
    if signature is None or not signature.usual:
        recorded: Tensor = record(operator, numbers, attributes)
        return recorded
    node = Node(signature, numbers, state.site or user_frame(_frame(2)))
    _append(node)
    out = _new(Tensor)
    out._geometry = geometry = signature.outputs[0]
    out._storage = Storage(node, geometry)
    out._requires_grad = False
    out._grad_fn = out._counter = out._base = None
    if not state.enabled and state.inference:
        out._counter = INFERENCE
    if len(_nodes) > settings.check_at:
        check_budget()
    return out


def record_value(operator: Operator, storage: Storage, x: Any, attributes: tuple[Any, ...]) -> Node | None:
    """The node of an operator of a whole storage and a tensor, or a number, without a tensor or history of
    its own. None where it is not recorded so simply.
    """
    is_tensor = x.__class__ is Tensor
    key = operator, attributes, storage.geometry.flat, x._geometry if is_tensor else x.__class__
    signature = _signatures.get(key)
    if signature is None and _taker is None and not levels:
        signature = sign(operator, key, attributes)
    if signature is None or not signature.usual:
        return None
    held = snapshot(storage) if storage.exposed else storage.node
    if is_tensor:
        other = x._storage
        operands = held, snapshot(other) if other.exposed else other.node
    else:
        operands = held, x
    node = Node(signature, operands, state.site or user_frame(_frame(2)))
    _append(node)
    if len(_nodes) > settings.check_at:
        check_budget()
    return node


_NONE = type(None)


def _project(node: Node, i: int, geometry: Geometry) -> Tensor:
    """The i-th result of an operator with several."""
    out = _new(Tensor)
    if node is not META_NODE:
        node = Node(projections.get((i, geometry)) or projection(i, geometry), (node,), node.site)
        _append(node)
    out._storage = Storage(node, geometry)
    out._requires_grad = False
    out._grad_fn = out._counter = out._base = None
    out._geometry = geometry
    return out
