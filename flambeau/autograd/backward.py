"""``backward`` and ``grad``: the entry points of differentiation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from operator import index
from typing import Any

from ..engine import user_site
from ..operators.creation.creation import zeros_like
from ..tensor import Tensor, state
from ..tensor.batching import any_batched, levels, rules
from ..tensor.overrides import active, handle_torch_function, has_torch_function
from ..tensor.tape import GradFn
from ..tensor.warned import warn_once
from .accumulating import accumulate_grad
from .batched import batched_grad
from .engine import Walk, reachable_to
from .formal import reached_from
from .grad_mode import set_grad_enabled
from .readings import tensor
from .starting import inputs_of, outputs_of, place_of, start_of, starting_gradients, tensors_of
from .templates import TemplateWalk, accumulate_all, along_route, may_replay, start_of_route

_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
    "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to "
    "avoid this. If you have to use this function, make sure to reset the .grad fields of your parameters to "
    "None after use to break the cycle and avoid the leak.")
_BOTH = ("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please "
         "only use `grad_tensors`.")


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None,
             create_graph: bool = False, grad_variables: Any = None, inputs: Any = None) -> None:
    """Add the gradients of ``tensors`` to the ``.grad`` of the leaves (or of ``inputs`` only).

    >>> import flambeau as torch
    >>> x = torch.tensor(3., requires_grad=True)
    >>> torch.autograd.backward(x * x)
    >>> x.grad
    tensor(6.)
    """
    if create_graph is not False or not (retain_graph is None or retain_graph.__class__ is bool):
        create_graph, retain_graph = _flags(create_graph, retain_graph)
    roots: Any = None if active() or inputs is not None else tensors_of(tensors)
    if roots is None:
        relevant = (*_each(tensors), *_each(inputs))
        if has_torch_function(relevant):
            return handle_torch_function(backward, relevant, tensors, grad_tensors=grad_tensors,
                                         retain_graph=retain_graph, create_graph=create_graph, inputs=inputs)
    if state.transforms or levels:
        raise RuntimeError(_TRANSFORMED)
    if grad_variables is not None:
        grad_tensors = _under_the_former_name(grad_tensors, grad_variables)
    if roots is None:
        roots = outputs_of(tensors)
    if inputs is not None:
        inputs = inputs_of(inputs, "backward")
    grads = starting_gradients(roots, grad_tensors)
    if create_graph:
        warn_once(_CYCLE)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        _walk(roots, grads, retain, create_graph)
    else:
        _accumulate_into([*{id(x): x for x in inputs}.values()], roots, grads, retain, create_graph)


def _under_the_former_name(grad_tensors: Any, grad_variables: Any) -> Any:
    """What ``backward`` is given as ``grad_variables``, with a warning."""
    warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3)
    if grad_tensors is not None:
        raise RuntimeError(_BOTH)
    return grad_variables


def _accumulate_into(inputs: Sequence[Any], roots: Sequence[Tensor], grads: Sequence[Any], retain: bool,
                     create_graph: bool) -> None:
    """Add the gradients of ``roots`` to the ``.grad`` of ``inputs`` only."""
    for x in inputs:
        if isinstance(x, Tensor):
            x.retain_grad()         # those that are no leaves have their gradient so
    for x, found in zip(inputs, _gradients_of(roots, grads, inputs, retain, create_graph, runs_inputs=True)):
        if found is not None and isinstance(x, Tensor) and x.is_leaf:
            with set_grad_enabled(create_graph):
                accumulate_grad(x, found, create_graph)


def _flags(create_graph: Any, retain_graph: Any) -> tuple[bool, bool | None]:
    """Truth values, which may be given as integers."""
    return bool(index(create_graph)), None if retain_graph is None else bool(index(retain_graph))


def _each(values: Any) -> list[Any]:
    """One tensor, or several, except for sparse ones, which override in this library alone."""
    several = values if isinstance(values, (tuple, list)) else (values,)
    return [x for x in several if not getattr(x, "_sparse", False)]


def _walk(roots: Sequence[Tensor], grads: Sequence[Any], retain: bool, create_graph: bool) -> None:
    replays = may_replay(create_graph)
    starts = tuple([start_of(root) for root in roots])
    before = state.enabled, state.site, state.starts, state.selective
    recorded_at = state.site or user_site()
    try:    # set inside: Ctrl-C may fall between any two function calls
        state.enabled, state.site, state.starts, state.selective = create_graph, recorded_at, starts, False
        known = start_of_route(starts, grads) if replays else None
        if known is not None:
            reached = along_route(*known, (recorded_at, retain, active(), None))
            if reached is not None:
                accumulate_all(reached)
                return
        walk = TemplateWalk(retain, known and known[0]) if replays else Walk(retain, create_graph)
        for start, grad in zip(starts, grads):
            if start is not None:
                walk.give(start, grad)
        try:
            walk.run()
        except Exception:
            walk.finish_in_part([start[0] if start.__class__ is tuple else start for start in starts])
            raise
        walk.finish()
    finally:
        # A pass that is over holds nothing of its graph.
        state.enabled, state.site, state.starts, state.selective = before


def _is_checkpoint_valid() -> bool:
    """Whether a checkpoint may run backward once more: not while only certain gradients are asked for."""
    return not state.selective


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Any, ...]:
    """The gradients of ``outputs`` by ``inputs``, without touching ``.grad``.

    >>> import flambeau as torch
    >>> x = torch.tensor(2., requires_grad=True)
    >>> torch.autograd.grad(x ** 3, x)
    (tensor(12.),)
    """
    if create_graph is not False or not (retain_graph is None or retain_graph.__class__ is bool):
        create_graph, retain_graph = _flags(create_graph, retain_graph)
    roots: Any = None if active() else tensors_of(outputs)
    wanted: Any = None if roots is None else tensors_of(inputs)
    if not wanted:
        relevant = (*_each(outputs), *_each(inputs))
        if has_torch_function(relevant):
            return handle_torch_function(
                grad, relevant, outputs, inputs, grad_outputs=grad_outputs, retain_graph=retain_graph,
                create_graph=create_graph, only_inputs=only_inputs, allow_unused=allow_unused,
                is_grads_batched=is_grads_batched, materialize_grads=materialize_grads)
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but "
                         "got: allow_unused=False.")
    allow = bool(materialize_grads) if allow_unused is None else allow_unused
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To "
                      "accumulate gradient for other parts of the graph, please use "
                      "torch.autograd.backward.", FutureWarning,
                      stacklevel=2)
    if not wanted:
        roots, wanted = outputs_of(outputs), inputs_of(inputs, "grad")
    if levels and any_batched((*roots, *wanted)):
        options = {"retain_graph": retain_graph, "create_graph": create_graph, "allow_unused": allow,
                   "materialize_grads": materialize_grads}
        return rules.grad(grad, roots, wanted, grad_outputs, options)
    are_leaves = all([_is_dense_leaf(x) for x in wanted])   # noqa: C419 (a list is faster than a generator)
    # The gradients of sparse tensors are those of their entries (Note: sparse tensors).
    if not are_leaves and any(isinstance(x, Tensor) and x._sparse for x in wanted):
        entries = [x._entries if x._sparse else x for x in wanted]
        theirs = grad(roots, entries, grad_outputs, retain_graph, create_graph, True, allow, is_grads_batched,
                      materialize_grads)
        return tuple(x._with(g) if x._sparse and g is not None else g for x, g in zip(wanted, theirs))
    if is_grads_batched:
        return batched_grad(roots, wanted, grad_outputs, retain_graph, create_graph, allow, materialize_grads)
    starting = starting_gradients(roots, grad_outputs)
    if not are_leaves and any(isinstance(x, Tensor) and not x.requires_grad for x in wanted):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    found = _gradients_of(roots, starting, wanted, create_graph if retain_graph is None else retain_graph,
                          create_graph, are_leaves=are_leaves)
    if all([one is not None for one in found]):  # noqa: C419
        return tuple(found)
    return _filled_up(found, wanted, roots, allow, materialize_grads, create_graph)


def _is_dense_leaf(x: Any) -> bool:
    return isinstance(x, Tensor) and not x._sparse and x._grad_fn is None and x._base is None \
        and x._requires_grad


def _filled_up(found: Sequence[Any], wanted: Sequence[Any], roots: Sequence[Tensor], allow: bool,
               materialize: bool, create_graph: bool) -> tuple[Any, ...]:
    """What ``grad`` gives: zeros where a gradient is undefined, an error where nothing leads to an input."""
    results = []
    reached = reached_from(map(start_of, roots))
    for i, (x, one) in enumerate(zip(wanted, found)):
        if one is None and (place_of(x) or id(x)) in reached:
            one = zeros_like(x, requires_grad=create_graph)
        if one is None and not allow:
            raise RuntimeError(f"The differentiated Tensor at index {i} appears to not have been used in the "
                               "graph. Set allow_unused=True if this is the desired behavior.")
        if one is None and materialize:
            one = zeros_like(x, requires_grad=create_graph)
        results.append(one)
    return tuple(results)


def _gradients_of(roots: Sequence[Tensor], grads: Sequence[Any], inputs: Sequence[Tensor], retain: bool,
                  create_graph: bool, runs_inputs: bool = False, are_leaves: bool = False) -> list[Any]:
    """``runs_inputs``: what computed the inputs runs as well, though nothing further is asked for.

    ``are_leaves``: the inputs are known to be leaves.
    """
    replays = may_replay(create_graph)
    places = [None] * len(inputs) if are_leaves else [place_of(x) for x in inputs]
    are_leaves = are_leaves or places.count(None) == len(places)
    targets: set[Any] = {*map(id, inputs)} if are_leaves \
        else {id(x) if place is None else place[0] for x, place in zip(inputs, places)}
    starts = tuple([start_of(root) for root in roots])
    recorded_at = state.site or user_site()
    known = start_of_route(starts, grads) if replays and are_leaves else None
    if known is not None:
        reached = along_route(*known, (recorded_at, retain, active(), targets))
        if reached is not None:
            found = {id(leaf): gradient for leaf, gradient in reached}
            return [tensor(found.get(id(x))) if x._hooks is None
                    else _hooked(x, tensor(found.get(id(x))), create_graph, runs_inputs) for x in inputs]
    walk = TemplateWalk(retain, known and known[0]) if replays else Walk(retain, create_graph)
    walk.capture = {place: None for place in places if place is not None}
    before = state.enabled, state.site, state.starts, state.selective
    try:    # set inside: Ctrl-C may fall between any two function calls
        state.enabled, state.site, state.starts, state.selective = create_graph, recorded_at, starts, True
        for start, g in zip(starts, grads):
            if start is not None:
                walk.give(start, g)
        walk.wanted = _leading_to(starts, targets, runs_inputs)
        walk.run()
    finally:
        # A pass that is over holds nothing of its graph.
        state.enabled, state.site, state.starts, state.selective = before
    return [_hooked(x, walk.leaf_gradient(x), create_graph, runs_inputs) if place is None
            else walk.capture[place] for x, place in zip(inputs, places)]


def _hooked(leaf: Tensor, found: Any, create_graph: bool, runs_inputs: bool) -> Any:
    """The gradient of a leaf, after its hooks where they are not to run later."""
    if found is None or leaf._hooks is None or runs_inputs:
        return found
    with set_grad_enabled(create_graph):
        return leaf._hooks.run(found)


def _leading_to(starts: Sequence[Any], targets: set[Any], with_targets: bool) -> set[Any]:
    """The GradFns that have to run; what is only captured need not be differentiated further."""
    fns = [s[0] if s.__class__ is tuple else s for s in starts]
    wanted = reachable_to([f for f in fns if isinstance(f, GradFn)], targets)
    return {fn for fn in wanted if with_targets or fn not in targets or _leads_on(fn, wanted, targets)}


def _leads_on(fn: GradFn, wanted: set[Any], targets: set[Any]) -> bool:
    for target in fn.edges:
        found = target[0] if target.__class__ is tuple else target
        if found is not None and (found in wanted if isinstance(found, GradFn) else id(found) in targets):
            return True
    return False


_TRANSFORMED = (
    "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
    "functorch.vjp instead or call backward() outside of functorch transforms.")


def _tensor_backward(self: Tensor, gradient: Any = None, retain_graph: bool | None = None,
                     create_graph: bool = False, inputs: Any = None) -> None:
    """Add the gradients of this tensor to the ``.grad`` of the leaves it was computed from.

    >>> import flambeau as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_tensor_backward.__name__, _tensor_backward.__qualname__ = "backward", "Tensor.backward"
Tensor.backward = _tensor_backward  # type: ignore[attr-defined]
