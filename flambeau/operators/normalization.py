"""Normalizations: layer, RMS, group, batch and instance norm.

Note: normalization. Everything is one operator: x is seen as (outer, channels, inner) and normalized over
``dims``; mean and rstd = 1 / sqrt(var + eps) are results of their own, so that derivatives of any order see
how they depend on x:

    xhat = (x - mean) rstd,      d mean / dx = 1 / n,      d rstd / dx = -rstd^3 (x - mean) / n

    grad_x = rstd (g - mean(g) - xhat mean(g xhat))        (Ioffe and Szegedy 2015; Ba, Kiros and Hinton 2016)

The first derivative alone, which is what training needs, runs as one kernel (``NORMALIZE_BACKWARD``).
"""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..graph.geometry import contiguous
from ..graph.recent import Recent
from ..tensor import Tensor, record, state
from ..tensor.inplace import write
from .definition import arithmetic_dtype, operator
from .padding import pad
from .registry import api, write_out

Dims = tuple[int, ...]


def _compute(operands: Any) -> dtypes.dtype:
    return arithmetic_dtype(operands[0].dtype)


def _statistics_shape(shape: Any, dims: Dims) -> Dims:
    return tuple(1 if d in dims else n for d, n in enumerate(shape))


def _normalize_geometry(operands: Any, attributes: Any) -> Any:
    x = operands[0]
    small = contiguous(_statistics_shape(x.shape, attributes[0]), arithmetic_dtype(x.dtype), x.device)
    return contiguous(x.shape, x.dtype, x.device), small, small


@operator("normalize", _normalize_geometry, compute=_compute)
def NORMALIZE(m: Any, input: Any, eps: Any, dims: Dims) -> Any:
    """(x - mean) / sqrt(var + eps) over ``dims``, with mean and rstd."""
    mean = m.mean(input, axis=dims, keepdims=True)
    centred = input - mean
    variance = m.mean(centred * centred, axis=dims, keepdims=True)
    rstd = 1 / m.sqrt(variance + eps)
    centred *= rstd
    return centred, mean, rstd


@operator("normalize_backward", lambda operands, attributes: contiguous(operands[0].shape, operands[0].dtype,
                                                                       operands[0].device), compute=_compute)
def NORMALIZE_BACKWARD(m: Any, grad: Any, input: Any, mean: Any, rstd: Any, dims: Dims) -> Any:
    """The gradient by x, in one kernel."""
    xhat = (input - mean) * rstd
    dot = m.mean(grad * xhat, axis=dims, keepdims=True)
    xhat *= -dot
    xhat += grad
    xhat -= m.mean(grad, axis=dims, keepdims=True)
    xhat *= rstd
    return xhat


@NORMALIZE.derivative("input", keeps="input output1 output2")
def _(ctx: Any, grads: Any, input: Tensor, mean: Tensor, rstd: Tensor) -> Any:
    (dims,) = ctx.attributes
    grad, grad_mean, grad_rstd = grads
    if grad is not None and grad_mean is None and grad_rstd is None and not state.enabled:
        return record(NORMALIZE_BACKWARD, (grad, input, mean, rstd), (dims,))
    n = 1
    for d in dims:
        n *= input.shape[d]
    total: Any = None
    centred = input - mean
    if grad is not None:
        grad = grad.to(mean.dtype)
        total = rstd * (grad - grad.mean(dims, keepdim=True)
                        - centred * rstd * rstd * (grad * centred).mean(dims, keepdim=True))
    if grad_mean is not None:
        part = (grad_mean / n).expand(input.shape)
        total = part if total is None else total + part
    if grad_rstd is not None:
        part = -grad_rstd * rstd ** 3 * centred / n
        total = part if total is None else total + part
    return total


