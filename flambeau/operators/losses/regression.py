"""Losses between predictions and targets, element by element."""

from __future__ import annotations

import math
from typing import Any

from ... import dtypes
from ...tensor import Tensor, composed, record, record_pair
from ...tensor.warned import warn
from ..declaration.definition import broadcast_shapes, pointwise_operator
from ..declaration.domain import INTEGRAL, not_implemented, refuse
from ..declaration.registry import NAMESPACES, api
from ..declaration.undifferentiable import require_constant
from .loss import reduce_loss, reduction_of, require_room, written_over


def _together(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both in one shape: so a 0-dim target counts as a tensor, not as a number, in the type of the loss."""
    _warn_sizes(input, target)
    if input._geometry.dtype is target._geometry.dtype:
        return input, target
    return NAMESPACES["torch"]["broadcast_tensors"](input, target)


def _warn_sizes(input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        warn(f"Using a target size ({target.size()}) that is different to the input size "
             f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
             "Please ensure they have the same size.")


MSE_LOSS = pointwise_operator("mse_loss", lambda m, input, target: m.square(input - target))


refuse(MSE_LOSS, "mse_cpu", *INTEGRAL, dtypes.COMPLEX)


@MSE_LOSS.derivative("input", keeps="input target")
def _(ctx: Any, grad: Tensor, input: Tensor, target: Tensor) -> Tensor:
    return grad * (input - target) * 2


@MSE_LOSS.derivative("target", keeps="input target")
def _(ctx: Any, grad: Tensor, input: Tensor, target: Tensor) -> Tensor:
    return grad * (target - input) * 2


@api("nn.functional", judge="first")
def mse_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
             reduction: str = "mean", weight: Any = None) -> Tensor:
    """(input - target)^2.

    >>> import flambeau as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
    tensor(2.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    input, target = _together(input, target)
    if weight is not None:
        if weight.shape != input.shape:
            raise ValueError("Inputs and weight must have the same size.")
        losses = record_pair(MSE_LOSS, input, target) * weight
        return losses.sum() / weight.sum() if reduction == "mean" else reduce_loss(losses, reduction)
    losses = reduce_loss(record_pair(MSE_LOSS, input, target), reduction)
    return composed("MseLossBackward0", losses, input, target)


@api("nn.functional", judge="first")
def l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
            reduction: str = "mean", weight: Any = None) -> Tensor:
    """|input - target|.

    >>> import flambeau as torch
    >>> torch.nn.functional.l1_loss(torch.tensor([1., 2.]), torch.tensor([1., 4.]))
    tensor(1.)
    """
    reduction = reduction_of(size_average, reduce, reduction)
    input, target = _together(input, target)
    losses = (input - target).abs()
    if weight is not None:
        losses = losses * weight
        return losses.sum() / weight.sum() if reduction == "mean" else reduce_loss(losses, reduction)
    return reduce_loss(losses, reduction)


def _slope(m: Any, input: Any, target: Any, width: Any) -> Any:
    """The difference over the width, between -1 and 1; NaN stays NaN."""
    difference = input - target
    return m.where(m.abs(difference) >= width, m.sign_of(difference), difference / width)


def _smooth_l1_kernel(m: Any, input: Any, target: Any, beta: Any) -> Any:
    difference = m.abs(input - target)
    return m.where(difference < beta, difference * difference * (0.5 / beta), difference - 0.5 * beta)


def _huber_kernel(m: Any, input: Any, target: Any, delta: Any) -> Any:
    difference = m.abs(input - target)
    return m.where(difference <= delta, difference * difference * 0.5, (difference - 0.5 * delta) * delta)


SMOOTH_L1_LOSS = pointwise_operator("smooth_l1_loss", _smooth_l1_kernel)
HUBER_LOSS = pointwise_operator("huber_loss", _huber_kernel)
refuse(HUBER_LOSS, "huber_cpu", *INTEGRAL, first_only=True)
refuse(SMOOTH_L1_LOSS, "smooth_l1_cpu", dtypes.COMPLEX)
refuse(HUBER_LOSS, "huber_cpu", dtypes.COMPLEX, first_only=True)
SMOOTH_L1_LOSS_BACKWARD = pointwise_operator(
    "smooth_l1_loss_backward",
    lambda m, grad, input, target, width: grad * _slope(m, input, target, width))
HUBER_LOSS_BACKWARD = pointwise_operator(
    "huber_loss_backward",
    lambda m, grad, input, target, width: grad * (_slope(m, input, target, width) * width))


def _differentiate(loss: Any, backward: Any, number: str) -> None:
    """The gradients of a loss that is quadratic near the target and linear beyond."""
    curved = loss is HUBER_LOSS     # else the second derivative is 1 / width there

    @loss.derivative("input", keeps=f"input target {number}")
    def _(ctx: Any, grad: Tensor, input: Tensor, target: Tensor, width: Any) -> Tensor:
        return record(backward, (grad, input, target, width))

    @loss.derivative("target", keeps=f"input target {number}")
    def _(ctx: Any, grad: Tensor, input: Tensor, target: Tensor, width: Any) -> Tensor:
        return record(backward, (grad, target, input, width))

    @backward.derivative("grad", keeps="input target width")
    def _(ctx: Any, grad: Tensor, input: Tensor, target: Tensor, width: Any) -> Tensor:
        return record(backward, (grad, input, target, width))

    @backward.derivative("input", keeps="grad input target width")
    def _(ctx: Any, upper: Tensor, grad: Tensor, input: Tensor, target: Tensor, width: Any) -> Tensor:
        return upper * grad * ((input - target).abs() < width) / (1 if curved else width)

    @backward.derivative("target", keeps="grad input target width")
    def _(ctx: Any, upper: Tensor, grad: Tensor, input: Tensor, target: Tensor, width: Any) -> Tensor:
        return -(upper * grad * ((input - target).abs() < width) / (1 if curved else width))


_differentiate(SMOOTH_L1_LOSS, SMOOTH_L1_LOSS_BACKWARD, "beta")
_differentiate(HUBER_LOSS, HUBER_LOSS_BACKWARD, "delta")


@api("nn.functional", judge="first")
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """d^2 / (2 beta) where d = |input - target| < beta, else d - beta / 2 (Girshick 2015).

    >>> import flambeau as torch
    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 3.]), torch.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    reduction = reduction_of(size_average, reduce, reduction)
    input, target = _together(input, target)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta and (common := dtypes.promote_types(input.dtype, target.dtype)).category < dtypes.FLOATING:
        raise not_implemented("smooth_l1_cpu", common)
    if not beta:
        return reduce_loss((input - target).abs(), reduction)
    losses = reduce_loss(record(SMOOTH_L1_LOSS, (input, target, beta)), reduction)
    return composed("SmoothL1LossBackward0", losses, input, target)


@api("nn.functional", judge="first")
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
               weight: Any = None) -> Tensor:
    """d^2 / 2 where d = |input - target| <= delta, else delta (d - delta / 2) (Huber 1964).

    >>> import flambeau as torch
    >>> torch.nn.functional.huber_loss(torch.tensor([0., 3.]), torch.zeros(2), reduction="none")
    tensor([0.0000, 2.5000])
    """
    reduction = reduction_of(None, None, reduction)
    _warn_sizes(input, target)
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    require_room(input, target)
    losses = written_over(input, record(HUBER_LOSS, (input, target, delta)))
    if weight is not None:
        losses = losses * weight
        return losses.sum() / weight.sum() if reduction == "mean" else reduce_loss(losses, reduction)
    return composed("HuberLossBackward0", reduce_loss(losses, reduction), input, target)


@api("nn.functional", judge="first")
def kl_div(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
           reduction: Any = "mean", log_target: bool = False) -> Tensor:
    """target (log target - input): the input, and with ``log_target`` the target too, in logarithms.

    >>> import flambeau as torch
    >>> F = torch.nn.functional
    >>> F.kl_div(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[1., 0.]]), reduction="batchmean")
    tensor(0.6931)
    """
    if reduction == "mean" and size_average is None and reduce is None:
        warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
             "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
             "'mean' will be changed to behave the same as 'batchmean' in the next major release.")
    if reduction == "batchmean":
        losses = _divergence(input, target, log_target)
        return losses.sum() / input.shape[0] if input.ndim else losses.sum()
    return reduce_loss(_divergence(input, target, log_target), reduction_of(size_average, reduce, reduction))


@api("torch", name="kl_div", judge="first")
def _numbered_kl_div(input: Tensor, target: Tensor, reduction: int = 0, *,
                     log_target: bool = False) -> Tensor:
    """``nn.functional.kl_div`` with the reduction given as a number: none, mean, sum."""
    return reduce_loss(_divergence(input, target, log_target), ("none", "mean", "sum")[reduction])


def _divergence(input: Tensor, target: Tensor, log_target: bool) -> Tensor:
    for x in (input, target):
        if x.dtype.category != dtypes.FLOATING:
            kind = "Complex" if x.dtype.is_complex else "Integral"
            raise RuntimeError(f"kl_div: {kind} inputs not supported.")
    if log_target:
        return target.exp() * (target - input)
    return NAMESPACES["torch"]["xlogy"](target, target) - target * input


@api("nn.functional", judge="first")
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: Any = None, eps: float = 1e-08, reduce: Any = None,
                     reduction: str = "mean") -> Tensor:
    """exp(input) - target input, and with ``full`` Stirling's approximation of log(target!).

    >>> import flambeau as torch
    >>> torch.nn.functional.poisson_nll_loss(torch.zeros(1), torch.ones(1))
    tensor(1.)
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not a valid value for reduction")
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return reduce_loss(losses, reduction_of(size_average, reduce, reduction))


