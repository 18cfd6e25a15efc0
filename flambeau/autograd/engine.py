"""backward(): walking the tape.

GradFns run in descending order of their sequence number (Note: edges). Each gives gradients for its edges;
broadcasting is undone and dtypes are restored here and nowhere else.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any

from ..graph.geometry import Geometry
from ..graph.storage import Storage
from ..operators.calls.extents import type_in_checks
from ..operators.pointwise.arithmetic import ADD
from ..operators.reductions.reduction import unbroadcast
from ..tensor import Tensor, overrides, record_pair, state
from ..tensor.attributes import blank
from ..tensor.tape import GradFn, SavedTensor
from .accumulating import accumulate_grad, sum_with_sparse
from .anomaly_mode import check_nan, describe_forward
from .formal import formally
from .running_hooks import run_post_hooks, run_pre_hooks, run_tensor_hooks
from .unpacking import reconnected

_new = object.__new__
FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have "
    "already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
    "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or "
    "if you need to access saved tensors after calling backward.")
SWAPPED = (
    "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to "
    "run backward on a tensor that was swapped. For a module m with "
    "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device or dtype "
    "of the module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, "
    "please only change the device/dtype before running forward (or after both forward and backward).")


class Walk:
    """One backward pass."""

    __slots__ = ("at", "heap", "waiting", "create_graph", "retain", "capture", "leaf_results", "wanted")

    def __init__(self, retain: bool, create_graph: bool) -> None:
        self.at = sys.maxsize                           # the sequence number of what gives gradients now
        self.heap: list[int] = []                       # sequence numbers of what waits, negated
        self.waiting: dict[int, tuple[GradFn, list[Any]]] = {}
        self.retain = retain
        self.create_graph = create_graph
        # (GradFn, output number) -> gradient, for autograd.grad
        self.capture: dict[tuple[Any, int], Any] = {}
        self.leaf_results: dict[int, tuple[Tensor, Any]] = {}  # id(leaf) -> leaf, gradient
        self.wanted: set[Any] | None = None             # GradFns that lead to a wanted input

    def give(self, target: Any, grad: Any) -> None:
        """Add a gradient to what an edge leads to."""
        number = 0
        if target.__class__ is tuple:
            target, number = target
        elif not isinstance(target, GradFn):
            if target._swapped > self.at:
                raise RuntimeError(SWAPPED)
            waiting = self.leaf_results.get(id(target))
            self.leaf_results[id(target)] = (target, grad if waiting is None else self.add(waiting[1], grad))
            return
        at = -target.sequence
        found = self.waiting.get(at)
        if found is None:
            heappush(self.heap, at)
            if target.plan is not None and target.plan.single:
                self.waiting[at] = target, [grad]
                return
            signature = target.signature
            count = target.output_count if signature is None else len(signature.outputs)
            grads = [None] * max(count, number + 1)
            self.waiting[at] = target, grads
            grads[number] = grad
            return
        grads = found[1]
        have = grads[number]
        grads[number] = grad if have is None else self.add(have, grad)

    def add(self, have: Any, grad: Any) -> Any:
        """The sum of two gradients for the same place."""
        if have._sparse or grad._sparse:
            return sum_with_sparse(have, grad)
        return sum_of(have, grad)

    def run(self) -> None:
        """Run until nothing waits."""
        while self.heap:
            self.step(*self.waiting.pop(heappop(self.heap)))

    def step(self, fn: GradFn, grads: list[Any]) -> None:
        """Give the gradients of what fn was computed from, for those of its outputs."""
        if not self.is_wanted(fn, grads):
            return
        self.at = fn.sequence
        if fn.hooks is not None:
            grads = run_pre_hooks(fn, run_tensor_hooks(fn, grads))
        results = gradients(fn, grads) if not state.anomaly else _checked_gradients(fn, grads)
        if fn.hooks is not None and fn.hooks.post:
            results = run_post_hooks(fn, results, grads)
        self.pass_on(fn, results)

    def pass_on(self, fn: GradFn, results: Sequence[Any]) -> None:
        """Let go of what fn kept, and give its operands' gradients to its edges."""
        if not self.retain:
            if fn.signature is None:
                fn.release()
            elif fn.plan.frees:
                fn.saved = None
        for target, grad in zip(fn.edges, results):
            if target is not None and grad is not None:
                self.give(target, grad)

    def is_wanted(self, fn: GradFn, grads: list[Any]) -> bool:
        """Whether fn has to run. What is only asked for is remembered as the hooks of tensors leave it."""
        runs = self.wanted is None or fn in self.wanted
        if not runs and fn.hooks is not None and any(place[0] is fn for place in self.capture):
            grads = run_tensor_hooks(fn, grads)
        self.note(fn, grads)
        return runs

    def note(self, fn: GradFn, grads: list[Any]) -> None:
        """Remember gradients that were asked for."""
        if self.capture:
            for number, grad in enumerate(grads):
                if (fn, number) in self.capture:
                    self.capture[fn, number] = grad

    def leaf_gradient(self, leaf: Tensor) -> Any:
        """What reached a leaf; None where nothing did."""
        found = self.leaf_results.get(id(leaf))
        return None if found is None else found[1]

    def finish_in_part(self, starts: Sequence[Any]) -> None:
        """After an error, accumulate what had reached leaves to which nothing else would have come."""
        incomplete = _leaves_from(starts, self.at)
        for at in incomplete & self.leaf_results.keys():
            del self.leaf_results[at]
        self.finish()

    def finish(self) -> None:
        """Accumulate what reached leaves into their ``.grad``."""
        for leaf, grad in self.leaf_results.values():
            if leaf._requires_grad:  # not detached since
                accumulate_grad(leaf, grad, self.create_graph)


