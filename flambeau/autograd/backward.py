"""``backward`` and ``grad``: the entry points of differentiation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..engine import user_site
from ..operators.creation import filled, ones_like, zeros_like
from ..tensor import Tensor, state
from ..tensor.batching import any_batched, levels, rules
from ..tensor.history import edge
from ..tensor.tape import GradFn
from .batched import batched_grad
from .engine import Walk, accumulate_grad, reachable_to
from .modes import set_grad_enabled
from .templates import TemplateWalk, may_replay


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None,
             create_graph: bool = False, grad_variables: Any = None, inputs: Any = None) -> None:
    """Add the gradients of ``tensors`` to the ``.grad`` of the leaves (or of ``inputs`` only).

    >>> import flambeau as torch
    >>> x = torch.tensor(3., requires_grad=True)
    >>> torch.autograd.backward(x * x)
    >>> x.grad
    tensor(6.)
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning,
                      stacklevel=2)
        grad_tensors = grad_variables if grad_tensors is None else grad_tensors
    roots = _as_tuple(tensors)
    if inputs is not None:
        inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    grads = _starting_gradients(roots, grad_tensors)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        _walk(roots, grads, retain, create_graph)
        return
    for x, found in zip(inputs, _gradients_of(roots, grads, inputs, retain, create_graph)):
        if found is not None:
            with set_grad_enabled(create_graph):
                accumulate_grad(x, found, create_graph)


def _new_walk(retain: bool, create_graph: bool) -> Walk:
    return TemplateWalk(retain) if may_replay(create_graph) else Walk(retain, create_graph)


def _walk(roots: Sequence[Tensor], grads: Sequence[Any], retain: bool, create_graph: bool) -> None:
    walk = _new_walk(retain, create_graph)
    before, site = state.enabled, state.site
    recorded_at = site or user_site()
    try:    # set inside: Ctrl-C may fall between any two function calls
        state.enabled, state.site = create_graph, recorded_at
        for root, grad in zip(roots, grads):
            start = edge(root)
            if start is not None:
                walk.give(start, grad)
        walk.run()
        walk.finish()
    finally:
        state.enabled, state.site = before, site


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Any, ...]:
    """The gradients of ``outputs`` by ``inputs``, without touching ``.grad``.

    >>> import flambeau as torch
    >>> x = torch.tensor(2., requires_grad=True)
    >>> torch.autograd.grad(x ** 3, x)
    (tensor(12.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but "
                         "got: allow_unused=False.")
    allow = bool(materialize_grads) if allow_unused is None else allow_unused
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To "
                      "accumulate gradient for other parts of the graph, please use "
                      "torch.autograd.backward.", FutureWarning,
                      stacklevel=2)
    roots, wanted = _as_tuple(outputs), _as_tuple(inputs)
    if levels and any_batched((*roots, *wanted)):
        options = {"retain_graph": retain_graph, "create_graph": create_graph, "allow_unused": allow,
                   "materialize_grads": materialize_grads}
        return rules.grad(grad, roots, wanted, grad_outputs, options)
    if any(x._sparse for x in wanted):  # their gradients are those of their entries (Note: sparse tensors)
        entries = [x._entries if x._sparse else x for x in wanted]
        theirs = grad(roots, entries, grad_outputs, retain_graph, create_graph, True, allow, is_grads_batched,
                      materialize_grads)
        return tuple(x._with(g) if x._sparse and g is not None else g for x, g in zip(wanted, theirs))
    if is_grads_batched:
        return batched_grad(roots, wanted, grad_outputs, retain_graph, create_graph, allow, materialize_grads)
    starting = _starting_gradients(roots, grad_outputs)
    for x in wanted:
        if not x.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    found = _gradients_of(roots, starting, wanted, create_graph if retain_graph is None else retain_graph,
                          create_graph)
    results = []
    for i, (x, one) in enumerate(zip(wanted, found)):
        if one is None and not allow:
            raise RuntimeError(f"The differentiated Tensor at index {i} appears to not have been used in the "
                               "graph. Set allow_unused=True if this is the desired behavior.")
        if one is None and materialize_grads:
            one = zeros_like(x, requires_grad=create_graph)
        results.append(one)
    return tuple(results)


def _gradients_of(roots: Sequence[Tensor], grads: Sequence[Any], inputs: Sequence[Tensor], retain: bool,
                  create_graph: bool) -> list[Any]:
    walk = _new_walk(retain, create_graph)
    targets: set[Any] = set()
    places: list[Any] = []
    for x in inputs:
        fn = x.grad_fn
        if fn is None:
            places.append(None)
            targets.add(id(x))
        else:
            places.append((fn, x.output_nr))
            walk.capture[fn, x.output_nr] = None
            targets.add(fn)
    starts = [edge(root) for root in roots]
    fns = [s[0] if s.__class__ is tuple else s for s in starts]
    walk.wanted = reachable_to([f for f in fns if isinstance(f, GradFn)], targets)
    # What is only captured need not be differentiated further.
    walk.wanted = {fn for fn in walk.wanted if fn not in targets or _leads_on(fn, walk.wanted, targets)}
    before, site = state.enabled, state.site
    recorded_at = site or user_site()
    try:    # set inside: Ctrl-C may fall between any two function calls
        state.enabled, state.site = create_graph, recorded_at
        for start, g in zip(starts, grads):
            if start is not None:
                walk.give(start, g)
        walk.run()
    finally:
        state.enabled, state.site = before, site
    results = []
    for x, place in zip(inputs, places):
        found = walk.leaf_gradient(x) if place is None else walk.capture[place]
        if found is not None and place is None and x._hooks is not None:
            with set_grad_enabled(create_graph):
                found = x._hooks.run(found)
        results.append(found)
    return results


def _leads_on(fn: GradFn, wanted: set[Any], targets: set[Any]) -> bool:
    for target in fn.edges:
        found = target[0] if target.__class__ is tuple else target
        if found is not None and (found in wanted if isinstance(found, GradFn) else id(found) in targets):
            return True
    return False


def _starting_gradients(roots: Sequence[Tensor], given: Any) -> list[Tensor]:
    grads = [None] * len(roots) if given is None else list(_as_tuple(given))
    if len(grads) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    return [_starting_gradient(root, g) for root, g in zip(roots, grads)]


def _starting_gradient(root: Tensor, given: Any) -> Tensor:
    if not root.requires_grad:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    if given is None:
        if root.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if root.dtype.category != dtypes.FLOATING:
            raise RuntimeError("grad can be implicitly created only for real scalar outputs but got "
                               f"{root.dtype!r}")
        g = root._geometry
        return filled(g, 1) if g.offset == 0 and g.is_contiguous else ones_like(root)
    if not isinstance(given, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(given).__name__}")
    if given.shape != root.shape:
        raise RuntimeError(f"Mismatch in shape: grad_output[0] has a shape of {given.shape} and output[0] "
                           f"has a shape of {root.shape}.")
    if given.is_complex() != root.is_complex():
        raise RuntimeError("For complex Tensors, both grad_output and output are required to have the same "
                           f"dtype. Mismatch in dtype: grad_output[0] has a dtype of {given.dtype!r} and "
                           f"output[0] has a dtype of {root.dtype!r}.")
    return given.to(root.dtype)


def _tensor_backward(self: Tensor, gradient: Any = None, retain_graph: bool | None = None,
                     create_graph: bool = False, inputs: Any = None) -> None:
    """Add the gradients of this tensor to the ``.grad`` of the leaves it was computed from."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


Tensor.backward = _tensor_backward  # type: ignore[attr-defined]
