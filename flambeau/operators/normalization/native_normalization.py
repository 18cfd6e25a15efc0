"""Group and batch norm together with the statistics that they used."""

from __future__ import annotations

from typing import Any

from ...dtypes import LOW_PRECISION
from ...tensor import Tensor, record
from ..declaration.registry import api
from .batch_normalization import BATCH_NORM, batch_norm, update_running
from .group_normalization import check_groups
from .normalization import (
    affine,
    normalized,
    require_both,
    require_floating,
    require_parameters,
    require_type,
    statistics_in,
)


def _require_types(input: Tensor, weight: Any, *others: Any) -> None:
    """Raise where parameters and statistics are of other types than they should be."""
    require_parameters(input, others[0] if weight is None else weight)
    if weight is None or weight.dtype is input.dtype:
        for p in others:
            if p is not None and input.dtype not in LOW_PRECISION:
                require_type(input, p)


@api("torch", judge="first")
def native_group_norm(
    input: Tensor, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """``group_norm`` of N samples of C channels of HxW elements, with mean and 1 / deviation (N, groups).

    >>> import flambeau as torch
    >>> torch.native_group_norm(torch.tensor([[[1.], [3.]]]), None, None, 1, 2, 1, 1, 0.0)[1:]
    (tensor([[2.]]), tensor([[1.]]))
    """
    check_groups(input, C, group, weight, bias)
    if input.numel() != N * C * HxW:
        raise RuntimeError(
            "Expected X.numel() == N * C * HxW to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)"
        )
    require_floating(input, "GroupNormKernelImpl")
    _require_types(input, weight, bias)
    kind = statistics_in(input, weight)
    if not input.numel():
        mean = input.sum() * input.new_zeros((N, group), dtype=kind)
        return affine(input.clone(), weight, bias), mean, mean * float("nan")
    result, mean, rstd = normalized(input.reshape(N, group, -1), (2,), float(eps))
    result = affine(result.reshape(input.shape), weight, bias)
    return result, mean.reshape(N, group).to(kind), rstd.reshape(N, group).to(kind)


@api("torch", out=True)
def batch_norm_update_stats(
    input: Tensor, running_mean: Any, running_var: Any, momentum: float
) -> tuple[Tensor, Tensor]:
    """The mean and the biased variance of each channel (C) of (N, C, *); running ones move towards them.

    >>> import flambeau as torch
    >>> torch.batch_norm_update_stats(torch.tensor([[1.], [3.]]), None, None, 0.1)
    (tensor([2.]), tensor([1.]))
    """
    _, mean, rstd = record(BATCH_NORM, (input, None, None, 0.0))
    if running_mean is not None:
        count = input.numel() // max(input.shape[1], 1)
        update_running(running_mean, running_var, mean.detach(), rstd.detach(), count, momentum, 0.0)
    return mean, rstd ** -2


@api("torch", out=True, judge="first")
def native_batch_norm(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """``batch_norm`` with the batch's mean and reciprocal deviation (C), which are empty in evaluation.

    >>> import flambeau as torch
    >>> torch.native_batch_norm(torch.tensor([[1.], [3.]]), None, None, None, None, True, 0.1, 0.0)[1:]
    (tensor([2.]), tensor([1.]))
    """
    if not training:
        result = batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
        return result, input.new_empty(0), input.new_empty(0)
    require_floating(input, "batch_norm")
    require_both(running_mean, running_var)
    if not input.numel():
        raise RuntimeError("input tensor must have at least one element, but got input_sizes = "
                           f"{list(input.shape)}")
    _require_types(input, weight, bias, running_mean, running_var)
    for p in (running_mean, running_var):
        if p is not None and p.ndim != 1:
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {p.ndim}")
    result, mean, rstd = record(BATCH_NORM, (input, weight, bias, float(eps)))
    if running_mean is not None:
        count = input.numel() // max(input.shape[1], 1)
        update_running(running_mean, running_var, mean.detach(), rstd.detach(), count, momentum, eps)
    kind = statistics_in(input, weight)
    return result, mean.detach().to(kind), rstd.detach().to(kind)
