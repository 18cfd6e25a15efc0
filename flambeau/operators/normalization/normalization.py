"""What all normalizations are made of, and instance norm.

Note: normalization. Everything is one operator: x is seen as (outer, channels, inner) and normalized over
``dims``; mean and rstd = 1 / sqrt(var + eps) are results of their own, so that derivatives of any order see
how they depend on x:

    xhat = (x - mean) rstd,      d mean / dx = 1 / n,      d rstd / dx = -rstd^3 (x - mean) / n

    grad_x = rstd (g - mean(g) - xhat mean(g xhat))        (Ioffe and Szegedy 2015; Ba, Kiros and Hinton 2016)

The first derivative alone, which is what training needs, runs as one kernel (``NORMALIZE_BACKWARD``).
"""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Rows
from ...tensor import Tensor, record, state
from ...tensor.aliasing.inplace import write
from ...tensor.batching import BatchedTensor
from ..creation.memory_formats import suggested_geometry
from ..declaration.definition import arithmetic_dtype, operand_dtype, operator
from ..declaration.registry import api

Dims = tuple[int, ...]


def statistics_shape(shape: Any, dims: Dims) -> Dims:
    """Of mean and rstd."""
    return tuple(1 if d in dims else n for d, n in enumerate(shape))


def _normalize_geometry(operands: Any, attributes: Any) -> tuple[Geometry, ...]:
    x = operands[0]
    small = contiguous(statistics_shape(x.shape, attributes[0]), arithmetic_dtype(x.dtype), x.device)
    return contiguous(x.shape, x.dtype, x.device), small, small


@operator("normalize", _normalize_geometry, compute=operand_dtype, rows=Rows(passes=3))
def NORMALIZE(m: Any, input: Any, eps: Any, dims: Dims) -> Any:
    """(x - mean) / sqrt(var + eps) over ``dims``, with mean and rstd."""
    return normalize(m, input, eps, dims, False)


def normalize(m: Any, input: Any, eps: Any, dims: Dims, squared: bool) -> Any:
    """xhat, mean and rstd; if ``squared`` they are NaN where the square of the mean is infinite.

    In layer norm and group norm PyTorch subtracts that square, in others it does not.
    """
    mean = m.mean(input, axis=dims, keepdims=True)
    centred = input - mean
    variance = m.mean(centred * centred, axis=dims, keepdims=True)
    if squared:
        variance = variance + mean * mean * 0
    rstd = 1 / m.sqrt(variance + eps)
    centred *= rstd
    return centred, mean, rstd


def _backward_geometry(operands: Any, attributes: Any) -> Geometry:
    grad, x = operands[:2]
    if attributes[0][:1] == (0,) and 1 not in attributes[0]:    # of a batch: channels last where x is
        return suggested_geometry(grad.shape, x, grad.dtype)
    return contiguous(grad.shape, grad.dtype, grad.device)


@operator("normalize_backward", _backward_geometry, compute=operand_dtype, rows=Rows(passes=2))
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


def like_input(x: Geometry) -> Geometry:
    """Contiguous where the input is, though extents of 1 may suggest channels last."""
    return contiguous(x.shape, x.dtype, x.device) if x.is_contiguous else suggested_geometry(x.shape, x)


def with_statistics(x: Geometry, shape: Dims) -> tuple[Geometry, Geometry, Geometry]:
    """Of a normalized x, and of mean and rstd."""
    small = contiguous(shape, arithmetic_dtype(x.dtype), x.device)
    return like_input(x), small, small


class Attributes:
    """The part of a context that the rule above reads, for derivatives of which it is a part."""

    def __init__(self, attributes: Any) -> None:
        self.attributes = attributes


def normalized(x: Tensor, dims: Dims, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """xhat, mean and rstd of x over ``dims``."""
    result: tuple[Tensor, Tensor, Tensor] = record(NORMALIZE, (x, eps), (dims,))
    return result


def statistics_in(input: Any, weight: Any) -> dtypes.dtype:
    """The type of statistics that are given out or kept: the weight's, which may be wider."""
    found: dtypes.dtype = (input if weight is None else weight).dtype
    return found


# --- instance norm, and what it shares ----------------------------------------------------------------------

def per_channel(p: Tensor, ndim: int) -> Tensor:
    """A vector of channels (C) as (1, C, 1, ...)."""
    return p.reshape(1, -1, *([1] * (ndim - 2)))


def require_parameters(input: Tensor, *parameters: Any) -> None:
    """Parameters have the input's type; those of 16-bit inputs may all be float32."""
    kinds = {p.dtype for p in parameters if p is not None}
    if kinds <= {input.dtype} or (input.dtype in dtypes.LOW_PRECISION and kinds == {dtypes.float32}):
        return
    first, *others = [p for p in parameters if p is not None]
    if first.dtype is input.dtype:
        other = next(p for p in others if p.dtype is not input.dtype)
        raise RuntimeError(f"expected scalar type {dtypes.SCALAR_NAMES[input.dtype]} but found "
                           f"{dtypes.SCALAR_NAMES[other.dtype]}")
    if kinds - {dtypes.float32}:
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def require_floating(input: Tensor, kernel: str) -> None:
    """Refuse what is no floating point number."""
    if input.dtype.category != dtypes.FLOATING:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.SCALAR_NAMES[input.dtype]}'")


