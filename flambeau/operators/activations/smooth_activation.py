"""Smooth activation functions: gelu, silu, mish, softplus and their kin, and those with weights or noise."""

from __future__ import annotations

from functools import partial
from math import isfinite
from typing import Any

from ... import dtypes
from ...graph.geometry import contiguous
from ...graph.operator import Operator
from ...tensor import Tensor, assign, check_dim, record, record_one, record_pair, state
from ..calls.complaints import FAILURES
from ..calls.number_range import number_for
from ..calls.out import UNCONVERTED, Out
from ..creation.creation import like_geometry
from ..declaration.definition import arithmetic_dtype, pointwise_geometry, pointwise_operator
from ..declaration.domain import COMPLEX, INTEGRAL, NOT_FLOATING, not_implemented, refuse
from ..declaration.registry import api, failed
from ..pointwise.arithmetic import conjugate
from ..pointwise.comparison import where
from ..pointwise.exponential import SIGMOID, exp, sigmoid
from ..pointwise.trigonometric import tanh
from ..random.distributions import RRELU_SLOPES
from ..random.random import drawn
from .activation import done

# --- gelu ---------------------------------------------------------------------------------------------------

GELU = pointwise_operator("gelu", lambda m, input: m.gelu(input))
GELU_BACKWARD = pointwise_operator("gelu_backward", lambda m, grad, input: m.gelu_gradient(grad, input))
GELU_TANH = pointwise_operator("gelu", lambda m, input: m.gelu_tanh(input))
GELU_TANH_BACKWARD = pointwise_operator(
    "gelu_backward", lambda m, grad, input: m.gelu_tanh_gradient(grad, input)
)
refuse(GELU, "GeluKernelImpl", *NOT_FLOATING)
refuse(GELU_TANH, "GeluKernelImpl", *NOT_FLOATING)


@GELU.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return record_pair(GELU_BACKWARD, grad, input)


