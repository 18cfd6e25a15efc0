"""Batch norm (Note: normalization)."""

from __future__ import annotations

from typing import Any

from ...dtypes import LOW_PRECISION
from ...graph.geometry import Geometry
from ...graph.operator import Rows
from ...graph.recent import Recent
from ...tensor import Tensor, record, record_pair, state
from ...tensor.aliasing.inplace import write
from ..creation.memory_formats import gradient_like, in_format_of
from ..declaration.definition import operand_dtype, operator, pointwise_operator
from ..declaration.registry import api
from ..pointwise.arithmetic import ADD, MUL
from .normalization import (
    NORMALIZE,
    Attributes,
    move,
    per_channel,
    require_both,
    require_floating,
    require_parameters,
    require_statistics_for_each,
    require_type,
    unnormalized,
    with_statistics,
)


def _batch_norm_geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    return with_statistics(operands[0], (operands[0].shape[1],))


def _channel_shape(ndim: int) -> tuple[int, ...]:
    return (1, -1, *([1] * (ndim - 2)))


@operator("native_batch_norm", _batch_norm_geometry, compute=operand_dtype,
          grad_name="NativeBatchNormBackward0",
          rows=Rows(passes=3, dims=lambda signature: (0, *range(2, signature.geometries[0].ndim)),
                    per_channel=(1, 2)))
def BATCH_NORM(m: Any, input: Any, weight: Any, bias: Any, eps: Any) -> Any:
    """xhat weight + bias over all dimensions but the channels, with mean and rstd (C)."""
    dims = (0, *range(2, input.ndim))
    shape = _channel_shape(input.ndim)
    result, mean, rstd = NORMALIZE.kernel(m, input, eps, dims)
    if weight is not None:
        result *= m.reshape(weight, shape)
    if bias is not None:
        result += m.reshape(bias, shape)
    return result, m.reshape(mean, -1), m.reshape(rstd, -1)


@BATCH_NORM.derivative("input", keeps="input weight output1 output2")
def _(ctx: Any, grads: Any, input: Tensor, weight: Any, mean: Tensor, rstd: Tensor) -> Any:
    shape = _channel_shape(input.ndim)
    grad, grad_mean, grad_rstd = grads
    if grad is not None and weight is not None:
        grad = grad * weight.reshape(shape)
    dims = (0, *range(2, input.ndim))
    return NORMALIZE.derivatives[0].rule(
        Attributes((dims,)), (grad, None if grad_mean is None else grad_mean.reshape(shape),
                          None if grad_rstd is None else grad_rstd.reshape(shape)),
        input, mean.reshape(shape), rstd.reshape(shape))


@BATCH_NORM.derivative("weight", keeps="input output1 output2")
def _(ctx: Any, grads: Any, input: Tensor, mean: Tensor, rstd: Tensor) -> Any:
    if grads[0] is None:
        return None
    shape = _channel_shape(input.ndim)
    return (grads[0] * ((input - mean.reshape(shape)) * rstd.reshape(shape))).sum((0, *range(2, input.ndim)))


@BATCH_NORM.derivative("bias", once=True, formal="input weight")
def _(ctx: Any, grads: Any) -> Any:
    if grads[0] is None:
        return None
    return grads[0].sum((0, *range(2, grads[0].ndim)))