def _leaves_from(starts: Sequence[Any], last: int) -> set[int]:
    """Ids of the leaves to which GradFns lead whose sequence number is at most ``last``."""
    return {id(end) for fn in _all_from(starts) if fn.sequence <= last for end in _ends(fn)
            if not isinstance(end, GradFn)}


def _all_from(starts: Iterable[Any]) -> Iterator[GradFn]:
    """The GradFns among ``starts``, and all that edges lead to from them."""
    seen: set[GradFn] = set()
    stack = [start for start in starts if isinstance(start, GradFn)]
    while stack:
        fn = stack.pop()
        if fn not in seen:
            seen.add(fn)
            yield fn
            stack += [end for end in _ends(fn) if isinstance(end, GradFn)]


def _ends(fn: GradFn) -> list[Any]:
    """What the edges lead to, GradFns and leaves."""
    return [target[0] if target.__class__ is tuple else target for target in fn.edges if target is not None]


def sum_of(have: Tensor, grad: Tensor) -> Tensor:
    """The sum of two dense gradients for the same place, whose shape may have been changed unrecorded."""
    if have._geometry.shape != grad._geometry.shape:
        raise RuntimeError(f"Function AccumulateGrad returned an invalid gradient at index 0 - got "
                           f"{list(grad.shape)} but expected shape compatible with {list(have.shape)}")
    return record_pair(ADD, have, grad)


def _checked_gradients(fn: GradFn, grads: list[Any]) -> Sequence[Any]:
    try:
        results = gradients(fn, grads)
    except Exception:
        describe_forward(fn)
        raise
    if state.check_nan:
        check_nan(fn, results)
    return results


def gradients(fn: GradFn, grads: list[Any]) -> Sequence[Any]:
    """The gradients of a GradFn's operands for those of its outputs."""
    if fn.signature is None:
        return fn.run(tuple(grads))
    if fn.saved is None:
        raise RuntimeError(FREED)
    if overrides.active():   # rules compute with plain tensors, and nobody sees how
        with overrides.DisableTorchFunction():
            return _by_rules(fn, grads)
    return _by_rules(fn, grads)


def _by_rules(fn: GradFn, grads: list[Any]) -> Sequence[Any]:
    operator = fn.signature.operator
    grad = grads[0] if fn.signature.single else tuple(grads)
    if operator.variadic_derivative is not None:
        return operator.variadic_derivative(fn, grad)
    needs = fn.plan.needs
    results: list[Any] = [None] * len(needs)
    read = _reading_once() if SavedTensor in map(type, fn.saved) else kept
    for d in operator.derivatives:
        positions = d.operands
        if len(positions) == 1:
            i = positions[0]
            if needs[i]:
                results[i] = fit(d.rule(fn, grad, *[read(fn, k) for k in d.keeps]),
                                 fn.signature.geometries[i])
                if d.formal and state.enabled:
                    results[i] = formally(results[i], fn, d.formal)
        elif any([needs[i] for i in positions]):  # noqa: C419 (a list is faster than a generator)
            several = d.rule(fn, grad, *[read(fn, k) for k in d.keeps])
            for i, one in zip(positions, several):
                if needs[i]:
                    results[i] = fit(one, fn.signature.geometries[i])
                    if d.formal and state.enabled:
                        results[i] = formally(results[i], fn, d.formal)
    return results


def _reading_once() -> Any:
    """``kept``, which unpacks a tensor once for all rules: hooks count."""
    found: dict[int, Any] = {}

    def read(fn: GradFn, position: int) -> Any:
        if position not in found:
            found[position] = kept(fn, position)
        return found[position]
    return read