@api("nn.functional", judge="first")
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-06,
                      reduction: str = "mean") -> Tensor:
    """(log var + (input - target)^2 / var) / 2, var clamped at eps.

    >>> import flambeau as torch
    >>> torch.nn.functional.gaussian_nll_loss(torch.zeros(2), torch.ones(2), torch.ones(2))
    tensor(0.5000)
    """
    if isinstance(var, float):
        var = input.new_full(input.shape, var)
    if not isinstance(var, Tensor):
        NAMESPACES["torch"]["any"](var < 0)     # which words that it is neither
    if var.shape != input.shape:
        if input.ndim and input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif not (input.ndim == var.ndim and input.shape[:-1] == var.shape[:-1] and var.shape[-1] == 1) \
                and not _broadcasts_once(var, input):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    if bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.dtype.category < dtypes.FLOATING:    # it is clamped in place, at a fraction
        raise RuntimeError("result type Float can't be cast to the desired output type "
                           f"{dtypes.c_name(var.dtype)}")
    clamped = var + (var.detach().clamp_min(eps) - var.detach())
    losses = 0.5 * (clamped.log() + (input - target) ** 2 / clamped)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduce_loss(losses, reduction)


def _broadcasts_once(var: Tensor, input: Tensor) -> bool:
    return var.ndim == input.ndim and sum(1 for a, b in zip(var.shape, input.shape) if a != b and a == 1) == 1


