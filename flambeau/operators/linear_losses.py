"""Losses of a linear layer's output."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .linear import linear
from .loss import cross_entropy
from .registry import api


@api("nn.functional")
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``: (N, in) with weights (C, *, in).

    >>> import flambeau as torch
    >>> x, w = torch.ones(2, 3), torch.zeros(4, 3)
    >>> torch.nn.functional.linear_cross_entropy(x, w, torch.tensor([0, 1]))
    tensor(1.3863)
    """
    _check(input, linear_weight, linear_bias)
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    outputs = linear_weight.shape[:-1]
    flat = linear_weight.reshape(-1, linear_weight.shape[-1])
    logits = linear(input, flat, None if linear_bias is None else linear_bias.reshape(-1))
    if len(outputs) > 1:
        logits = logits.reshape(-1, *outputs)
    return cross_entropy(
        logits,
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _check(input: Tensor, weight: Tensor, bias: Any) -> None:
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {weight.ndim}")
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {weight.shape[-1]}, respectively"
        )
    if weight.ndim > 2 and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires batched "
            f"input, (N, {weight.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    if bias is not None and bias.shape != weight.shape[:-1] and tuple(bias.shape) != (weight.shape[0],):
        raise RuntimeError(f"expected linear_bias shape {tuple(weight.shape[:-1])}, got {tuple(bias.shape)}")