def affine(x: Tensor, weight: Any, bias: Any) -> Tensor:
    """x weight + bias, by channel."""
    if weight is not None:
        x = x * per_channel(weight, x.ndim)
    if bias is not None:
        x = x + per_channel(bias, x.ndim)
    return x


def require_both(mean: Any, variance: Any) -> None:
    """Raise where one of the running statistics is missing."""
    if (mean is None) != (variance is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")


def require_type(one: Tensor, other: Tensor) -> None:
    """Raise where a parameter or statistic is of another type than it should be."""
    if one.dtype is not other.dtype:
        raise RuntimeError(f"expected scalar type {dtypes.SCALAR_NAMES[one.dtype]} but found "
                           f"{dtypes.SCALAR_NAMES[other.dtype]}")


def _check_statistics(input: Tensor, **given: Any) -> None:
    """PyTorch repeats what there is for each channel, once for each sample."""
    require_both(given["running_mean"], given["running_var"])
    present = {name: p for name, p in given.items() if p is not None}
    if any(p.ndim > 1 for p in present.values()):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions "
                           "of tensor")
    samples, channels = input.shape[:2]
    for name, p in present.items():
        if p.numel() != channels:
            raise RuntimeError(f"{name} should contain {samples * channels} elements not "
                               f"{samples * p.numel()}")


@api("nn.functional", judge="first")
def instance_norm(input: Tensor, running_mean: Any = None, running_var: Any = None, weight: Any = None,
                  bias: Any = None, use_input_stats: bool = True, momentum: float = 0.1,
                  eps: float = 1e-05) -> Tensor:
    """Normalization over the positions of each channel of each sample (Ulyanov et al. 2016): (N, C, *).

    >>> import flambeau as torch
    >>> torch.nn.functional.instance_norm(torch.tensor([[[1., 3.]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
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
    _check_statistics(input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if not input.numel():
        return unnormalized(input, *(None if p is None else p.repeat(input.shape[0]) for p in (weight, bias)))
    require_floating(input, "batch_norm")
    require_parameters(input, weight, bias)
    if not use_input_stats:
        result = (input.contiguous() - per_channel(running_mean, input.ndim)) \
            * (per_channel(running_var, input.ndim) + eps).rsqrt()
        return affine(result, weight, bias).to(input.dtype)
    if running_var is not None:
        require_type(running_mean, running_var)
    dims = tuple(range(2, input.ndim))
    wide = input.to(arithmetic_dtype(input.dtype))
    result, mean, _ = normalized(wide, dims, float(eps))
    if running_mean is not None:
        require_statistics_for_each(running_mean, mean)
        before, state.enabled = state.enabled, False
        try:
            count = input.numel() // (input.shape[0] * input.shape[1])
            variance = wide.detach().var(dims, correction=1 if count > 1 else 0).mean(0)
            move(running_mean, mean.detach().mean(0).reshape(-1), momentum)
            move(running_var, variance, momentum)
        finally:
            state.enabled = before
    return affine(result, weight, bias).to(input.dtype)


def unnormalized(input: Tensor, weight: Any, bias: Any) -> Tensor:
    """The result for an input without elements, whose weight and bias have gradients all the same."""
    result = input.clone()
    if weight is not None:
        result = result * weight.select(0, 0)
    return result if bias is None else result + bias.select(0, 0)


def require_statistics_for_each(running: Tensor, new: Tensor) -> None:
    """Under vmap, statistics of all examples cannot be written to one place."""
    if new.__class__ is BatchedTensor and running.__class__ is not BatchedTensor:
        raise RuntimeError("Batch norm got a batched tensor as input while the running_mean or running_var, "
                           "which will be updated in place, were not batched.\nIf you are using a module and "
                           "do not need eval mode, please set `track_running_stats` to be False.If you are "
                           "using a prebuilt module and do not need eval mode, please see the functorch "
                           "website for resources on how to patch your module to work with vmap")


def move(running: Tensor, new: Tensor, momentum: float) -> None:
    """running <- (1 - momentum) running + momentum new."""
    wide = running.to(new.dtype) if running.dtype in dtypes.LOW_PRECISION else running
    write(running, (wide * (1 - momentum) + new.to(wide.dtype) * momentum).to(running.dtype))
