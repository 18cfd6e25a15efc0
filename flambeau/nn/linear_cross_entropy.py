"""Losses of a linear layer's output, all at once or in pieces of the batch."""

from __future__ import annotations

import warnings
from typing import Any

from .. import operators as ops
from ..autograd import Function, enable_grad
from ..autograd.backward import grad as gradients
from ..dtypes import dtype, int64
from ..operators.declaration.registry import api
from ..operators.losses.loss import cross_entropy
from ..operators.products.linear import linear
from ..tensor import Tensor


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
    options: Any = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``: (N, in) with weights (C, *, in).

    With ``options`` (``nn.LinearCrossEntropyOptions``) the logits are computed in pieces of the batch, and
    again in backward.

    >>> import flambeau as torch
    >>> x, w = torch.ones(2, 3), torch.zeros(4, 3)
    >>> torch.nn.functional.linear_cross_entropy(x, w, torch.tensor([0, 1]))
    tensor(1.3863)
    """
    _check(input, linear_weight, linear_bias)
    if ignore_index is not None and target.is_floating_point():
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None:
        if _is_chunked(linear_weight, target, linear_bias, reduction, label_smoothing):
            return _in_pieces(input, linear_weight, linear_bias, target, weight, reduction, ignored, options)
    outputs = linear_weight.shape[:-1]
    flat = linear_weight.reshape(-1, linear_weight.shape[-1])
    logits = linear(input, flat, None if linear_bias is None else linear_bias.reshape(-1))
    if len(outputs) > 1:
        logits = logits.reshape(-1, *outputs)
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _is_chunked(linear_weight: Tensor, target: Tensor, bias: Any, reduction: str, smoothing: float) -> bool:
    """Whether the loss is one that is computed in pieces; warns if not."""
    more = tuple(linear_weight.shape[1:-1])
    reductions = ("mean", "sum", "none")
    if reduction in reductions and smoothing == 0 and target.dtype is int64 and not more:
        return True
    shape = None if bias is None else tuple(bias.shape)
    warnings.warn(
        "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, "
        f"label_smoothing == 0, target.dtype == int64, out_features == (). Got reduction={reduction!r}, "
        f"label_smoothing={smoothing}, target.dtype={target.dtype}, out_features={more}, tracing=False, "
        f"linear_bias.shape={shape}.",
        stacklevel=3,
    )
    return False


def _in_pieces(
    input: Tensor,
    linear_weight: Tensor,
    bias: Any,
    target: Tensor,
    weight: Any,
    reduction: str,
    ignore_index: int,
    options: Any,
) -> Tensor:
    """The loss by pieces; "mean" is the sum of losses by the sum of their weights."""
    x, classes = input.reshape(-1, input.shape[-1]), target.reshape(-1)
    rows = options.rows_of_piece(x.shape[0], x.shape[1], linear_weight.shape[0])
    sums = options.accumulation_dtype(input.dtype)
    losses: Tensor = _PiecewiseLoss.apply(x, linear_weight, bias, classes, weight, ignore_index, rows, sums)
    if reduction == "none":
        return losses.to(input.dtype).reshape(target.shape)
    total = losses.sum()
    if reduction == "mean":
        counted = classes != ignore_index
        total = total / (counted.sum() if weight is None else weight[classes * counted].mul(counted).sum())
    return total.to(input.dtype)


class _PiecewiseLoss(Function):
    """The losses (N,) of linear + cross entropy; logits exist for one piece of rows at a time."""

    _suits_transforms = True

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        linear_weight: Tensor,
        bias: Any,
        target: Tensor,
        weight: Any,
        ignore_index: int,
        rows: int,
        sums: dtype,
    ) -> Tensor:
        ctx.save_for_backward(x, linear_weight, bias, target, weight)
        ctx.ignore_index, ctx.rows, ctx.sums = ignore_index, rows, sums
        pieces = zip(x.split(rows), target.split(rows))
        losses = [_losses(piece, linear_weight, bias, y, weight, ignore_index, sums) for piece, y in pieces]
        return ops.cat(losses)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, linear_weight, bias, target, weight = ctx.saved_tensors
        parameters = [p for p in (linear_weight, bias) if p is not None]
        of_x: list[Tensor] = []
        of_parameters: list[Any] = [None] * len(parameters)
        pieces = zip(x.split(ctx.rows), target.split(ctx.rows), grads[0].split(ctx.rows))
        for piece, y, grad in pieces:
            leaves = [leaf.detach().requires_grad_() for leaf in (piece, *parameters)]
            with enable_grad():
                own_bias = None if bias is None else leaves[2]
                losses = _losses(leaves[0], leaves[1], own_bias, y, weight, ctx.ignore_index, ctx.sums)
            first, *rest = gradients(losses, leaves, grad)
            of_x.append(first)
            for i, part in enumerate(rest):
                before = of_parameters[i]
                of_parameters[i] = part.to(ctx.sums) if before is None else before + part
        summed = [total.to(p.dtype) for total, p in zip(of_parameters, parameters)]
        return ops.cat(of_x), summed[0], summed[1] if bias is not None else None, *[None] * 5


def _losses(x: Tensor, linear_weight: Tensor, bias: Any, target: Tensor, weight: Any, ignore_index: int,
            sums: dtype) -> Tensor:
    logits = linear(x, linear_weight, bias).to(sums)
    scale = None if weight is None else weight.to(sums)
    return cross_entropy(logits, target, scale, ignore_index=ignore_index, reduction="none")


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
