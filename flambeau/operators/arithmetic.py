"""Pointwise arithmetic: add, sub, mul, div, pow, neg and their kin."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor, record
from .definition import operand, pointwise, pointwise_operator
from .registry import api


def _add_kernel(m: Any, input: Any, other: Any) -> Any:
    return m.add(input, other)


ADD = pointwise_operator("add", _add_kernel)
ADD_SCALED = pointwise_operator("add", lambda m, input, other, alpha: input + alpha * other)
SUB = pointwise_operator("sub", lambda m, input, other: m.subtract(input, other))


@ADD.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


@ADD.derivative("other")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


@SUB.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


@SUB.derivative("other")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return -grad


@api("torch", "Tensor", out=True, inplace=True)
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``input + alpha * other``, broadcast.

    >>> import flambeau as torch
    >>> torch.add(torch.tensor([1, 2]), torch.tensor([10, 20]), alpha=2)
    tensor([21, 42])
    """
    if not isinstance(other, Tensor):
        other = operand(other, "add", "other", 2)
    if alpha != 1:
        return _scaled(input, other, alpha, "add")
    if isinstance(input, Tensor) and input.dtype.category == 0 and other.__class__ is bool:
        pass
    return record(ADD, (input, other))


@api("torch", "Tensor", out=True, inplace=True, aliases=("subtract",))
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """``input - alpha * other``, broadcast.

    >>> import flambeau as torch
    >>> torch.sub(torch.tensor([1., 2.]), 1)
    tensor([0., 1.])
    """
    if not isinstance(other, Tensor):
        other = operand(other, "sub", "other", 2)
    _refuse_bool(input, other)
    if alpha != 1:
        return _scaled(input, other, -alpha, "sub")
    return record(SUB, (input, other))


def _refuse_bool(input: Any, other: Any) -> None:
    first = isinstance(input, Tensor) and input.dtype.category == 0
    second = isinstance(other, Tensor) and other.dtype.category == 0
    if first and second:
        raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                           "`logical_xor()` operator instead.")
    if (first and isinstance(input, Tensor)) or second or other.__class__ is bool:
        if first or second:
            raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
                               "invert a mask, use the `~` or `logical_not()` operator instead.")


def _scaled(input: Any, other: Any, alpha: Any, name: str) -> Tensor:
    from .definition import result_dtype
    operands = [x._geometry if isinstance(x, Tensor) else type(x) for x in (input, other)]
    dtype = result_dtype(operands)
    if isinstance(alpha, bool) and dtype.category != 0:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and dtype.category < 2:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not dtype.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return record(ADD, (input, record(MUL, (other, alpha))))


@pointwise(aliases=("multiply",))
def mul(m: Any, input: Any, other: Any) -> Any:
    """``input * other``, broadcast.

    >>> import flambeau as torch
    >>> torch.mul(torch.tensor([1., 2.]), 3)
    tensor([3., 6.])
    """
    return m.multiply(input, other)


MUL = mul.operator


@mul.derivative("input", keeps="other")
def _(ctx: Any, grad: Tensor, other: Any) -> Tensor:
    return grad * conjugate(other)


@mul.derivative("other", keeps="input")
def _(ctx: Any, grad: Tensor, input: Any) -> Tensor:
    return grad * conjugate(input)


def conjugate(x: Any) -> Any:
    """The conjugate of a tensor or number; real ones unchanged."""
    if isinstance(x, Tensor):
        return x.conj() if x._geometry.dtype.is_complex else x
    return x.conjugate() if isinstance(x, complex) else x


@pointwise(name="true_divide", promotes="float", grad_name="DivBackward0")
def _true_divide(m: Any, input: Any, other: Any) -> Any:
    """``input / other`` in floating point."""
    return m.true_divide(input, other)


TRUE_DIVIDE = _true_divide.operator


@_true_divide.derivative("input", keeps="other")
def _(ctx: Any, grad: Tensor, other: Any) -> Tensor:
    return grad / conjugate(other)


@_true_divide.derivative("other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Any, other: Any) -> Tensor:
    return -grad * conjugate((input / other) / other)


@pointwise()
def neg(m: Any, input: Any) -> Any:
    """``-input``."""
    return m.negative(input)


@neg.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return -grad
