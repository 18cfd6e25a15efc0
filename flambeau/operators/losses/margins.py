"""Losses with a margin: between classes, and between distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...tensor import Tensor, composed
from ...tensor.batching import BatchedTensor
from ..declaration.domain import not_implemented
from ..declaration.registry import NAMESPACES, api
from ..declaration.undifferentiable import require_constant
from ..interop.looking import look
from .loss import reduce_loss, reduction_of
from .similarity import pairwise_distance


@api("nn.functional")
def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Any = None,
                      size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """Mean over the classes but the target of max(0, margin - input[target] + input)^p: (N, C) and (N).

    >>> import flambeau as torch
    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.5, 1.]]), torch.tensor([1]))
    tensor(0.2500)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    if input.ndim > 2 or 0 in input.shape[-1:]:
        raise RuntimeError("Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{list(input.shape)}")
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise not_implemented("multi_margin_loss_cpu_kernel", input.dtype)
    flat = input.ndim < 2
    batch = 1 if flat else input.shape[0]
    if target.ndim > 1 or target.numel() != batch:
        raise RuntimeError("multi_margin_loss: target tensor should be 1-D with size equal to the number of "
                           f"input samples (batch size). Expected target size [{batch}], but got "
                           f"{list(target.shape)}. Input has shape {list(input.shape)}.")
    if weight is not None and weight.numel() != input.shape[-1]:
        raise RuntimeError(f"inconsistent weight size, expected {input.shape[-1]} but got "
                           f"{list(weight.shape)}")
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {dtypes.SCALAR_NAMES[target.dtype]}")
    require_constant("multi_margin_loss", weight=weight)
    scores, classes = (input.reshape(1, -1), target.reshape(1)) if flat else (input, target)
    index = classes.unsqueeze(1)
    hinge = (margin - scores.gather(1, index) + scores).clamp_min(0)
    if p == 2:
        hinge = hinge * hinge
    if weight is not None:
        hinge = hinge * weight[classes].unsqueeze(1)
    hinge = hinge.scatter(1, index, 0.0)
    losses = hinge.sum(1) / scores.shape[1]
    losses = reduce_loss(losses.reshape(()) if flat and target.ndim == 0 else losses, reduction)
    return composed("MultiMarginLossBackward0", losses, input)


@api("nn.functional")
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                           reduction: str = "mean") -> Tensor:
    """Hinge between each target class and each other class: (N, C), targets listed up to the first -1.

    >>> import flambeau as torch
    >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([[0.5, 1.]]), torch.tensor([[1, -1]]))
    tensor(0.2500)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if input.ndim > 2 or 0 in input.shape[-1:]:
        raise RuntimeError("Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
                           f"{list(input.shape)}")
    if input.shape != target.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: "
                           f"{list(input.shape)}")
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {dtypes.SCALAR_NAMES[target.dtype]}")
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise not_implemented("multilabel_margin_loss_forward_out_frame", input.dtype)
    flat = input.ndim < 2
    scores, classes = (input.reshape(1, -1), target.reshape(1, -1)) if flat else (input, target)
    used = (classes < 0).to(dtypes.int64).cumsum(1) == 0
    if classes.__class__ is not BatchedTensor:  # the lists are mostly far shorter than they might be
        longest = int((np.cumsum(look(classes, "multilabel_margin_loss") < 0, 1) == 0).sum(1).max(initial=0))
        used, classes = used[:, :longest], classes[:, :longest]
    index = classes.masked_fill(~used, 0)
    counts = scores.new_zeros(scores.shape).scatter_add(1, index, used.to(scores.dtype))
    others = (counts == 0).to(scores.dtype)
    wanted = scores.gather(1, index)
    hinge = (1 - wanted.unsqueeze(2) + scores.unsqueeze(1)).clamp_min(0)
    hinge = hinge * used.to(scores.dtype).unsqueeze(2) * others.unsqueeze(1)
    losses = hinge.sum((1, 2)) / max(scores.shape[1], 1)
    losses = reduce_loss(losses.reshape(()) if flat else losses, reduction)
    return composed("MultilabelMarginLossBackward0", losses, input)


@api("nn.functional", judge="first")
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-06, swap: bool = False, size_average: Any = None, reduce: Any = None,
                        reduction: str = "mean") -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) (Balntas et al. 2016).

    >>> import flambeau as torch
    >>> F = torch.nn.functional
    >>> F.triplet_margin_loss(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([[0.5, 0.]]))
    tensor(0.5000)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    return _triplet_loss(lambda a, b: pairwise_distance(a, b, p, eps), anchor, positive, negative, margin,
                         swap, reduction)


@api("nn.functional", judge="first")
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *,
                                      distance_function: Callable[..., Tensor] | None = None,
                                      margin: float = 1.0, swap: bool = False,
                                      reduction: str = "mean") -> Tensor:
    """The triplet loss with a distance of the caller's.

    >>> import flambeau as torch
    >>> F = torch.nn.functional
    >>> F.triplet_margin_with_distance_loss(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([[0.5, 0.]]))
    tensor(0.5000)
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _triplet_loss(distance_function or pairwise_distance, anchor, positive, negative, margin, swap,
                         reduction)


def _triplet_loss(distance: Callable[..., Tensor], anchor: Tensor, positive: Tensor, negative: Tensor,
                  margin: float, swap: bool, reduction: str) -> Tensor:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number "
                           f"of dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and "
                           f"negative {negative.ndim}D inputs")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = NAMESPACES["torch"]["minimum"](far, distance(positive, negative))
    return reduce_loss((near - far + margin).clamp_min(0), reduction)
