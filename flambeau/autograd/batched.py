"""Gradients for a batch of starting gradients: what ``grad(..., is_grads_batched=True)`` computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..operators.creation.creation import zeros_like
from ..tensor import GradFn, Tensor


def batched_grad(roots: Sequence[Tensor], wanted: Sequence[Tensor], grad_outputs: Any,
                 retain_graph: bool | None, create_graph: bool, allow_unused: bool,
                 materialize_grads: bool) -> tuple[Any, ...]:
    """The gradients for each entry of the first dimension (B, ...) of ``grad_outputs``, stacked: (B, *shape).

    The rows of a Jacobian are the gradients for the rows of the identity:

    >>> import flambeau as torch
    >>> x = torch.tensor([1., 2.], requires_grad=True)
    >>> torch.autograd.grad(x ** 2, x, torch.eye(2), is_grads_batched=True)
    (tensor([[2., 0.],
            [0., 4.]]),)
    """
    from ..func.vectorization import for_each  # made of autograd
    from .backward import grad  # which calls this
    batches = _batches(roots, grad_outputs)

    def one(*weights: Tensor) -> list[Any]:
        # Where vmap cannot be, examples follow one another and still need the graph.
        return list(grad(roots, wanted, weights, True, create_graph, allow_unused=allow_unused))
    found = for_each(one, *batches)
    if not (create_graph if retain_graph is None else retain_graph):
        _release(roots)
    return tuple([_made(each, x, materialize_grads) for each, x in zip(found, wanted)])


def _release(roots: Sequence[Tensor]) -> None:
    """Let go of what the graph kept."""
    pending = [root.grad_fn for root in roots]
    seen: set[int] = set()
    while pending:
        fn = pending.pop()
        if fn is None or id(fn) in seen:
            continue
        seen.add(id(fn))
        if fn.signature is not None:
            fn.saved = None if fn.plan.frees else fn.saved
        elif hasattr(fn, "release"):
            fn.release()
        targets = [edge[0] if edge.__class__ is tuple else edge for edge in fn.edges]
        pending += [target for target in targets if isinstance(target, GradFn)]


def _batches(roots: Sequence[Tensor], given: Any) -> list[Tensor]:
    """The starting gradients of each output, (B, *its shape), checked."""
    grads = [None] * len(roots) if given is None else given if isinstance(given, (tuple, list)) else [given]
    found: list[Tensor] = []
    for i, (root, grad) in enumerate(zip(roots, grads)):
        if grad is not None and grad[0].shape != root.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the "
                "batch dimension. The sizes of the remaining dimensions are expected to match the shape of "
                f"corresponding output, but a mismatch was detected: grad_output[{i}] has a shape of "
                f"{grad[0].shape} and output[{i}] has a shape of {root.shape}. If you only want some tensors "
                "in `grad_output` to be considered batched, consider using vmap.")
        if grad is None and root.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if grad is None:
            raise ValueError("vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that "
                             f"input is a Tensor of dimensionality {root.ndim} so expected in_dim to satisfy "
                             f"0 <= in_dim < {root.ndim}.")
        found.append(grad)
    sizes = [batch.shape[0] for batch in found]
    if len(set(sizes)) > 1:
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got "
                         f"sizes {sizes} for the mapped dimension")
    return found


def _made(found: Any, x: Tensor, materialize: bool) -> Any:
    if found is None and materialize:
        return zeros_like(x)
    return found