@api("nn.functional", judge="first")
def soft_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                     reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target input)).

    Targets are 1 or -1; ``reduction`` is ``"mean"`` (the default), ``"sum"`` or ``"none"``.

    >>> import flambeau as torch
    >>> torch.nn.functional.soft_margin_loss(torch.zeros(2), torch.tensor([1.0, -1.0]))
    tensor(0.6931)
    """
    shape = broadcast_shapes([input.shape, target.shape])
    if tuple(input.shape) != shape:
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape "
                           f"{list(shape)}")
    require_constant("soft_margin_loss", target=target)
    opposite = -input
    require_room(input, target)
    losses = written_over(input, (opposite * target).exp().log1p())
    losses = reduce_loss(losses, reduction_of(size_average, reduce, reduction))
    return composed("SoftMarginLossBackward0", losses, input)


@api("nn.functional", judge="first")
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Any = None, size_average: Any = None,
                                reduce: Any = None, reduction: str = "mean") -> Tensor:
    """Mean over the classes of binary cross entropy with logits: (N, C).

    >>> import flambeau as torch
    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.6931)
    """
    logsigmoid = NAMESPACES["nn.functional"]["logsigmoid"]
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduce_loss(losses.sum(-1) / input.shape[-1], reduction_of(size_average, reduce, reduction))