def normalized(x: Tensor, dims: Dims, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """xhat, mean and rstd of x over ``dims``."""
    result: tuple[Tensor, Tensor, Tensor] = record(NORMALIZE, (x, eps), (dims,))
    return result


# --- layer norm, RMS norm -----------------------------------------------------------------------------------

def _check_normalized_shape(x: Tensor, shape: Any, weight: Any, bias: Any) -> tuple[int, ...]:
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
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


def _layer_norm_geometry(operands: Any, attributes: Any) -> Any:
    x = operands[0]
    small = contiguous(_statistics_shape(x.shape, attributes[0]), arithmetic_dtype(x.dtype), x.device)
    return contiguous(x.shape, x.dtype, x.device), small, small


@operator("native_layer_norm", _layer_norm_geometry, compute=_compute, grad_name="NativeLayerNormBackward0")
def LAYER_NORM(m: Any, input: Any, weight: Any, bias: Any, eps: Any, dims: Dims) -> Any:
    """xhat weight + bias over the last dimensions, with mean and rstd."""
    result, mean, rstd = NORMALIZE.kernel(m, input, eps, dims)
    if weight is not None:
        result *= weight
    if bias is not None:
        result += bias
    return result, mean, rstd


@LAYER_NORM.derivative("input", keeps="input weight output1 output2")
def _(ctx: Any, grads: Any, input: Tensor, weight: Any, mean: Tensor, rstd: Tensor) -> Any:
    grad, grad_mean, grad_rstd = grads
    if grad is not None and weight is not None:
        grad = grad * weight
    return NORMALIZE.derivatives[0].rule(ctx, (grad, grad_mean, grad_rstd), input, mean, rstd)


@LAYER_NORM.derivative("weight", keeps="input output1 output2")
def _(ctx: Any, grads: Any, input: Tensor, mean: Tensor, rstd: Tensor) -> Any:
    if grads[0] is None:
        return None
    return _leading_sum(grads[0] * ((input - mean) * rstd), ctx.operand_geometry(1).ndim)


@LAYER_NORM.derivative("bias")
def _(ctx: Any, grads: Any) -> Any:
    return None if grads[0] is None else _leading_sum(grads[0], ctx.operand_geometry(2).ndim)


def _leading_sum(x: Tensor, keep: int) -> Tensor:
    lead = x.ndim - keep
    return x.sum(tuple(range(lead))) if lead else x


@api("torch", "nn.functional")
def layer_norm(input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05,
               cudnn_enable: bool = True) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions (Ba, Kiros and Hinton 2016).

    >>> import flambeau as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([[1., 3.]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    return _layer_norm(input, normalized_shape, weight, bias, eps, 1)[0]


@api("torch")
def native_layer_norm(input: Tensor, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Layer norm with the mean and the reciprocal standard deviation.

    >>> import flambeau as torch
    >>> torch.native_layer_norm(torch.tensor([[1., 3.]]), (2,), None, None, 0.0)[1:]
    (tensor([[2.]]), tensor([[1.]]))
    """
    result, mean, rstd = _layer_norm(input, normalized_shape, weight, bias, eps)
    kind = statistics_in(input, weight)
    return result, mean.to(kind), rstd.to(kind)


def statistics_in(input: Tensor, weight: Any) -> dtypes.dtype:
    """The type in which statistics are given out: the weight's, which may be wider than the input's."""
    return input.dtype if weight is None else weight.dtype


def _layer_norm(input: Tensor, normalized_shape: Any, weight: Any, bias: Any, eps: float,
                enough: int | None = None) -> Any:
    key = (input._geometry, normalized_shape, None if weight is None else weight._geometry,
           None if bias is None else bias._geometry)
    try:
        dims = _fitting.get(key)
    except TypeError:  # a list of extents
        return _layer_norm(input, tuple(normalized_shape), weight, bias, eps, enough)
    if dims is None:
        shape = _check_normalized_shape(input, normalized_shape, weight, bias)
        if input.dtype.category != dtypes.FLOATING:
            raise NotImplementedError("\"LayerNormKernelImpl\" not implemented for "
                                      f"'{dtypes.SCALAR_NAMES[input.dtype]}'")
        require_parameters(input, weight, bias)
        dims = _fitting.keep(key, tuple(range(input.ndim - len(shape), input.ndim)))
    return record(LAYER_NORM, (input, weight, bias, float(eps)), (dims,), enough)


# The dimensions to normalize, for geometries and normalized shapes that were found to fit together.
_fitting: Recent[tuple[Any, ...], tuple[int, ...]] = Recent(1 << 12)


@api("torch", "nn.functional")
def rms_norm(input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions (Zhang and Sennrich 2019).

    ``eps`` defaults to the dtype's.
    """
    shape = _check_normalized_shape(input, normalized_shape, weight, None)
    dims = tuple(range(input.ndim - len(shape), input.ndim))
    wide = input.to(arithmetic_dtype(input.dtype))
    small = dtypes.finfo(wide.dtype.to_real()).eps if eps is None else eps
    result = wide * (wide.square().mean(dims, keepdim=True) + small).rsqrt()
    return (result if weight is None else result * weight).to(input.dtype)


# --- group, instance, batch norm ----------------------------------------------------------------------------

def _per_channel(p: Tensor, ndim: int) -> Tensor:
    return p.reshape(1, -1, *([1] * (ndim - 2)))


@api("torch", "nn.functional")
def group_norm(input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05,
               cudnn_enabled: bool = True) -> Tensor:
    """Normalization over groups of channels and all positions (Wu and He 2018): (N, C, *)."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    batch, channels = input.shape[:2]
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
    require_parameters(input, weight, bias)
    if input.numel() == 0:
        return _affine(input.reshape(input.shape) * 1, weight, bias)
    wide = input.to(arithmetic_dtype(input.dtype)).reshape(batch, num_groups, -1)
    result = _affine(normalized(wide, (2,), float(eps))[0].reshape(input.shape), weight, bias)
    return result.to(input.dtype)


def require_parameters(input: Tensor, *parameters: Any) -> None:
    """Parameters have the input's type; those of 16-bit inputs may all be float32."""
    kinds = {p.dtype for p in parameters if p is not None}
    if kinds <= {input.dtype} or (input.dtype in dtypes.LOW_PRECISION and kinds == {dtypes.float32}):
        return
    raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")


def _affine(x: Tensor, weight: Any, bias: Any) -> Tensor:
    if weight is not None:
        x = x * _per_channel(weight, x.ndim)
    if bias is not None:
        x = x + _per_channel(bias, x.ndim)
    return x


@api("nn.functional")
def instance_norm(input: Tensor, running_mean: Any = None, running_var: Any = None, weight: Any = None,
                  bias: Any = None, use_input_stats: bool = True, momentum: float = 0.1,
                  eps: float = 1e-05) -> Tensor:
    """Normalization over the positions of each channel of each sample (Ulyanov et al. 2016): (N, C, *)."""
    if use_input_stats:
        spatial = 1
        for n in input.shape[2:]:
            spatial *= n
        if spatial == 1:
            raise ValueError("Expected more than 1 spatial element when training, got input size "
                             f"{input.size()}")
    elif running_mean is None or running_var is None:
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is "
                           "false")
    if not use_input_stats:
        result = (input - _per_channel(running_mean, input.ndim)) \
            * (_per_channel(running_var, input.ndim) + eps).rsqrt()
        return _affine(result, weight, bias)
    require_parameters(input, weight, bias)
    dims = tuple(range(2, input.ndim))
    wide = input.to(arithmetic_dtype(input.dtype))
    result, mean, _ = normalized(wide, dims, float(eps))
    if running_mean is not None:
        before, state.enabled = state.enabled, False
        try:
            count = input.numel() // (input.shape[0] * input.shape[1])
            variance = wide.detach().var(dims, correction=1 if count > 1 else 0).mean(0)
            _move(running_mean, mean.detach().mean(0).reshape(-1), momentum)
            _move(running_var, variance, momentum)
        finally:
            state.enabled = before
    return _affine(result, weight, bias).to(input.dtype)


def _move(running: Tensor, new: Tensor, momentum: float) -> None:
    """running <- (1 - momentum) running + momentum new."""
    wide = running.to(new.dtype) if running.dtype in dtypes.LOW_PRECISION else running
    write(running, (wide * (1 - momentum) + new.to(wide.dtype) * momentum).to(running.dtype))


def _batch_norm_geometry(operands: Any, attributes: Any) -> Any:
    x = operands[0]
    channels = (x.shape[1],)
    small = contiguous(channels, arithmetic_dtype(x.dtype), x.device)
    return contiguous(x.shape, x.dtype, x.device), small, small


def _channel_shape(ndim: int) -> tuple[int, ...]:
    return (1, -1, *([1] * (ndim - 2)))


@operator("native_batch_norm", _batch_norm_geometry, compute=_compute, grad_name="NativeBatchNormBackward0")
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
        _WithDims(dims), (grad, None if grad_mean is None else grad_mean.reshape(shape),
                          None if grad_rstd is None else grad_rstd.reshape(shape)),
        input, mean.reshape(shape), rstd.reshape(shape))


class _WithDims:
    """The part of a context that the shared rule reads."""

    def __init__(self, dims: Dims) -> None:
        self.attributes = (dims,)


@BATCH_NORM.derivative("weight", keeps="input output1 output2")
def _(ctx: Any, grads: Any, input: Tensor, mean: Tensor, rstd: Tensor) -> Any:
    if grads[0] is None:
        return None
    shape = _channel_shape(input.ndim)
    return (grads[0] * ((input - mean.reshape(shape)) * rstd.reshape(shape))).sum((0, *range(2, input.ndim)))


@BATCH_NORM.derivative("bias")
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
    """
    channels = input.shape[1] if input.ndim > 1 else 0
    for name, p in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight),
                    ("bias", bias)):
        if p is not None and p.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {p.numel()}")
    if input.ndim < 2:
        if input.numel():
            raise IndexError(f"Dimension out of range (expected to be in range of [{-max(input.ndim, 1)}, "
                             f"{max(input.ndim, 1) - 1}], but got 1)")
        return input.clone()
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError(f"running_{'mean' if running_mean is None else 'var'} must be defined in "
                               "evaluation mode")
        scale = (running_var + eps).rsqrt()
        scale = scale if weight is None else scale * weight
        shift = -running_mean * scale if bias is None else bias - running_mean * scale
        return (input * _per_channel(scale, input.ndim) + _per_channel(shift, input.ndim)).to(input.dtype)
    count = input.numel() // max(channels, 1)
    if count == 1:
        raise ValueError("Expected more than 1 value per channel when training, got input size "
                         f"{input.size()}")
    if weight is not None and weight.dtype is not input.dtype:
        require_parameters(input, weight, bias)
    result, mean, rstd = record(BATCH_NORM, (input, weight, bias, float(eps)))
    if running_mean is not None:
        _update_running(running_mean, running_var, mean.detach(), rstd.detach(), count, momentum, eps)
    return result


def _update_running(running_mean: Tensor, running_var: Tensor, mean: Tensor, rstd: Tensor, count: int,
                    momentum: float, eps: float) -> None:
    before, state.enabled = state.enabled, False
    try:
        _move(running_mean, mean, momentum)
        _move(running_var, (1 / (rstd * rstd) - eps) * (count / max(count - 1, 1)), momentum)
    finally:
        state.enabled = before


@api("nn.functional")
def local_response_norm(input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75,
                        k: float = 1.0) -> Tensor:
    """x / (k + alpha mean of x^2 over ``size`` neighbouring channels)^beta (Krizhevsky et al. 2012)."""
    if input.ndim < 3:
        raise ValueError("Expected 3D or higher dimensionality                          input (got "
                         f"{input.ndim} dimensions)")
    if input.numel() == 0:
        return input
    squares = pad((input * input).reshape(input.shape[0], 1, input.shape[1], -1),
                  [0, 0, size // 2, (size - 1) // 2])
    total: Any = None
    for i in range(size):
        part = squares.narrow(2, i, input.shape[1])
        total = part if total is None else total + part
    whole = not (total.is_floating_point() or total.is_complex())
    divisor = (total // size if whole else total / size).reshape(input.shape)
    return input / (divisor * alpha + k) ** beta


@api("nn.functional")
def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """x / max(||x||_p, eps) along ``dim``."""
    norm = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    result = input / norm
    if out is None:
        return result
    written: Tensor = write_out(result, out, "normalize")
    return written