def fit(grad: Any, geometry: Geometry) -> Any:
    """Undo broadcasting and promotion: the gradient in its operand's shape and dtype."""
    if grad is None:
        return None
    g = grad._geometry
    if g is geometry:
        return grad
    if g.shape != geometry.shape:
        grad = unbroadcast(grad, geometry.shape)
    if g.dtype is not geometry.dtype:
        if g.dtype.is_complex and not geometry.dtype.is_complex:
            grad = grad.real
        grad = grad.to(geometry.dtype)
    return grad


def kept(fn: GradFn, position: int) -> Any:
    """What a derivative keeps: an operand (a number as itself) or an output (as ~number)."""
    at = 2 * fn.plan.kept.index(position)
    found = fn.saved[at] if fn.saved else None
    if found is None:
        return None if fn.numbers is None or position < 0 else fn.numbers[position]
    if found.__class__ is SavedTensor:
        return unpack(fn, found, position)
    if found.__class__ is Storage:
        x = _new(Tensor)
        x._storage, x._geometry = found, fn.signature.outputs[~position]
        x._requires_grad = False
        x._grad_fn = x._counter = x._base = None
    else:
        x = found
        counter = x._counter
        if position >= 0 and not x._swapped \
                and (x._storage.version if counter is None else counter.version) == fn.saved[at + 1]:
            return x    # as ``unpack`` finds most of them
    return unpack(fn, SavedTensor(x, fn.saved[at + 1], None, position < 0), position)


def unpack(fn: GradFn, saved: SavedTensor, position: int, seen: bool = False) -> Any:
    """A saved tensor, checked for in-place writes since; one that users see has its history in any case."""
    if saved.unpack is not None:
        found = saved.unpack(saved.tensor)
        if not isinstance(found, Tensor):
            raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                            f"type {type(found).__name__}")
        return reconnected(fn, saved, found, position) if seen or state.enabled else found
    x = saved.tensor
    if x._swapped > fn.sequence:
        raise RuntimeError(SWAPPED)
    counter = x._counter
    if (x._storage.version if counter is None else counter.version) != saved.version:
        maker = fn if saved.is_output else x._grad_fn
        number = ~position if saved.is_output else x._output_nr
        raise modified_error(x, saved.version, maker, number, bool(fn.trace))
    if saved.is_output and (seen or state.enabled):
        again = blank(Tensor)
        again._storage, again._geometry = x._storage, x._geometry
        again._grad_fn, again._output_nr, again._requires_grad = fn, ~position, True
        return again
    return x


def _operator_of(fn: GradFn) -> str:
    """The name that errors give an operator: ``Exp`` for ``ExpBackward0``."""
    return re.sub(r"Backward\d*$", "", fn.name())


def modified_error(x: Tensor, expected: int, maker: GradFn | None, number: int,
                   traced: bool = False) -> RuntimeError:
    """What backward says of a saved tensor that was written since: result ``number`` of ``maker``."""
    produced = f", which is output {number} of {_operator_of(maker)}," if maker else ""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{type_in_checks(x._geometry)} {list(x.shape)}]{produced} is at version {x._version}; expected "
        f"version {expected} instead. Hint: "
        + ("the backtrace further above shows the operation that failed to compute its gradient. The "
           "variable in question was changed in there or anywhere later. Good luck!" if traced else
           "enable anomaly detection to find the operation that failed to compute its gradient, with "
           "torch.autograd.set_detect_anomaly(True, check_nan=False)."))


def reachable_to(roots: Iterable[Any], targets: set[Any]) -> set[Any]:
    """The GradFns from which one of ``targets`` (GradFns, or ids of leaves) is reached.

    Edges lead to older GradFns: nothing that is older than all targets is looked at, so that each step of an
    unrolled loop looks at itself and not at all steps before it.
    """
    oldest = min([t.sequence if isinstance(t, GradFn) else -1 for t in targets], default=0)
    keys: dict[GradFn, list[Any]] = {}
    stack = [root for root in roots if isinstance(root, GradFn)]
    while stack:
        fn = stack.pop()
        if fn not in keys and fn.sequence >= oldest:
            ends = _ends(fn)
            stack += [end for end in ends if isinstance(end, GradFn)]
            keys[fn] = [end if isinstance(end, GradFn) else id(end) for end in ends]
    useful, known = set(), {*targets}
    for fn in sorted(keys, key=_SEQUENCE):
        if fn in targets or not known.isdisjoint(keys[fn]):
            useful.add(fn)
            known.add(fn)
    return useful


_SEQUENCE = attrgetter("sequence")