@api("torch", "nn.functional")
def batch_norm(input: Tensor, running_mean: Any = None, running_var: Any = None, weight: Any = None,
               bias: Any = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-05,
               cudnn_enabled: bool = True) -> Tensor:
    """Normalization over the batch and all positions of each channel (Ioffe and Szegedy 2015): (N, C, *).

    In training the running statistics move towards the batch's by ``momentum`` (variance unbiased).

    >>> import flambeau as torch
    >>> torch.nn.functional.batch_norm(torch.tensor([[1.], [3.]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if training.__class__ is not bool:
        raise TypeError("training must be bool")    # worded by what judges the arguments
    if momentum.__class__ is not float:
        float(momentum)     # the same
    key = (training, input._geometry, *[None if p is None else p._geometry
                                        for p in (running_mean, running_var, weight, bias)])
    count = _fitting.get(key)
    if count is None:
        count = _per_channel(input) if training else 0
        if not input.numel():
            _sizes(running_mean, running_var, weight, bias)     # the same
            return unnormalized(input, weight, bias)
        if not training and (running_mean is None or running_var is None):
            raise RuntimeError(f"running_{'mean' if running_mean is None else 'var'} must be defined in "
                               "evaluation mode")
        _check_sizes(input, running_mean, running_var, weight, bias)
        _check_types(input, running_mean, running_var, weight, bias, training)
        _fitting.keep(key, count)
    if not training:
        return _by_statistics(input, running_mean, running_var, weight, bias, eps)
    if eps <= 0.0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    try:
        result, mean, rstd = record(BATCH_NORM, (input, weight, bias, float(eps)))
    except Exception:
        # A checkpoint's second pass ends where all is saved: after the statistics have moved.
        if running_mean is not None and state.saved_hooks:
            _, mean, rstd = record(BATCH_NORM, (input.detach(), None, None, float(eps)))
            update_running(running_mean, running_var, mean, rstd, count, momentum, eps)
        raise
    if running_mean is not None:
        update_running(running_mean, running_var, mean.detach(), rstd.detach(), count, momentum, eps)
    return result


# How many values there are of each channel, for geometries that were found to fit together.
_fitting: Recent[tuple[Any, ...], int] = Recent(1 << 12)


def _per_channel(input: Tensor) -> int:
    """How many values there are of each channel; one does not tell a variance."""
    if not input.ndim:
        raise IndexError("tuple index out of range")
    count = input.numel() // max(input.shape[1] if input.ndim > 1 else 1, 1)
    if count == 1:
        raise ValueError("Expected more than 1 value per channel when training, got input size "
                         f"{input.size()}")
    return count


def _sizes(*parameters: Any) -> list[int | None]:
    return [None if p is None else p.numel() for p in parameters]


def _check_sizes(input: Tensor, running_mean: Any, running_var: Any, weight: Any, bias: Any) -> None:
    shape = input._geometry.shape
    channels = shape[1] if len(shape) > 1 else 0
    for p in (running_mean, running_var, weight, bias):
        if p is not None and p._geometry.numel != channels:
            for name, size in zip(("running_mean", "running_var", "weight", "bias"),
                                  _sizes(running_mean, running_var, weight, bias)):
                if size is not None and size != channels:
                    raise RuntimeError(f"{name} should contain {channels} elements not {size}")
    if len(shape) < 2:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-max(input.ndim, 1)}, "
                         f"{max(input.ndim, 1) - 1}], but got 1)")


def _check_types(input: Tensor, running_mean: Any, running_var: Any, weight: Any, bias: Any,
                 training: bool) -> None:
    require_floating(input, "batch_norm")
    if training:
        require_both(running_mean, running_var)
    kind = input.dtype
    first = running_mean if weight is None else weight
    if first is not None and first.dtype is not kind:
        require_parameters(input, weight, bias, running_mean, running_var)
    else:
        for p in (bias, running_mean, running_var):
            if p is not None:
                require_type(input, p)
    for p in (running_mean, running_var):
        if p is not None and p.ndim != 1:
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {p.ndim}")


def _by_statistics(input: Tensor, running_mean: Any, running_var: Any, weight: Any, bias: Any,
                   eps: float) -> Tensor:
    """What evaluation gives: one factor and one summand for each channel."""
    given = running_mean, running_var, weight, bias
    if weight is not None and bias is not None and _are_wide(*given) \
            and not (state.enabled and any(x.requires_grad for x in given)):
        scale = record(SCALE, (running_var, weight, eps))
        shift = record(SHIFT, (bias, running_mean, scale))
    else:
        scale = (running_var + eps).rsqrt()
        scale = scale if weight is None else scale * weight
        shift = -running_mean * scale if bias is None else bias - running_mean * scale
    g = input._geometry
    scaled = record_pair(MUL, gradient_like(input), per_channel(scale, g.ndim))
    result = record_pair(ADD, scaled, per_channel(shift, g.ndim))
    if result._geometry.dtype is not g.dtype:
        result = result.to(g.dtype)
    return in_format_of(result, g)


def _are_wide(*given: Tensor) -> bool:
    """Whether all are of one type, in which steps of a formula are not rounded to 16 bits."""
    kind = given[0]._geometry.dtype
    if kind in LOW_PRECISION:
        return False
    for x in given:
        if x._geometry.dtype is not kind:
            return False
    return True


def update_running(running_mean: Tensor, running_var: Tensor, mean: Tensor, rstd: Tensor, count: int,
                   momentum: float, eps: float) -> None:
    """Move the running statistics towards those of a batch; the variance is that with n - 1."""
    require_statistics_for_each(running_mean, mean)
    before, state.enabled = state.enabled, False
    factor = count / max(count - 1, 1)
    try:
        if _are_wide(running_mean, running_var, mean):
            kept = 1 - momentum
            write(running_mean, record(MOVED_MEAN, (running_mean, mean, kept, momentum)))
            write(running_var, record(MOVED_VARIANCE, (running_var, rstd, eps, factor, kept, momentum)))
        else:
            move(running_mean, mean, momentum)
            move(running_var, (1 / (rstd * rstd) - eps) * factor, momentum)
    finally:
        state.enabled = before


# As one operator each, which nobody differentiates: a model has many such layers.
SCALE = pointwise_operator("batch_norm_scale", lambda m, variance, weight, eps:
                           m.rsqrt(variance + eps) * weight)
SHIFT = pointwise_operator("batch_norm_shift", lambda m, bias, mean, scale: bias - mean * scale)
MOVED_MEAN = pointwise_operator("moved_mean", lambda m, running, mean, kept, taken:
                                running * kept + mean * taken)
MOVED_VARIANCE = pointwise_operator("moved_variance", lambda m, running, rstd, eps, factor, kept, taken:
                                    running * kept + (1 / (rstd * rstd) - eps) * factor * taken)
