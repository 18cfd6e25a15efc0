"""History: giving the results of a recorded operator their grad_fn.

``attach`` does it for any operator; ``attach_one``, ``attach_two`` and ``attach_three`` are the same for so
many tensors and one result, unrolled: they are most of what a program records.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any
from weakref import ref

from ...graph.node import Signature
from ...graph.operator import Operator
from ..tape import INFERENCE, GradFn, SavedTensor, next_sequence, state
from ..tensor import Tensor
from .tape_plans import NO_GRADIENT, tape_plan

_new = object.__new__
_LIBRARY = __file__.rsplit("/", 3)[0]
_LAUNCHER = _LIBRARY + "/cli/"


def attach(operator: Operator, signature: Signature, operands: Sequence[Any],
           outs: tuple[Tensor, ...]) -> None:
    """Give the results of an operator their grad_fn, where it is differentiable (Note: hot functions)."""
    if not operator.differentiable:
        return
    edges: list[Any] = []
    numbers = None
    wanted, bit = 0, 1
    nowhere = 0     # which require gradients that nobody gets
    for x in operands:
        if isinstance(x, Tensor):
            if x._base is not None:
                target = edge(x) if x.requires_grad else None
                edges.append(target)
                if target is not None:
                    wanted |= bit
                elif x.requires_grad:
                    nowhere |= bit
            elif x._requires_grad:
                wanted |= bit
                fn = x._grad_fn
                edges.append(x if fn is None else (fn, x._output_nr) if x._output_nr else fn)
            else:
                edges.append(None)
        else:
            edges.append(None)
            numbers = operands
        bit <<= 1
    wanted = wanted or nowhere
    plan = signature.tape_plans.get(wanted)
    if plan is None:
        plan = tape_plan(signature, wanted, len(operands))
    if plan is NO_GRADIENT:
        return
    made: GradFn = _new(plan.grad_class)
    made.sequence = next_sequence()
    made.signature = signature
    made.plan = plan
    made.numbers = None if numbers is None else tuple([None if isinstance(x, Tensor) else x for x in numbers])
    made.hooks = made.trace = None
    made.edges = tuple(edges)
    if signature.single:
        outs[0]._grad_fn = made
        outs[0]._requires_grad = True
    else:
        _attach_several(plan.results, outs, made)
    if state.watched:
        _keep_watched(made, operands, outs)
        return
    made.saved = _kept(plan.kept, operands, outs) if plan.kept else ()


def _kept(positions: tuple[int, ...], operands: Sequence[Any], outs: tuple[Tensor, ...]) -> tuple[Any, ...]:
    """What is at these positions, with versions (see ``GradFn.saved``)."""
    kept: list[Any] = []
    valued = False
    for i in positions:
        if i < 0:
            storage = outs[~i]._storage
            kept += storage, storage.version
            valued = True
        elif isinstance(x := operands[i], Tensor):
            counter = x._counter
            kept += x, x._storage.version if counter is None else counter.to_save
            valued = True
        else:
            kept += None, None
    return tuple(kept) if valued else ()


def attach_one(signature: Signature, x: Tensor, out: Tensor) -> None:
    """``attach`` for a tensor that wants a gradient, and one result."""
    plan = signature.tape_plans.get(1)
    if plan is None:
        plan = tape_plan(signature, 1, 1)
    if plan is NO_GRADIENT:
        return
    made: GradFn = _new(plan.grad_class)
    made.signature = signature
    made.plan = plan
    made.numbers = made.hooks = made.trace = None
    if x._base is None:
        fn = x._grad_fn
        made.edges = (x if fn is None else (fn, x._output_nr) if x._output_nr else fn,)
    else:
        made.edges = (edge(x),)
    made.sequence = next_sequence()     # after its edge, which may be made anew just now
    out._grad_fn = made
    out._requires_grad = True
    if state.watched:
        _keep_watched(made, (x,), (out,))
        return
    kept = plan.kept
    if not kept:
        made.saved = ()
    elif len(kept) > 1:
        made.saved = _kept(kept, (x,), (out,))
    elif kept[0]:
        storage = out._storage
        made.saved = (storage, storage.version)
    else:
        counter = x._counter
        made.saved = (x, x._storage.version if counter is None else counter.to_save)


def attach_scaled(signature: Signature, x: Tensor, number: Any, out: Tensor) -> None:
    """``attach`` for a tensor that wants a gradient, a Python number, and one result."""
    plan = signature.tape_plans.get(1)
    if plan is None:
        plan = tape_plan(signature, 1, 2)
    if plan is NO_GRADIENT:
        return
    made: GradFn = _new(plan.grad_class)
    made.signature = signature
    made.plan = plan
    made.numbers = (None, number)
    made.hooks = made.trace = None
    if x._base is None:
        fn = x._grad_fn
        made.edges = (x if fn is None else (fn, x._output_nr) if x._output_nr else fn, None)
    else:
        made.edges = (edge(x), None)
    made.sequence = next_sequence()     # after its edge, which may be made anew just now
    out._grad_fn = made
    out._requires_grad = True
    if state.watched:
        _keep_watched(made, (x, number), (out,))
    elif not plan.kept:
        made.saved = ()
    else:
        made.saved = _kept(plan.kept, (x, number), (out,))


def attach_two(signature: Signature, a: Tensor, b: Tensor, out: Tensor) -> None:
    """``attach`` for two tensors, one of which wants a gradient, and one result."""
    if not signature.operator.differentiable:
        return
    wanted = 0
    left = right = None
    if a._base is not None:
        if a.requires_grad and (left := edge(a)) is not None:
            wanted = 1
    elif a._requires_grad:
        wanted = 1
        fn = a._grad_fn
        left = a if fn is None else (fn, a._output_nr) if a._output_nr else fn
    if b._base is not None:
        if b.requires_grad and (right := edge(b)) is not None:
            wanted |= 2
    elif b._requires_grad:
        wanted |= 2
        fn = b._grad_fn
        right = b if fn is None else (fn, b._output_nr) if b._output_nr else fn
    wanted = wanted or _nowhere(a, b)
    plan = signature.tape_plans.get(wanted)
    if plan is None:
        plan = tape_plan(signature, wanted, 2)
    if plan is NO_GRADIENT:
        return
    made: GradFn = _new(plan.grad_class)
    made.sequence = next_sequence()
    made.signature = signature
    made.plan = plan
    made.numbers = made.hooks = made.trace = None
    made.edges = (left, right)
    out._grad_fn = made
    out._requires_grad = True
    if state.watched:
        _keep_watched(made, (a, b), (out,))
        return
    kept = plan.kept
    if not kept:
        made.saved = ()
    elif kept == _BOTH:
        first, second = b._counter, a._counter
        made.saved = (b, b._storage.version if first is None else first.to_save,
                      a, a._storage.version if second is None else second.to_save)
    else:
        made.saved = _kept(kept, (a, b), (out,))


def _nowhere(*operands: Tensor | None) -> int:
    """The bits of operands that require gradients where they lead nowhere: views that were made unrecorded.

    The result requires them too, and its rules run. Beside an operand that leads somewhere such a view counts
    as one that requires none.
    """
    return sum([1 << i for i, x in enumerate(operands) if x is not None and x.requires_grad])


_BOTH = (1, 0)  # what most products keep: each operand's derivative needs the other


def attach_three(signature: Signature, a: Tensor, b: Tensor, c: Tensor | None, out: Tensor) -> None:
    """``attach`` for two tensors and one more or None, one of which wants a gradient, and one result."""
    wanted = 0
    first = second = third = None
    if a._base is not None:
        if a.requires_grad and (first := edge(a)) is not None:
            wanted = 1
    elif a._requires_grad:
        wanted = 1
        fn = a._grad_fn
        first = a if fn is None else (fn, a._output_nr) if a._output_nr else fn
    if b._base is not None or b._grad_fn is not None:
        if b.requires_grad and (second := edge(b)) is not None:
            wanted |= 2
    elif b._requires_grad:
        wanted, second = wanted | 2, b
    if c is not None:
        if c._base is not None or c._grad_fn is not None:
            if c.requires_grad and (third := edge(c)) is not None:
                wanted |= 4
        elif c._requires_grad:
            wanted, third = wanted | 4, c
    wanted = wanted or _nowhere(a, b, c)
    plan = signature.tape_plans.get(wanted)
    if plan is None:
        plan = tape_plan(signature, wanted, 3)
    if plan is NO_GRADIENT:
        return
    made: GradFn = _new(plan.grad_class)
    made.sequence = next_sequence()
    made.signature = signature
    made.plan = plan
    made.numbers = (None, None, None) if c is None else None
    made.hooks = made.trace = None
    made.edges = (first, second, third)
    out._grad_fn = made
    out._requires_grad = True
    if state.watched:
        _keep_watched(made, (a, b, c), (out,))
    elif plan.kept == _BOTH:
        one, other = b._counter, a._counter
        made.saved = (b, b._storage.version if one is None else one.to_save,
                      a, a._storage.version if other is None else other.to_save)
    else:
        made.saved = _kept(plan.kept, (a, b, c), (out,)) if plan.kept else ()


def _attach_several(results: tuple[int, ...], outs: tuple[Tensor, ...], fn: GradFn) -> None:
    """Give several results, those that can have one, their history."""
    for i in results:
        out = outs[i]
        out._grad_fn = fn
        out._requires_grad = True
        if i:
            out._output_nr = i


def _keep_watched(fn: GradFn, operands: Sequence[Any], outs: tuple[Tensor, ...]) -> None:
    """Keep what derivatives need under hooks on saved tensors, and the traceback under anomaly mode."""
    kept: list[Any] = []
    for i in fn.plan.kept:
        x = detached(outs[~i]) if i < 0 else operands[i]
        kept += save(x, i < 0) if isinstance(x, Tensor) else None, None
    fn.saved = tuple(kept) if any(x is not None for x in kept) else ()
    if state.anomaly:
        fn.trace = call_stack()


def edge(x: Tensor) -> Any:
    """Where the gradient of x goes (Note: edges)."""
    base = x._base
    known = base is None or (base._counter is None and x._base_version == base._storage.version)
    fn = x._grad_fn if known else x.grad_fn
    if fn is None:  # a view made without recording lets no gradient through
        return x if base is None or x._requires_grad else None
    return (fn, x._output_nr) if x._output_nr else fn


def detached(x: Tensor) -> Tensor:
    """A handle on the same storage, without history."""
    out = _new(Tensor)
    out._storage = x._storage
    out._geometry = x._geometry
    out._requires_grad = False
    out._grad_fn = out._counter = out._base = None
    return out


def save(x: Tensor, is_output: bool = False) -> SavedTensor:
    """Keep x for backward, through the hooks in force."""
    if state.saved_hooks:
        pack, unpack = state.saved_hooks[-1]
        fn, state.enabled = state.enabled, False
        try:
            to = None if is_output or not x.requires_grad else edge(x)
            return SavedTensor(_packed(pack, x), -1, unpack, is_output, ref(x), to)
        finally:
            state.enabled = fn
    counter = x._counter
    return SavedTensor(x, x._storage.version if counter is None else counter.to_save, None, is_output)


def _packed(pack: Any, x: Tensor) -> Any:
    """What a hook makes of x, which it may not write."""
    if x._counter is INFERENCE:
        return pack(x)
    version = x._version
    found = pack(x)
    if x._version != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
            "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
            "Please open an issue if you need to perform in-place operations on the input to a pack hook.")
    return found


def call_stack() -> Any:
    """The program's own frames, without those by which ``flambeau run`` came to it."""
    stack = traceback.extract_stack()
    begin = max([i for i, f in enumerate(stack) if f.filename.startswith(_LAUNCHER)], default=0)
    return [f for f in stack[begin:] if not f.filename.startswith(_LIBRARY)]
