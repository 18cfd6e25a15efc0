"""Layer norm and RMS norm (Note: normalization)."""

from __future__ import annotations

from typing import Any

from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Rows
from ...graph.recent import Recent
from ...tensor import Tensor, record, record_one
from ...type_info import finfo
from ..calls.complaints import FAILURES, require
from ..declaration.definition import arithmetic_dtype, operand_dtype, operator
from ..declaration.registry import api, failed
from ..reductions.reduction import SUM_DIM
from .normalization import (
    NORMALIZE,
    Dims,
    normalize,
    require_floating,
    require_parameters,
    statistics_in,
    statistics_shape,
)


def _check_normalized_shape(x: Tensor, shape: Any, weight: Any, bias: Any) -> tuple[int, ...]:
    require("layer_norm", 2, "several ints", "normalized_shape", shape)
    wanted = tuple(shape)
    if not wanted:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at "
                           "least one element, but got normalized_shape = []")
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and tuple(p.shape) != wanted:
            raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of "
                               f"shape {list(p.shape)} and normalized_shape = {list(wanted)}")
    if tuple(x.shape[x.ndim - len(wanted):]) != wanted or x.ndim < len(wanted):
        stars = "".join(f", {n}" for n in wanted)
        raise RuntimeError(f"Given normalized_shape={list(wanted)}, expected input with shape [*{stars}], "
                           f"but got input of size{list(x.shape)}")
    return wanted


def _layer_norm_geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    x, weight = operands[0], operands[1] if isinstance(operands[1], Geometry) else None
    small = contiguous(statistics_shape(x.shape, attributes[0]), statistics_in(x, weight), x.device)
    return contiguous(x.shape, x.dtype, x.device), small, small


@operator("native_layer_norm", _layer_norm_geometry, compute=operand_dtype,
          grad_name="NativeLayerNormBackward0", rows=Rows(passes=3))
def LAYER_NORM(m: Any, input: Any, weight: Any, bias: Any, eps: Any, dims: Dims) -> Any:
    """xhat weight + bias over the last dimensions, with mean and rstd."""
    result, mean, rstd = normalize(m, input, eps, dims, True)
    if weight is not None:
        result *= weight
    if bias is not None:
        result += bias
    return result, mean, rstd


@LAYER_NORM.derivative("input", keeps="input weight output1 output2")
def _(ctx: Any, grads: Any, input: Tensor, weight: Any, mean: Tensor, rstd: Tensor) -> Any:
    grad, grad_mean, grad_rstd = grads
    wide = arithmetic_dtype(input.dtype)    # rounded once, at the end
    if grad is not None and weight is not None:
        grad = grad.to(wide) * weight
    rule = NORMALIZE.derivatives[0].rule
    found = rule(ctx, (grad, grad_mean, grad_rstd), input, mean.to(wide), rstd.to(wide))
    return found.to(input.dtype)


@LAYER_NORM.derivative("weight", keeps="input output1 output2")
def _(ctx: Any, grads: Any, input: Tensor, mean: Tensor, rstd: Tensor) -> Any:
    if grads[0] is None:
        return None
    wide = arithmetic_dtype(input.dtype)
    xhat, weight = (input - mean.to(wide)) * rstd.to(wide), ctx.operand_geometry(1)
    return _leading_sum(grads[0].to(wide) * xhat, weight.ndim).to(weight.dtype)


@LAYER_NORM.derivative("bias", once=True, formal="input weight bias")
def _(ctx: Any, grads: Any) -> Any:
    return None if grads[0] is None else _leading_sum(grads[0], ctx.operand_geometry(2).ndim)


def _leading_sum(x: Tensor, keep: int) -> Tensor:
    g = x._geometry
    lead = g.ndim - keep
    return record_one(SUM_DIM, x, (tuple(range(lead)), False, g.dtype)) if lead else x


