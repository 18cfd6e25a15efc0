"""Exponentials, logarithms and roots."""

from __future__ import annotations

from typing import Any

from ...dtypes import BOOL, COMPLEX, INTEGER
from ...tensor import Tensor, record, record_one
from ..calls.out import POINTWISE
from ..declaration.definition import pointwise, pointwise_operator
from ..declaration.domain import of_tensors, operands, refuse
from ..declaration.registry import api
from .arithmetic import conjugate
from .comparison import where

LN2 = 0.6931471805599453
LN10 = 2.302585092994046


@pointwise(promotes="float", judge="never")
def exp(m: Any, input: Any) -> Any:
    """e to the power ``input``.

    >>> import flambeau as torch
    >>> torch.exp(torch.tensor([0., 1.]))
    tensor([1.0000, 2.7183])
    """
    return m.exp(input)


@exp.derivative("input", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return grad * conjugate(output)


@pointwise("torch", "Tensor", "special", promotes="float")
def exp2(m: Any, input: Any) -> Any:
    """2 to the power ``input``.

    >>> import flambeau as torch
    >>> torch.exp2(torch.tensor([0., 3.]))
    tensor([1., 8.])
    """
    return m.exp2(input)


@exp2.derivative("input", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return grad * conjugate(output * LN2)


@pointwise("torch", "Tensor", "special", promotes="float")
def expm1(m: Any, input: Any) -> Any:
    """``exp(input) - 1``, accurate near 0.

    >>> import flambeau as torch
    >>> torch.expm1(torch.tensor([0., 1.]))
    tensor([0.0000, 1.7183])
    """
    return m.expm1(input)


@expm1.derivative("input", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return grad * conjugate(output + 1)


@pointwise(promotes="float", judge="never")
def log(m: Any, input: Any) -> Any:
    """The natural logarithm.

    >>> import flambeau as torch
    >>> torch.log(torch.tensor([1., 2.]))
    tensor([0.0000, 0.6931])
    """
    return m.log(input)


@log.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad / conjugate(input)


@pointwise(promotes="float")
def log2(m: Any, input: Any) -> Any:
    """The logarithm to base 2.

    >>> import flambeau as torch
    >>> torch.log2(torch.tensor([1., 8.]))
    tensor([0., 3.])
    """
    return m.log2(input)


@log2.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad / conjugate(input * LN2)


@pointwise(promotes="float")
def log10(m: Any, input: Any) -> Any:
    """The logarithm to base 10.

    >>> import flambeau as torch
    >>> torch.log10(torch.tensor([1., 100.]))
    tensor([0., 2.])
    """
    return m.log10_of(input)


@log10.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad / conjugate(input * LN10)


@pointwise("torch", "Tensor", "special", promotes="float", grad_name="Log1PBackward0")
def log1p(m: Any, input: Any) -> Any:
    """``log(1 + input)``, accurate near 0.

    >>> import flambeau as torch
    >>> torch.log1p(torch.tensor([0., 1.]))
    tensor([0.0000, 0.6931])
    """
    return m.log1p(input)


@log1p.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad / conjugate(input + 1)


@pointwise(promotes="float", judge="never")
def sqrt(m: Any, input: Any) -> Any:
    """The square root.

    >>> import flambeau as torch
    >>> torch.sqrt(torch.tensor([4., 9.]))
    tensor([2., 3.])
    """
    return m.sqrt(input)


@sqrt.derivative("input", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return grad / conjugate(output * 2)


@pointwise(promotes="float", judge="never")
def rsqrt(m: Any, input: Any) -> Any:
    """``1 / sqrt(input)``.

    >>> import flambeau as torch
    >>> torch.rsqrt(torch.tensor([4., 16.]))
    tensor([0.5000, 0.2500])
    """
    return m.rsqrt(input)


@rsqrt.derivative("input", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return grad * conjugate(output * output * output) * -0.5


# --- the logistic function and its inverse ------------------------------------------------------------------

@pointwise(promotes="float", judge="never")
def sigmoid(m: Any, input: Any) -> Any:
    """The logistic function ``1 / (1 + exp(-input))``.

    >>> import flambeau as torch
    >>> torch.sigmoid(torch.tensor([0., 2.]))
    tensor([0.5000, 0.8808])
    """
    return m.sigmoid(input)


SIGMOID = sigmoid.operator
SIGMOID_BACKWARD = pointwise_operator(
    "sigmoid_backward", lambda m, grad, result: m.sigmoid_gradient(grad, result)
)


@sigmoid.derivative("input", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return record(SIGMOID_BACKWARD, (grad, conjugate(output)))


@SIGMOID_BACKWARD.derivative("grad", keeps="result")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return record(SIGMOID_BACKWARD, (grad, conjugate(output)))


@SIGMOID_BACKWARD.derivative("result", keeps="grad result")
def _(ctx: Any, grad: Tensor, inner: Tensor, output: Tensor) -> Tensor:
    return grad * conjugate(inner * (1 - 2 * output))


api("special", name="expit", out=True)(sigmoid)

LOGIT = pointwise_operator("logit", lambda m, input: m.log(input / (1 - input)), "float")
LOGIT_CLAMPED = pointwise_operator("logit", lambda m, input, eps: m.clamped_logit(input, eps), "float",
                                   counts=False)
refuse(LOGIT, "logit_cpu", COMPLEX)
refuse(LOGIT_CLAMPED, "logit_cpu", COMPLEX)


@LOGIT.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    inside = (input >= 0) & (input <= 1)
    return where(inside, grad / (input * (1 - input)), float("nan"))


@LOGIT_CLAMPED.derivative("input", keeps="input eps")
def _(ctx: Any, grad: Tensor, input: Tensor, eps: float) -> Tensor:
    outside = (input < eps) | (input > 1 - eps)
    return where(outside, 0, grad / (input * (1 - input)))


@api("torch", "Tensor", "special", out=POINTWISE, inplace=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """``log(input / (1 - input))``, the inverse of ``sigmoid``; ``eps`` clamps to ``[eps, 1 - eps]``.

    >>> import flambeau as torch
    >>> torch.logit(torch.tensor([0.5, 0.8808]))
    tensor([0.0000, 2.0000])
    """
    if eps is None:
        return record_one(LOGIT, input)
    return record(LOGIT_CLAMPED, (input, float(eps)))


# --- of two operands ----------------------------------------------------------------------------------------

@of_tensors(inplace=False)
def logaddexp(m: Any, input: Any, other: Any) -> Any:
    """``log(exp(input) + exp(other))`` without overflow.

    >>> import flambeau as torch
    >>> torch.logaddexp(torch.tensor([1.]), torch.tensor([2.]))
    tensor([2.3133])
    """
    return m.log_of_sum(input, other)


@of_tensors(inplace=False)
def logaddexp2(m: Any, input: Any, other: Any) -> Any:
    """``log2(2**input + 2**other)`` without overflow.

    >>> import flambeau as torch
    >>> torch.logaddexp2(torch.tensor([1.]), torch.tensor([1.]))
    tensor([2.])
    """
    return m.logaddexp2(input, other)


refuse(logaddexp.operator, "logaddexp_cpu", BOOL, INTEGER)
refuse(logaddexp2.operator, "logaddexp2_cpu", BOOL, INTEGER, COMPLEX)


def _share(base: Any) -> Any:
    """The gradient falls to each operand by its share of the sum; equal infinities have none (nan)."""
    def rule(ctx: Any, grad: Tensor, own: Tensor, other: Tensor) -> Tensor:
        return grad / conjugate(1 + base(other - own))
    return rule


logaddexp.derivative("input", keeps="input other")(_share(exp))
logaddexp.derivative("other", keeps="other input")(_share(exp))
logaddexp2.derivative("input", keeps="input other")(_share(exp2))
logaddexp2.derivative("other", keeps="other input")(_share(exp2))

XLOGY = pointwise_operator("xlogy", lambda m, input, other: m.x_times(m.log, input, other), "float",
                           casts=True)
XLOG1PY = pointwise_operator(
    "special_xlog1py",
    lambda m, input, other: m.x_times(m.log1p, input, other),
    "float",
    grad_name="SpecialXlog1PyBackward0",
)
refuse(XLOGY, "xlogy_cpu", COMPLEX)
refuse(XLOG1PY, "xlog1py_cpu", COMPLEX)


@XLOGY.derivative("input", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Tensor, other: Any) -> Tensor:
    other = other if isinstance(other, Tensor) else input.new_tensor(other)
    return where((input == 0) & (other <= 0), 0, xlogy(grad, other))


@XLOGY.derivative("other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Any, other: Tensor) -> Tensor:
    return grad * input / other


@XLOG1PY.derivative("input", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Tensor, other: Any) -> Tensor:
    other = other if isinstance(other, Tensor) else input.new_tensor(other)
    return where((input == 0) & (other <= -1), 0, xlog1py(grad, other))


@XLOG1PY.derivative("other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Any, other: Tensor) -> Tensor:
    return grad * input / (other + 1)


@api("torch", "Tensor", "special", out=True, inplace="pointwise")
def xlogy(input: Any, other: Any) -> Tensor:
    """``input * log(other)``, 0 where input is 0.

    >>> import flambeau as torch
    >>> torch.xlogy(torch.tensor([0., 2.]), torch.tensor([0., 1.]))
    tensor([0., 0.])
    """
    return record(XLOGY, operands("xlogy", input, other))


@api("special", out=True)
def xlog1py(input: Any, other: Any) -> Tensor:
    """``input * log1p(other)``, 0 where input is 0.

    >>> import flambeau as torch
    >>> torch.special.xlog1py(torch.tensor([0., 2.]), torch.tensor([-1., 0.]))
    tensor([0., 0.])
    """
    return record(XLOG1PY, operands("special_xlog1py", input, other))
