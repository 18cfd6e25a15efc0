"""The history of tensors that are written in place.

What is written through a view has its gradient from that part of the base's; what was there before has
none there. Where a ``grad_fn`` keeps an operand or a result that is written, it keeps what derivatives need
instead.
"""

from __future__ import annotations

from typing import Any

from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Operator
from ...graph.recent import Recent
from ...graph.storage import Storage
from ..recording.history import detached, edge, save
from ..recording.record import record_one
from ..tape import PATIENCE, GradFn, SavedTensor, TapeKind, TapePlan, hooks_of
from ..tensor import Tensor
from .views import making_of, replay

CONTIGUOUS = Operator("contiguous_copy", lambda m, x: x,
                      lambda geometries, attributes: contiguous(geometries[0].shape, geometries[0].dtype,
                                                                geometries[0].device),
                      ("input",), kind="move")


class CopySlices(GradFn):
    """History of a base written through a view: the written part's gradient goes to what was written."""

    __slots__ = ("chain",)

    chain: Any  # from the base to the view: view operators and their arguments

    def name(self) -> str:
        """The node's name."""
        return "torch::autograd::CopySlices"

    def run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """Gradients by (the base before the write, the value written)."""
        grad = grads[0]
        if grad is None:
            return None, None
        to_base = grad.clone(memory_format=None).contiguous() if grad.requires_grad else \
            record_one(CONTIGUOUS, grad)
        part = replay(to_base, self.chain)
        to_value = part.clone() if self.edges[1] is not None else None
        if self.edges[0] is None:
            return None, to_value
        part.zero_()
        return to_base, to_value


_plans: Recent[tuple[Any, Geometry, tuple[bool, ...]], TapePlan] = Recent(1 << 12)


def _plan_of(written: Any, g: Geometry, needs: tuple[bool, ...]) -> TapePlan:
    """What writes to the same part, or all, of a tensor have in common: loops make the same in every step."""
    key = written, g, needs
    return _plans.get(key) or _plans.recall(key) \
        or _plans.keep(key, TapePlan(needs, TapeKind((), False, PATIENCE), True, GradFn))


class Overwritten(GradFn):
    """History of a tensor that was overwritten: the gradient of what it was before is zero."""

    __slots__ = ()

    def run(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """Zeros for what was overwritten, and the gradient for what was written, if that is not constant."""
        grad = grads[0]
        return None if grad is None else grad.new_zeros(grad.shape), grad


def rebase(x: Tensor, result: Tensor, history_edge: Any, name: str) -> None:
    """Give x, or the base that x is a view of, the history of what was written."""
    base = x._base
    if base is None or x._view is None:
        if x._requires_grad and (name in _OVERWRITING or not result._requires_grad):
            fn, number = _overwritten(x, name, edge(x), edge(result) if result._requires_grad else None), 0
        elif not result._requires_grad:
            return
        elif result._grad_fn is None:  # a leaf
            fn, number = result.clone()._grad_fn, 0
        else:
            fn, number = result._grad_fn, result._output_nr
            if fn.saved:
                _keep_written(fn, x, result)
        _move_hooks(x, fn, number)
        x._grad_fn, x._output_nr, x._requires_grad = fn, number, True
        return
    if not (result._requires_grad or base._requires_grad):
        return
    written = None
    if result._requires_grad:
        written = edge(result)
        if result._grad_fn is not None and result._grad_fn.saved:
            _keep_written(result._grad_fn, x, result)
    fn = object.__new__(CopySlices)
    GradFn.__init__(fn)
    fn.chain = making_of(x)
    fn.edges = (history_edge, written)
    fn.signature = fn.numbers = None
    fn.plan = _plan_of(fn.chain, base._geometry, (history_edge is not None, written is not None))
    fn.saved = ()
    _move_hooks(base, fn, 0)
    base._grad_fn, base._output_nr, base._requires_grad = fn, 0, True
    x._base_version = -1  # make the view's history anew when asked for


def keep_original(x: Tensor, fn: GradFn) -> None:
    """Where the derivative of an in-place operator needs what x was before, keep a copy of that."""
    if fn.saved and fn.plan is not None and 0 in fn.plan.kept:
        at = 2 * fn.plan.kept.index(0)
        saved = fn.saved[at]
        if saved is x:
            original = x.clone()
            fn.saved = (*fn.saved[:at], original, original._version, *fn.saved[at + 2:])
        elif saved.__class__ is SavedTensor \
                and x is (saved.tensor if saved.source is None else saved.source()):
            fn.saved = (*fn.saved[:at], save(x.clone()), None, *fn.saved[at + 2:])


def _keep_written(fn: GradFn, x: Tensor, result: Tensor) -> None:
    """Where fn keeps its result, keep what the result was written to instead."""
    at = next((i for i, kept in enumerate(fn.saved) if kept is result._storage), None)
    if at is None:
        return
    version = x._storage.version
    alike = x._geometry is result._geometry and x._storage.__class__ is Storage
    now = (x._storage, version) if alike else \
        (SavedTensor(detached(x), version, None, True), None)
    fn.saved = (*fn.saved[:at], *now, *fn.saved[at + 2:])


def _move_hooks(x: Tensor, fn: GradFn, output_nr: int) -> None:
    """What retains the gradient of x belongs to its new history."""
    if x._retains_grad and x._grad_fn is not None and x._grad_fn.hooks is not None:
        retained = x._grad_fn.hooks.retained.pop(x._output_nr, None)
        if retained is not None:
            hooks_of(fn).retained[output_nr] = retained


def _overwritten(x: Tensor, name: str, before: Any, written: Any) -> GradFn:
    """History of a tensor that ``name`` overwrote; edges to what it was, and to what was written."""
    kind = _overwriting_class(name, written is not None)
    fn = object.__new__(kind)
    GradFn.__init__(fn)
    fn.edges = (before, written) if written is not None or name == "copy_" else (before,)
    fn.signature = fn.numbers = None
    fn.plan = _plan_of(kind, x._geometry, tuple([target is not None for target in fn.edges]))
    fn.saved = ()
    return fn


_OVERWRITING = {"copy_", "fill_", "fill_subscript_"}    # with another tensor's values, whatever there was
_overwriting_classes: dict[tuple[str, bool], type[Overwritten]] = {}
_TITLES = {"copy_": "CopyBackwards", "fill_": "FillBackward2", "fill_subscript_": "FillBackward3"}


def _overwriting_class(name: str, recorded: bool) -> type[Overwritten]:
    made = _overwriting_classes.get((name, recorded))
    if made is None:
        title = _TITLES.get(name) or \
            "".join(part.capitalize() for part in name.strip("_").split("_")) + "Backward0"
        if recorded and name == "fill_":
            title = "FillBackward3"
        made = type(title, (Overwritten,), {"__slots__": ()})
        _overwriting_classes[name, recorded] = made
    return made