@GELU_BACKWARD.derivative("grad", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return record_pair(GELU_BACKWARD, grad, input)


@GELU_BACKWARD.derivative("input", keeps="grad input")
def _(ctx: Any, grad: Tensor, inner: Tensor, input: Tensor) -> Tensor:
    # (x cdf)'' = pdf (2 - x^2)
    square = input * input
    return grad * inner * (exp(square * -0.5) * 0.3989422804014327) * (2 - square)


@GELU_TANH.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return record_pair(GELU_TANH_BACKWARD, grad, input)


@GELU_TANH_BACKWARD.derivative("grad", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return record_pair(GELU_TANH_BACKWARD, grad, input)


@GELU_TANH_BACKWARD.derivative("input", keeps="grad input")
def _(ctx: Any, grad: Tensor, inner: Tensor, input: Tensor) -> Tensor:
    # y = x (1 + t) / 2 with t = tanh(u): y'' = t' + x t'' / 2, where t' = (1 - t^2) u' and
    # t'' = (1 - t^2)(u'' - 2 t u'^2)
    scale, cube = 0.7978845608028654, 0.044715
    square = input * input
    t = tanh(input * (square * cube + 1) * scale)
    flat = 1 - t * t
    first = (square * (3 * cube) + 1) * scale
    second = input * (6 * cube * scale)
    return grad * inner * flat * (first + input * 0.5 * (second - 2 * t * first * first))


@api("nn.functional", out=UNCONVERTED)
def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """``input`` times the normal distribution function of ``input`` (Hendrycks and Gimpel, 2016).

    ``approximate="tanh"``: ``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))``.

    >>> import flambeau as torch
    >>> torch.nn.functional.gelu(torch.tensor([-1., 2.]))
    tensor([-0.1587,  1.9545])
    """
    if approximate == "none":
        return record_one(GELU, input)
    if approximate == "tanh":
        return record_one(GELU_TANH, input)
    raise RuntimeError("approximate argument must be either none or tanh.")


# --- silu and mish ------------------------------------------------------------------------------------------

SILU = pointwise_operator("silu", lambda m, input: m.silu(input))
SILU_BACKWARD = pointwise_operator(
    "silu_backward", lambda m, grad, input: m.silu_gradient(grad, m.conj(input))
)
MISH = pointwise_operator("mish", lambda m, input: m.mish(input))


@partial(pointwise_operator, "mish_backward")
def MISH_BACKWARD(m: Any, grad: Any, input: Any) -> Any:
    """``grad`` times the slope, rounded once."""
    t = m.tanh(m.softplus(input))
    return grad * (t + input * m.sigmoid(input) * (1 - t * t))


refuse(SILU, "silu_cpu", *INTEGRAL)
refuse(MISH, "mish_cpu", *NOT_FLOATING)


@SILU.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return record_pair(SILU_BACKWARD, grad, input)


@SILU_BACKWARD.derivative("grad", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return record(SILU_BACKWARD, (grad, conjugate(input)))


@SILU_BACKWARD.derivative("input", keeps="grad input")
def _(ctx: Any, grad: Tensor, inner: Tensor, input: Tensor) -> Tensor:
    s = sigmoid(input)
    curve = s * (1 - s) * (2 + input * (1 - 2 * s))
    return conjugate(grad) * inner * conjugate(curve)


@MISH.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    if not state.enabled:
        return record_pair(MISH_BACKWARD, grad, input)
    t = tanh(softplus(input))
    return grad * (t + input * sigmoid(input) * (1 - t * t))


@api("nn.functional", judge="never")
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``.

    >>> import flambeau as torch
    >>> torch.nn.functional.silu(torch.tensor([-1., 2.]))
    tensor([-0.2689,  1.7616])
    """
    try:
        return done(input, record_one(SILU, input), inplace, "silu_")
    except FAILURES:
        return failed("nn.functional", "silu", input, inplace)


@api("nn.functional")
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))`` (Misra, 2019).

    >>> import flambeau as torch
    >>> torch.nn.functional.mish(torch.tensor([-1., 2.]))
    tensor([-0.3034,  1.9440])
    """
    return done(input, record_one(MISH, input), inplace, "mish_")


# --- softplus and the logarithm of sigmoid ------------------------------------------------------------------

SOFTPLUS = pointwise_operator("softplus", lambda m, input, beta, threshold: m.where(
    input * beta > threshold, input, m.log1p(m.exp(m.minimum(input * beta, threshold))) / beta))
SOFTPLUS_BACKWARD = pointwise_operator("softplus_backward", lambda m, grad, input, beta, threshold: m.where(
    input * beta > threshold, grad, grad * m.sigmoid(input * beta)))
LOGSIGMOID = pointwise_operator("log_sigmoid", lambda m, input: -m.softplus(-input))
LOGSIGMOID_BACKWARD = pointwise_operator(     # with exp(-|x|), which PyTorch keeps
    "log_sigmoid_backward", lambda m, grad, input, small: grad * m.where(input < 0, 1, small) / (1 + small))
refuse(SOFTPLUS, "softplus_cpu", *NOT_FLOATING, first_only=True)
refuse(LOGSIGMOID, "log_sigmoid_cpu", *NOT_FLOATING)


@SOFTPLUS.derivative("input", keeps="input beta threshold")
def _(ctx: Any, grad: Tensor, input: Tensor, beta: Any, threshold: Any) -> Tensor:
    if not state.enabled:
        return record(SOFTPLUS_BACKWARD, (grad, input, beta, threshold))
    scaled = input * beta
    return where(scaled > threshold, grad, grad * sigmoid(scaled))


@LOGSIGMOID.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    if not state.enabled:
        return record(LOGSIGMOID_BACKWARD, (grad, input, exp(-input.abs())))
    return grad * sigmoid(-input)


@api("nn.functional", out=UNCONVERTED)
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; ``input`` itself where ``beta * input > threshold``.

    >>> import flambeau as torch
    >>> torch.nn.functional.softplus(torch.tensor([-1., 2.]))
    tensor([0.3133, 2.1269])
    """
    dtype = arithmetic_dtype(input._geometry.dtype)
    return record(SOFTPLUS, (input, number_for(beta, dtype), number_for(threshold, dtype)))


@api("nn.functional", out=Out("expected scalar type {Result} but found {Out}"))
def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(input))``.

    >>> import flambeau as torch
    >>> torch.nn.functional.logsigmoid(torch.tensor([-1., 2.]))
    tensor([-1.3133, -0.1269])
    """
    return record_one(LOGSIGMOID, input)


@api("nn.functional")
def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``.

    >>> import flambeau as torch
    >>> torch.nn.functional.softsign(torch.tensor([-1., 3.]))
    tensor([-0.5000,  0.7500])
    """
    return input / (input.abs() + 1)


# --- gates, weights and noise -------------------------------------------------------------------------------

@api("nn.functional")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """``a * sigmoid(b)`` where a and b are the halves of ``input`` along ``dim`` (Dauphin et al., 2016).

    >>> import flambeau as torch
    >>> torch.nn.functional.glu(torch.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """
    if input.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = check_dim(dim, input.ndim)
    extent = input.shape[axis]
    if extent % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {extent}")
    if input.dtype.category != dtypes.FLOATING:
        raise not_implemented("glu_cpu", input.dtype)
    return record(GLU, (input.narrow(axis, 0, extent // 2),
                        input.narrow(axis, extent // 2, extent // 2)))


GLU = pointwise_operator("glu", lambda m, value, gate: m.multiply(value, m.sigmoid(gate)))
GLU_BACKWARD = pointwise_operator(
    "glu_backward", lambda m, grad, value, gate: (1 - gate) * gate * grad * value)


@GLU.derivative("value", keeps="gate")
def _(ctx: Any, grad: Tensor, gate: Tensor) -> Tensor:
    return grad * record_one(SIGMOID, gate)


@GLU.derivative("gate", keeps="value gate")
def _(ctx: Any, grad: Tensor, value: Tensor, gate: Tensor) -> Tensor:
    s = sigmoid(gate)
    if not state.enabled:
        return record(GLU_BACKWARD, (grad, value, s))
    return grad * value * (s * (1 - s))


PRELU = pointwise_operator("prelu_kernel", lambda m, input, weight: m.where(input > 0, input, input * weight),
                           lies_alike=True)


@PRELU.derivative("input", keeps="input weight", formal="input weight")
def _(ctx: Any, grad: Tensor, input: Tensor, weight: Tensor) -> Tensor:
    return where(input > 0, grad, grad * weight)


@PRELU.derivative("weight", keeps="input", holds="weight", formal="input weight")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return where(input > 0, 0, grad * input)


@api("torch", "Tensor", "nn.functional")
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where positive, else ``weight * input``; one weight, or one for each channel (dimension 1).

    >>> import flambeau as torch
    >>> torch.prelu(torch.tensor([[-1., -2.]]), torch.tensor([0.5, 0.1]))
    tensor([[-0.5000, -0.2000]])
    """
    a, w = input._geometry, weight._geometry
    if a.dtype is not w.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {dtypes.SCALAR_NAMES[a.dtype]} and "
                           f"{dtypes.SCALAR_NAMES[w.dtype]}")
    if w.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {w.ndim}")
    if w.numel != 1:
        if a.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = a.shape[1] if a.ndim > 1 else 1
        if w.numel != channels:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {w.numel} "
                f"and channel size = {channels}."
            )
    if a.ndim > 1:
        weight = weight.reshape(1, -1, *[1] * (a.ndim - 2))
    elif a.ndim == 0 or w.ndim == 0:
        weight = weight.reshape(a.ndim * (1,))
    return record_pair(PRELU, input, weight)


# The slopes have the precision of arithmetic; the result is rounded once.
RRELU = Operator("rrelu_with_noise", lambda m, input, noise: m.multiply(input, noise),
                 lambda operands, attributes: pointwise_geometry(operands, operands[0].dtype),
                 ("input", "noise"), compute=lambda operands: arithmetic_dtype(operands[0].dtype),
                 kind="pointwise")
refuse(RRELU, "rrelu_with_noise_out_cpu", *INTEGRAL, COMPLEX)


@RRELU.derivative("input", keeps="noise", holds="input", formal="input")
def _(ctx: Any, grad: Tensor, noise: Tensor) -> Tensor:
    return grad * noise.to(grad.dtype)


@api("torch", judge="first")
def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
          generator: Any = None) -> Tensor:
    """A leaky relu with a random slope in [lower, upper] in training, else the mean one (Xu et al., 2015).

    >>> import flambeau as torch
    >>> torch.rrelu(torch.tensor([-24., 2.]))
    tensor([-5.5000,  2.0000])
    """
    for name, bound in (("lower", lower), ("upper", upper)):
        if not isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        slopes = where(input.detach() > 0, 1, input.new_full((), (lower + upper) / 2))
        return record(RRELU, (input, slopes))
    if input.dtype is dtypes.float16:
        raise not_implemented("rrelu_with_noise_out_cpu", input.dtype)
    g = like_geometry(input, None, None)
    slopes = drawn(RRELU_SLOPES, generator, (input.detach(), float(lower), float(upper)),
                   contiguous(g.shape, arithmetic_dtype(g.dtype), g.device))
    return record(RRELU, (input, slopes))


@api("nn.functional", name="rrelu", judge="first")
def _functional_rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
                      inplace: bool = False) -> Tensor:
    """A leaky relu with a random slope (see ``torch.rrelu``).

    >>> import flambeau as torch
    >>> torch.nn.functional.rrelu(torch.tensor([-1., 2.]))
    tensor([-0.2292,  2.0000])
    """
    return done(input, rrelu(input, lower, upper, training), inplace, "rrelu_")


@api("nn.functional", "torch", judge="first")
def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
           generator: Any = None) -> Tensor:
    """In-place version of ``rrelu``."""
    return assign(input, rrelu(input, lower, upper, training, generator), "rrelu_")

