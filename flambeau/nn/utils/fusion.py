"""Folding a batch normalization in evaluation mode into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from ... import operators as ops
from ...tensor import Tensor
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fuse(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    eps: float,
    scale: Tensor | None,
    shift: Tensor | None,
    channel_dim: int,
) -> tuple[Parameter, Parameter]:
    """Scale the output channels of `weight`: bn(W x + b) = s W x + (b - mean) s + shift, s = scale / std."""
    bias = ops.zeros_like(mean) if bias is None else bias
    scale = ops.ones_like(mean) if scale is None else scale
    shift = ops.zeros_like(mean) if shift is None else shift
    factor = scale * ops.rsqrt(var + eps)
    shape = [1] * weight.dim()
    shape[channel_dim] = -1
    new_weight = (weight * factor.reshape(shape)).to(dtype=weight.dtype)
    new_bias = ((bias - mean) * factor + shift).to(dtype=bias.dtype)
    return Parameter(new_weight, weight.requires_grad), Parameter(new_bias, bias.requires_grad)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return the weight and bias of a convolution that does the batch normalization as well.

    >>> import flambeau as torch
    >>> mean, var, scale, shift = torch.zeros(1), torch.ones(1), torch.tensor([2.0]), torch.tensor([5.0])
    >>> w, b = torch.nn.utils.fuse_conv_bn_weights(torch.ones(1, 1, 2), None, mean, var, 0.0, scale, shift)
    >>> w, b
    (Parameter containing:
    tensor([[[2., 2.]]]), Parameter containing:
    tensor([5.]))
    """
    return _fuse(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Return the weight and bias of a linear layer that does the batch normalization as well.

    >>> import flambeau as torch
    >>> mean, var, scale, shift = torch.zeros(1), torch.ones(1), torch.tensor([2.0]), torch.tensor([5.0])
    >>> torch.nn.utils.fuse_linear_bn_weights(torch.ones(1, 2), torch.zeros(1), mean, var, 0.0, scale, shift)
    (Parameter containing:
    tensor([[2., 2.]]), Parameter containing:
    tensor([5.]))
    """
    return _fuse(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)


def _fuse_layer(layer: Any, bn: Any, channel_dim: int) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(layer)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused.weight, fused.bias = _fuse(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, channel_dim
    )
    return fused


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a copy of a convolution that does the batch normalization after it as well.

    >>> import flambeau as torch
    >>> conv, bn = torch.nn.Conv1d(1, 2, 3).eval(), torch.nn.BatchNorm1d(2).eval()
    >>> x = torch.randn(1, 1, 5)
    >>> torch.allclose(torch.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    return _fuse_layer(conv, bn, 1 if transpose else 0)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a copy of a linear layer that does the batch normalization after it as well.

    >>> import flambeau as torch
    >>> linear, bn = torch.nn.Linear(3, 2).eval(), torch.nn.BatchNorm1d(2).eval()
    >>> x = torch.randn(4, 3)
    >>> torch.allclose(torch.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-6)
    True
    """
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fuse_layer(linear, bn, 0)
