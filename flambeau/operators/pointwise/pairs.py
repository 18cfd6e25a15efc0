"""Functions of two numbers: copysign, hypot, heaviside, gcd, lcm, nextafter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...tensor import Tensor, record
from ..creation.zero_gradients import zero_gradient
from ..declaration.definition import operand, pointwise_operator, result_dtype
from ..declaration.domain import BOOL, COMPLEX, NOT_INTEGRAL, bad_arguments, of_tensors, refuse
from ..declaration.registry import api
from ..declaration.undifferentiable import refuse_derivative
from .comparison import where

COPYSIGN = pointwise_operator("copysign", lambda m, input, other: m.copysign(input, other), "float")
refuse(COPYSIGN, "copysign_cpu", COMPLEX)


@api("torch", "Tensor", out=True, inplace="pointwise", judge="first")
def copysign(input: Tensor, other: Any) -> Tensor:
    """The magnitude of ``input`` with the sign of ``other``.

    >>> import flambeau as torch
    >>> torch.copysign(torch.tensor([1., 2.]), -0.0)
    tensor([-1., -2.])
    """
    if not isinstance(input, Tensor):
        raise bad_arguments("copysign", input, other)
    return record(COPYSIGN, (input, operand(other, "copysign", "other", 2)))


@COPYSIGN.derivative("input", keeps="input output")
def _(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    ratio = output / input
    return grad * where(input == 0, 0, ratio)


zero_gradient(COPYSIGN, "other", holds="output")


@of_tensors()
def hypot(m: Any, input: Any, other: Any) -> Any:
    """``sqrt(input^2 + other^2)`` without overflow.

    >>> import flambeau as torch
    >>> torch.hypot(torch.tensor([3.]), torch.tensor([4.]))
    tensor([5.])
    """
    return m.hypot(input, other)


refuse(hypot.operator, "hypot_cpu", BOOL, dtypes.INTEGER, COMPLEX)


@hypot.derivative("input", keeps="input output")
def _(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    return grad * (input / output)


@hypot.derivative("other", keeps="other output")
def _(ctx: Any, grad: Tensor, other: Tensor, output: Tensor) -> Tensor:
    return grad * (other / output)


@of_tensors(second="values")
def heaviside(m: Any, input: Any, values: Any) -> Any:
    """0 below 0, 1 above, and ``values`` at 0.

    >>> import flambeau as torch
    >>> torch.heaviside(torch.tensor([-1., 0., 2.]), torch.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return m.where(input == 0, values, (input > 0).astype(values.dtype))


_infer_heaviside = heaviside.operator.infer


def _heaviside_geometry(operands: Sequence[Any], attributes: Any) -> Any:
    if COMPLEX in (operands[0].dtype.category, operands[1].dtype.category):
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if operands[0].dtype is not operands[1].dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return _infer_heaviside(operands, attributes)


heaviside.operator.infer = _heaviside_geometry
refuse_derivative(heaviside.operator, "heaviside", "input", "values")


@of_tensors()
def gcd(m: Any, input: Any, other: Any) -> Any:
    """The greatest common divisor.

    >>> import flambeau as torch
    >>> torch.gcd(torch.tensor([12, 5]), torch.tensor([18, 10]))
    tensor([6, 5])
    """
    return m.gcd(input, other)


@of_tensors()
def lcm(m: Any, input: Any, other: Any) -> Any:
    """The least common multiple.

    >>> import flambeau as torch
    >>> torch.lcm(torch.tensor([4, 5]), torch.tensor([6, 10]))
    tensor([12, 10])
    """
    return m.lcm(input, other)


refuse(gcd.operator, "gcd_cpu", BOOL, *NOT_INTEGRAL)
refuse(lcm.operator, "lcm_cpu", BOOL, *NOT_INTEGRAL)


@of_tensors()
def nextafter(m: Any, input: Any, other: Any) -> Any:
    """The next representable number after ``input`` in the direction of ``other``.

    >>> import flambeau as torch
    >>> torch.nextafter(torch.tensor([1.]), torch.tensor([2.])) > 1
    tensor([True])
    """
    return m.nextafter(input, other)


nextafter.operator.compute = result_dtype
refuse(nextafter.operator, "nextafter_cpu", BOOL, dtypes.INTEGER, COMPLEX)


@nextafter.derivative("input", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Tensor, other: Tensor) -> Tensor:
    return grad.masked_fill(input == other, 0)


zero_gradient(nextafter.operator, "other")
