"""Distances and similarities of vectors, and losses that compare or rank them."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensor import Tensor, record_pair
from ..declaration.definition import broadcast_shapes
from ..declaration.registry import NAMESPACES, api
from ..linalg.norms import norm_along
from ..pointwise.arithmetic import MUL
from ..pointwise.division import TRUE_DIVIDE
from ..pointwise.magnitude import clamp_min
from .loss import reduce_loss, reduction_of


@api("nn.functional", "torch", judge="first")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along ``dim``.

    >>> import flambeau as torch
    >>> torch.nn.functional.cosine_similarity(torch.tensor([1., 0.]), torch.tensor([1., 1.]), dim=0)
    tensor(0.7071)
    """
    common = dtypes.promote_types(x1.dtype, x2.dtype)
    if common.category != dtypes.FLOATING:
        raise RuntimeError("expected common dtype to be floating point, yet common dtype is "
                           f"{dtypes.SCALAR_NAMES[common]}")
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    if x1._geometry.shape != x2._geometry.shape:
        x1, x2 = NAMESPACES["torch"]["broadcast_tensors"](x1, x2)
    x1, x2 = [x if x._geometry.dtype.category == dtypes.FLOATING else x.to(common) for x in (x1, x2)]
    first, second = [record_pair(TRUE_DIVIDE, x, clamp_min(norm_along(x, dim), eps)) for x in (x1, x2)]
    return record_pair(MUL, first, second).sum(dim)


@api("nn.functional", "torch", judge="first")
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06,
                      keepdim: bool = False) -> Tensor:
    """||x1 - x2 + eps||_p along the last dimension.

    >>> import flambeau as torch
    >>> torch.nn.functional.pairwise_distance(torch.tensor([[0., 0.]]), torch.tensor([[3., 4.]]))
    tensor([5.0000])
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim)


@api("nn.functional", judge="first")
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: Any = None,
                         reduce: Any = None, reduction: str = "mean") -> Tensor:
    """input where the target is 1, max(0, margin - input) where it is -1.

    >>> import flambeau as torch
    >>> F = torch.nn.functional
    >>> F.hinge_embedding_loss(torch.tensor([0.5, 0.25]), torch.tensor([1., -1.]), reduction="none")
    tensor([0.5000, 0.7500])
    """
    broadcast_shapes([target.shape, input.shape])   # which of them an error names first
    margin = float(margin) if input.dtype.category >= dtypes.FLOATING else int(margin)     # of its type
    losses = input.masked_fill(target == -1, 0) + (margin - input).clamp_min(0).masked_fill(target == 1, 0)
    return reduce_loss(losses, reduction_of(size_average, reduce, reduction))


@api("nn.functional", judge="first")
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
                        size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """max(0, -target (input1 - input2) + margin).

    >>> import flambeau as torch
    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1.]), torch.tensor([3.]), torch.tensor([1.]))
    tensor(2.)
    """
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got "
                           f"sizes: input1: {input1.size()}, input2: {input2.size()}, target: "
                           f"{target.size()} ")
    return reduce_loss((-target * (input1 - input2) + margin).clamp_min(0),
                       reduction_of(size_average, reduce, reduction))


@api("nn.functional", judge="first")
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
                          size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1: (N, D), (N, D) and (N).

    >>> import flambeau as torch
    >>> torch.nn.functional.cosine_embedding_loss(torch.ones(1, 2), -torch.ones(1, 2), torch.ones(1))
    tensor(2.)
    """
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.ndim == 0 and not input1.ndim == input2.ndim == 1:
        raise RuntimeError("0D target tensor expects 1D input tensors, but found inputs with sizes "
                           f"{list(input1.shape)} and {list(input2.shape)}.")
    if target.ndim == 1 and not input1.ndim == input2.ndim == 2:
        raise RuntimeError("1D target tensor expects 2D input tensors, but found inputs with sizes "
                           f"{list(input1.shape)} and {list(input2.shape)}.")
    dot = (input1 * input2).sum(target.ndim)
    squares = ((input1 * input1).sum(target.ndim) + 1e-12) * ((input2 * input2).sum(target.ndim) + 1e-12)
    cosine = dot / squares.sqrt()
    alike = (1 - cosine).masked_fill(target != 1, 0)
    losses = alike + (cosine - margin).clamp_min(0).masked_fill(target != -1, 0)
    return reduce_loss(losses, reduction_of(size_average, reduce, reduction))