@api("torch", "nn.functional", judge="never")
def layer_norm(input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05,
               cudnn_enable: bool = True) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions (Ba, Kiros and Hinton 2016).

    >>> import flambeau as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([[1., 3.]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    try:
        return _layer_norm(input, normalized_shape, weight, bias, eps, 1)[0]
    except FAILURES:
        return failed("nn.functional", "layer_norm", input, normalized_shape, weight, bias, eps)


@api("torch", judge="first")
def native_layer_norm(input: Tensor, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Layer norm with the mean and the reciprocal standard deviation.

    >>> import flambeau as torch
    >>> torch.native_layer_norm(torch.tensor([[1., 3.]]), (2,), None, None, 0.0)[1:]
    (tensor([[2.]]), tensor([[1.]]))
    """
    result: tuple[Tensor, Tensor, Tensor] = _layer_norm(input, normalized_shape, weight, bias, eps)
    return result


def _layer_norm(input: Tensor, normalized_shape: Any, weight: Any, bias: Any, eps: float,
                enough: int | None = None) -> Any:
    key = (input._geometry, normalized_shape, None if weight is None else weight._geometry,
           None if bias is None else bias._geometry)
    try:
        dims = _fitting.get(key)
    except TypeError:  # a list of extents
        require("layer_norm", 2, "several ints", "normalized_shape", normalized_shape)
        return _layer_norm(input, tuple(normalized_shape), weight, bias, eps, enough)
    if dims is None:
        shape = _check_normalized_shape(input, normalized_shape, weight, bias)
        require_parameters(input, weight, bias)
        require_floating(input, "LayerNormKernelImpl")
        dims = _fitting.keep(key, tuple(range(input.ndim - len(shape), input.ndim)))
    return record(LAYER_NORM, (input, weight, bias, float(eps)), (dims,), enough)


# The dimensions to normalize, for geometries and normalized shapes that were found to fit together.
_fitting: Recent[tuple[Any, ...], tuple[int, ...]] = Recent(1 << 12)


def _check_rms_shape(input: Tensor, normalized_shape: Any, weight: Any) -> tuple[int, ...]:
    """The normalized shape; its errors have words of their own."""
    require("rms_norm", 2, "several ints", "normalized_shape", normalized_shape)
    given = list(normalized_shape)
    if input.ndim < len(given):
        raise ValueError(f"Input tensor must have at least {len(given)} dimensions, but got {input.ndim}")
    if given and list(input.shape[-len(given):]) != given:
        raise RuntimeError(f"Given normalized_shape={given}, expected input with shape "
                           f"[*{', '.join(map(str, given))}], but got input of size{list(input.shape)}")
    return _check_normalized_shape(input, normalized_shape, weight, None)


@api("torch", "nn.functional", judge="never")
def rms_norm(input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions (Zhang and Sennrich 2019).

    ``eps`` defaults to the dtype's.

    >>> import flambeau as torch
    >>> torch.nn.functional.rms_norm(torch.tensor([3., 4.]), (2,))
    tensor([0.8485, 1.1314])
    """
    try:
        return _rms_norm(input, normalized_shape, weight, eps)
    except FAILURES:
        return failed("nn.functional", "rms_norm", input, normalized_shape, weight, eps)


def _rms_norm(input: Tensor, normalized_shape: Any, weight: Any, eps: float | None) -> Tensor:
    key = input._geometry, normalized_shape, None if weight is None else weight._geometry
    try:
        dims = _fitting_rms.get(key)
    except TypeError:  # a list of extents
        require("rms_norm", 2, "several ints", "normalized_shape", normalized_shape)
        return _rms_norm(input, tuple(normalized_shape), weight, eps)
    if dims is None:
        shape = _check_rms_shape(input, normalized_shape, weight)
        if not input.is_complex():
            require_floating(input, "rms_norm")
        dims = _fitting_rms.keep(key, tuple(range(input.ndim - len(shape), input.ndim)))
    wide = input.to(arithmetic_dtype(input.dtype)).contiguous()     # as the result is
    small = finfo(wide.dtype.to_real()).eps if eps is None else float(eps)
    result = wide * (wide.square().mean(dims, keepdim=True) + small).rsqrt()
    return (result if weight is None else result * weight).to(input.dtype)


_fitting_rms: Recent[tuple[Any, ...], tuple[int, ...]] = Recent(1 << 12)    # as _fitting
