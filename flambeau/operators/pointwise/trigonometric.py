"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any

from ...dtypes import COMPLEX
from ...tensor import Tensor, record
from ..declaration.definition import pointwise, pointwise_operator
from ..declaration.domain import of_tensors, refuse
from .arithmetic import conjugate
from .comparison import where


@pointwise(promotes="float", judge="never")
def sin(m: Any, input: Any) -> Any:
    """The sine.

    >>> import flambeau as torch
    >>> torch.sin(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8415])
    """
    return m.sin(input)


@sin.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * conjugate(cos(input))


@pointwise(promotes="float", judge="never")
def cos(m: Any, input: Any) -> Any:
    """The cosine.

    >>> import flambeau as torch
    >>> torch.cos(torch.tensor([0., 1.]))
    tensor([1.0000, 0.5403])
    """
    return m.cos(input)


@cos.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return -grad * conjugate(sin(input))


@pointwise(promotes="float")
def tan(m: Any, input: Any) -> Any:
    """The tangent.

    >>> import flambeau as torch
    >>> torch.tan(torch.tensor([0., 1.]))
    tensor([0.0000, 1.5574])
    """
    return m.tan(input)


@tan.derivative("input", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return grad * conjugate(output * output + 1)


@pointwise(promotes="float", aliases=("arcsin",))
def asin(m: Any, input: Any) -> Any:
    """The arcsine.

    >>> import flambeau as torch
    >>> torch.asin(torch.tensor([0., 1.]))
    tensor([0.0000, 1.5708])
    """
    return m.arcsin(input)


@asin.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * conjugate((1 - input * input).rsqrt())


@pointwise(promotes="float", aliases=("arccos",))
def acos(m: Any, input: Any) -> Any:
    """The arccosine.

    >>> import flambeau as torch
    >>> torch.acos(torch.tensor([0., 1.]))
    tensor([1.5708, 0.0000])
    """
    return m.arccos(input)


@acos.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return -grad * conjugate((1 - input * input).rsqrt())


@pointwise(promotes="float", aliases=("arctan",))
def atan(m: Any, input: Any) -> Any:
    """The arctangent.

    >>> import flambeau as torch
    >>> torch.atan(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7854])
    """
    return m.arctan(input)


@atan.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad / conjugate(input * input + 1)


@pointwise(promotes="float")
def sinh(m: Any, input: Any) -> Any:
    """The hyperbolic sine.

    >>> import flambeau as torch
    >>> torch.sinh(torch.tensor([0., 1.]))
    tensor([0.0000, 1.1752])
    """
    return m.sinh(input)


@sinh.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * conjugate(cosh(input))


@pointwise(promotes="float")
def cosh(m: Any, input: Any) -> Any:
    """The hyperbolic cosine.

    >>> import flambeau as torch
    >>> torch.cosh(torch.tensor([0., 1.]))
    tensor([1.0000, 1.5431])
    """
    return m.cosh(input)


@cosh.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * conjugate(sinh(input))


@pointwise(promotes="float", aliases=("arcsinh",))
def asinh(m: Any, input: Any) -> Any:
    """The inverse hyperbolic sine.

    >>> import flambeau as torch
    >>> torch.asinh(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8814])
    """
    return m.arcsinh(input)


@asinh.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * conjugate((input * input + 1).rsqrt())


@pointwise(promotes="float", aliases=("arccosh",))
def acosh(m: Any, input: Any) -> Any:
    """The inverse hyperbolic cosine.

    >>> import flambeau as torch
    >>> torch.acosh(torch.tensor([1., 2.]))
    tensor([0.0000, 1.3170])
    """
    return m.arccosh(input)


@acosh.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    if input.is_complex():
        return grad * conjugate((input - 1).rsqrt() * (input + 1).rsqrt())
    return grad * (input * input - 1).rsqrt()


@pointwise(promotes="float", aliases=("arctanh",))
def atanh(m: Any, input: Any) -> Any:
    """The inverse hyperbolic tangent.

    >>> import flambeau as torch
    >>> torch.atanh(torch.tensor([0., 0.5]))
    tensor([0.0000, 0.5493])
    """
    return m.arctanh(input)


@atanh.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad / conjugate(1 - input * input)


@pointwise(promotes="float", judge="never")
def tanh(m: Any, input: Any) -> Any:
    """The hyperbolic tangent.

    >>> import flambeau as torch
    >>> torch.tanh(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
    """
    return m.tanh(input)


TANH_BACKWARD = pointwise_operator("tanh_backward", lambda m, grad, result: m.tanh_gradient(grad, result))


@tanh.derivative("input", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return record(TANH_BACKWARD, (grad, conjugate(output)))


@TANH_BACKWARD.derivative("grad", keeps="result")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return record(TANH_BACKWARD, (grad, conjugate(output)))


@TANH_BACKWARD.derivative("result", keeps="grad result")
def _(ctx: Any, grad: Tensor, inner: Tensor, output: Tensor) -> Tensor:
    return grad * conjugate(inner * output * -2)


@pointwise("torch", "Tensor", "special", promotes="float")
def sinc(m: Any, input: Any) -> Any:
    """``sin(pi x) / (pi x)``, 1 at 0.

    >>> import flambeau as torch
    >>> torch.sinc(torch.tensor([0., 0.5]))
    tensor([1.0000, 0.6366])
    """
    return m.sinc_of(input)


@sinc.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    turn = input * 3.141592653589793
    below = turn * input
    slope = (turn * cos(turn) - sin(turn)) / below
    return where(below == 0, 0, grad * conjugate(slope))


@of_tensors(promotes="float", aliases=("arctan2",))
def atan2(m: Any, input: Any, other: Any) -> Any:
    """The angle of the point (other, input), in (-pi, pi].

    >>> import flambeau as torch
    >>> torch.atan2(torch.tensor([1.]), torch.tensor([-1.]))
    tensor([2.3562])
    """
    return m.arctan2(input, other)


refuse(atan2.operator, "atan2_cpu", COMPLEX)


@atan2.derivative("input", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Tensor, other: Tensor) -> Tensor:
    return grad * (other * _reciprocal_square(input, other))


@atan2.derivative("other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Tensor, other: Tensor) -> Tensor:
    return grad * (-input * _reciprocal_square(input, other))


def _reciprocal_square(x: Tensor, y: Tensor) -> Tensor:
    square = x * x + y * y
    return where(square == 0, 0, square.reciprocal())


@pointwise(promotes="float", grad_name="Deg2RadBackward0")
def deg2rad(m: Any, input: Any) -> Any:
    """Degrees to radians.

    >>> import flambeau as torch
    >>> torch.deg2rad(torch.tensor([180.]))
    tensor([3.1416])
    """
    return m.multiply(input, m.pi / 180)


@pointwise(promotes="float", grad_name="Rad2DegBackward0")
def rad2deg(m: Any, input: Any) -> Any:
    """Radians to degrees.

    >>> import flambeau as torch
    >>> torch.rad2deg(torch.tensor([3.14159265]))
    tensor([180.])
    """
    return m.multiply(input, 180 / m.pi)


@deg2rad.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad * 0.017453292519943295


@rad2deg.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad * 57.29577951308232


for _function in (deg2rad, rad2deg):
    refuse(
        _function.operator, "", COMPLEX, error=RuntimeError,
        message=f"{_function.__name__} is not supported for complex tensors.",
    )
