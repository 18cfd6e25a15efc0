"""Gradients for a batch of starting gradients: what ``grad(..., is_grads_batched=True)`` computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tensor import Tensor


def batched_grad(roots: Sequence[Tensor], wanted: Sequence[Tensor], grad_outputs: Any, retain_graph: bool
                 | None, create_graph: bool, allow_unused: bool, materialize_grads: bool) -> tuple[Any, ...]:
    """The gradients for each entry of the first dimension (B, ...) of ``grad_outputs``, stacked: (B, *shape).

    The rows of a Jacobian are the gradients for the rows of the identity:

    >>> import flambeau as torch
    >>> x = torch.tensor([1., 2.], requires_grad=True)
    >>> torch.autograd.grad(x ** 2, x, torch.eye(2), is_grads_batched=True)
    (tensor([[2., 0.],
            [0., 4.]]),)
    """
    from .backward import grad
    batches = _batches(roots, grad_outputs)
    last = batches[0].shape[0] - 1
    rows = []
    for i in range(last + 1):
        retain = True if i < last else retain_graph  # the graph is still needed by the entries that follow
        rows.append(grad(roots, wanted, [batch[i] for batch in batches], retain, create_graph,
                         allow_unused=allow_unused))
    return tuple([_stacked(column, x, materialize_grads) for column, x in zip(zip(*rows), wanted)])


def _batches(roots: Sequence[Tensor], given: Any) -> list[Tensor]:
    """The starting gradients of each output, (B, *its shape), checked."""
    grads = [None] * len(roots) if given is None else given if isinstance(given, (tuple, list)) else [given]
    found: list[Tensor] = []
    for i, (root, grad) in enumerate(zip(roots, grads)):
        if grad is not None and grad[0].shape != root.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the "
                "batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of "
                f"corresponding output, but a mismatch was detected: grad_output[{i}] has a shape of "
                f"{grad[0].shape} and output[{i}] has a shape of {root.shape}. If you only want some tensors "
                "in "
                "`grad_output` to be considered batched, consider using vmap.")
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


def _stacked(column: tuple[Any, ...], x: Tensor, materialize: bool) -> Any:
    if column[0] is None:
        from ..operators.creation import zeros_like
        return zeros_like(x) if materialize else None
    from ..operators.joining import stack
    return stack(column)
