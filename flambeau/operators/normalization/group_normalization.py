"""Group norm (Note: normalization): statistics of groups of channels of each sample, weights of channels."""

from __future__ import annotations

from typing import Any

from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record, state
from ..creation.memory_formats import gradient_like, in_format_of
from ..declaration.definition import operand_dtype, operator
from ..declaration.registry import api
from .normalization import (
    NORMALIZE,
    Attributes,
    affine,
    like_input,
    normalize,
    per_channel,
    require_floating,
    require_parameters,
    statistics_in,
    with_statistics,
)


def _geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    return with_statistics(operands[0], (operands[0].shape[0], attributes[0]))


@operator("native_group_norm", _geometry, compute=operand_dtype, grad_name="NativeGroupNormBackward0")
def GROUP_NORM(m: Any, input: Any, weight: Any, bias: Any, eps: Any, groups: int) -> Any:
    """xhat weight + bias over groups of channels and all positions, with mean and rstd (N, groups)."""
    batch = input.shape[0]
    result, mean, rstd = normalize(m, m.reshape(input, (batch, groups, -1)), eps, (2,), True)
    result, channels = m.reshape(result, input.shape), (1, -1, *([1] * (input.ndim - 2)))
    if weight is not None:
        result = result * m.reshape(weight, channels)
    if bias is not None:
        result = result + m.reshape(bias, channels)
    return result, m.reshape(mean, (batch, groups)), m.reshape(rstd, (batch, groups))


def _backward_geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    x, mean = operands[1], operands[3]
    channels = contiguous((x.shape[1],), mean.dtype, x.device)
    return like_input(x), channels, channels


@operator("native_group_norm_backward", _backward_geometry, compute=operand_dtype)
def GROUP_NORM_BACKWARD(m: Any, grad: Any, input: Any, weight: Any, mean: Any, rstd: Any, groups: int) -> Any:
    """The gradients by x, weight and bias."""
    batch, shape = input.shape[0], (input.shape[0], groups, -1)
    channels = (1, -1, *([1] * (input.ndim - 2)))
    others = (0, *range(2, input.ndim))
    mean, rstd = m.reshape(mean, (batch, groups, 1)), m.reshape(rstd, (batch, groups, 1))
    xhat = m.reshape((m.reshape(input, shape) - mean) * rstd, input.shape)
    to_weight, to_bias = m.sum(grad * xhat, axis=others), m.sum(grad, axis=others)
    g = m.reshape(grad if weight is None else grad * m.reshape(weight, channels), shape)
    xhat = m.reshape(xhat, shape)
    dot = m.mean(g * xhat, axis=2, keepdims=True)
    result = (g - m.mean(g, axis=2, keepdims=True) - xhat * dot) * rstd
    return m.reshape(result, input.shape), to_weight, to_bias


@GROUP_NORM.derivative("input", "weight", "bias", keeps="input weight output1 output2")
def _(ctx: Any, grads: Any, input: Tensor, weight: Any, mean: Tensor, rstd: Tensor) -> Any:
    grad, grad_mean, grad_rstd = grads
    kind, wide = statistics_in(input, weight), mean.dtype
    mean, rstd = mean.to(kind).to(wide), rstd.to(kind).to(wide)     # as PyTorch keeps them
    if grad is not None and grad_mean is None and grad_rstd is None and not state.enabled:
        found = record(GROUP_NORM_BACKWARD, (in_format_of(grad, input._geometry), input, weight, mean, rstd),
                       ctx.attributes)
    else:
        found = _composed(ctx, grads, input, weight, mean, rstd)
    return found[0] if ctx.needs[0] else None, *[
        found[i].to(ctx.operand_geometry(i).dtype) if ctx.needs[i] and found[i] is not None else None
        for i in (1, 2)]


def _composed(ctx: Any, grads: Any, input: Tensor, weight: Any, mean: Tensor, rstd: Tensor) -> Any:
    """The same of functions that can be differentiated again."""
    groups, = ctx.attributes
    batch, others = input.shape[0], (0, *range(2, input.ndim))
    shape, small = (batch, groups, -1), (batch, groups, 1)
    wide = input.to(mean.dtype).reshape(shape)
    mean, rstd = mean.reshape(small), rstd.reshape(small)
    grad, grad_mean, grad_rstd = grads
    to_weight = to_bias = scaled = None
    if grad is not None:
        grad = grad.to(mean.dtype)
        xhat = ((wide - mean) * rstd).reshape(input.shape)
        to_weight, to_bias = (grad * xhat).sum(others), grad.sum(others)
        scaled = (grad if weight is None else grad * per_channel(weight, input.ndim)).reshape(shape)
    of_mean, of_rstd = (None if g is None else g.reshape(small) for g in (grad_mean, grad_rstd))
    result = NORMALIZE.derivatives[0].rule(Attributes(((2,),)), (scaled, of_mean, of_rstd), wide, mean, rstd)
    return result.reshape(input.shape).to(input.dtype), to_weight, to_bias


def check_groups(input: Tensor, channels: int, num_groups: int, weight: Any, bias: Any) -> None:
    """Raise PyTorch's error where channels are no whole groups, or parameters are not one for each."""
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got "
                           f"input of shape {list(input.shape)} and num_groups={num_groups}")
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and tuple(p.shape) != (channels,):
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in "
                               f"input, but got {name} of shape {list(p.shape)} and input of shape "
                               f"{list(input.shape)}")


@api("torch", "nn.functional")
def group_norm(input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05,
               cudnn_enabled: bool = True) -> Tensor:
    """Normalization over groups of channels and all positions (Wu and He 2018): (N, C, *).

    >>> import flambeau as torch
    >>> torch.nn.functional.group_norm(torch.tensor([[1., 3., 10., 30.]]).reshape(1, 4, 1), 2).flatten()
    tensor([-1.0000,  1.0000, -1.0000,  1.0000])
    """
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    check_groups(input, input.shape[1], num_groups, weight, bias)
    require_parameters(input, weight, bias)
    if input.numel() and input.numel() // num_groups == 1:
        raise ValueError("Expected more than 1 value per channel when training, got input size "
                         f"{list(input.shape)}")
    require_floating(input, "GroupNormKernelImpl")
    if input.numel() == 0:
        return affine(input.reshape(input.shape) * 1, weight, bias)
    x = in_format_of(gradient_like(input), input._geometry)
    result: Tensor = record(GROUP_NORM, (x, weight, bias, float(eps)), (num_groups,))[0]
    return result
