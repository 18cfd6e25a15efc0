"""Division: true, floored and truncated, remainders, reciprocals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...graph.operator import OnStacks, Operator
from ...tensor import Tensor, record, record_pair, record_scaled
from ...tensor.overrides import first_seen
from ...tensor.samples.known import known_arrays
from ..creation.zero_gradients import zero_gradient
from ..declaration.definition import NUMBERS, operand, pointwise, pointwise_operator
from ..declaration.domain import COMPLEX, bad_arguments, operands, refuse, some_tensor
from ..declaration.prices import REMAINDERS, per_element
from ..declaration.registry import NAMESPACES, api
from ..declaration.undifferentiable import refuse_derivative
from .arithmetic import conjugate

TRUE_DIVIDE = pointwise_operator("div", lambda m, input, other: m.true_divide(input, other), "float",
                                 casts=True, exact="other")
DIV_FLOOR = pointwise_operator(
    "div", lambda m, input, other: m.floored_quotient(input, other), grad_name="DivBackward2",
    price=per_element(REMAINDERS), casts=True, exact="other",
)
DIV_TRUNC = pointwise_operator("div", lambda m, input, other: m.truncated_quotient(input, other),
                               grad_name="DivBackward2", casts=True, exact="other")
TRUE_DIVIDE.on_stacks = DIV_FLOOR.on_stacks = DIV_TRUNC.on_stacks = OnStacks(numbers=True)
FLOOR_DIVIDE = pointwise_operator(
    "floor_divide", lambda m, input, other: m.floored_quotient(input, other), grad_name="NotImplemented",
    price=per_element(REMAINDERS), casts=True, exact="other",
)
REMAINDER = pointwise_operator("remainder", lambda m, input, other: m.floored_remainder(input, other),
                               price=per_element(REMAINDERS), casts=True)
_QUOTIENT = pointwise_operator(
    "floor_divide", lambda m, input, other: m.quotient_by_number(input, other), grad_name="NotImplemented",
    casts=True, exact="other",
)
_DIV_FLOOR, _DIV_TRUNC = [
    pointwise_operator("div", compute, grad_name="DivBackward2", casts=True, exact="other")
    for compute in (lambda m, input, other: m.quotient_by_number(input, other),
                    lambda m, input, other: m.truncated_by_number(input, other))
]
_REMAINDER = pointwise_operator("remainder", lambda m, input, other: m.remainder_by_number(input, other),
                                casts=True)
_FMOD = pointwise_operator("fmod", lambda m, input, other: m.rest_by_number(input, other), casts=True)
FMOD = pointwise_operator("fmod", lambda m, input, other: m.truncated_remainder(input, other),
                          price=per_element(REMAINDERS), casts=True)
for _op, _name in (
    (DIV_FLOOR, "div_floor_cpu"),
    (DIV_TRUNC, "div_trunc_cpu"),
    (FLOOR_DIVIDE, "div_floor_cpu"),
    (REMAINDER, "remainder_cpu"),
    (FMOD, "fmod_cpu"),
):
    refuse(_op, _name, dtypes.BOOL, COMPLEX)
_BY_NUMBER = {FLOOR_DIVIDE: _QUOTIENT, DIV_FLOOR: _DIV_FLOOR, DIV_TRUNC: _DIV_TRUNC, REMAINDER: _REMAINDER,
              FMOD: _FMOD}


def by_number(op: Operator, input: Any, other: Any) -> Operator:
    """The operator to record: native code divides integers by a number that is known not to be zero."""
    if other.__class__ is not int or not isinstance(input, Tensor):
        if other.__class__ is Tensor:
            refuse_zero(input, other)
        return op
    if not other:
        refuse_zero(input, other)
    small = 0 < abs(other) < 1 << 31 and other != -1
    return _BY_NUMBER[op] if small and input._geometry.dtype in _DIVIDED else op


_DIVIDED = frozenset((dtypes.int64, dtypes.int32))


_FEW = 1 << 12      # so many values are looked through whenever something is divided by them


def refuse_zero(input: Any, other: Any) -> None:
    """Raise at the caller's line where integers are divided by the number 0, or by a few known values of
    which one is 0. Those that wait are looked through when they are computed.
    """
    if isinstance(input, Tensor):
        if input._geometry.dtype.category > dtypes.INTEGER or not input._geometry.numel:
            return
    elif input.__class__ is not int:
        return
    if other.__class__ is Tensor:
        g = other._geometry
        if g.dtype.category == dtypes.INTEGER and 0 < g.numel <= _FEW \
                and (found := known_arrays((other,))) is not None and not found[0].all() \
                and _fit(input, other):
            raise RuntimeError("ZeroDivisionError")
    elif other.__class__ is int and not other and isinstance(input, Tensor):
        raise RuntimeError("ZeroDivisionError")


def _fit(input: Any, other: Tensor) -> bool:
    """Whether the shapes can be broadcast, which is complained about first."""
    try:
        np.broadcast_shapes(getattr(input, "shape", ()), other.shape)
    except ValueError:
        return False
    return True


for _op in (DIV_FLOOR, DIV_TRUNC):
    zero_gradient(_op, "input", holds="other", once=True)
    zero_gradient(_op, "other", holds="input other", once=True)


refuse_derivative(FLOOR_DIVIDE, "floor_divide", "input", "other")


@TRUE_DIVIDE.derivative("input", keeps="other", once=True)
def _(ctx: Any, grad: Tensor, other: Any) -> Tensor:
    return grad / conjugate(other)


@TRUE_DIVIDE.derivative("other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Any, other: Any) -> Tensor:
    return -grad * conjugate((input / other) / other)


@REMAINDER.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


@REMAINDER.derivative("other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Any, other: Tensor) -> Tensor:
    return -grad * div(input, other, rounding_mode="floor")


@FMOD.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


@FMOD.derivative("other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Any, other: Tensor) -> Tensor:
    return -grad * div(input, other, rounding_mode="trunc")


def _divided(op: Operator, input: Any, other: Any) -> Tensor:
    if isinstance(input, Tensor):
        if isinstance(other, Tensor):
            return record_pair(op, input, other)
        if other.__class__ in NUMBERS:
            return record_scaled(op, input, other)
    result: Tensor = record(op, (input, other))
    return result


@api("torch", "Tensor", out=True, inplace="pointwise", aliases=("divide",), judge="never",
     writes=TRUE_DIVIDE)
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """``input / other``; ``rounding_mode`` "floor" or "trunc" rounds the quotient (and keeps integers).

    >>> import flambeau as torch
    >>> torch.div(torch.tensor([7, -7]), 2), torch.div(torch.tensor([7, -7]), 2, rounding_mode="trunc")
    (tensor([ 3.5000, -3.5000]), tensor([ 3, -3]))
    """
    if not isinstance(other, Tensor):
        if other.__class__ not in NUMBERS and first_seen((input, other)):
            return NAMESPACES["torch"]["div"](input, other, rounding_mode=rounding_mode)
        other = operand(other, "div", "other", 1)
        input = some_tensor(input, other)
    if rounding_mode is None:
        return _divided(TRUE_DIVIDE, input, other)
    if rounding_mode == "floor":
        return _divided(by_number(DIV_FLOOR, input, other), input, other)
    if rounding_mode == "trunc":
        return _divided(by_number(DIV_TRUNC, input, other), input, other)
    raise RuntimeError(
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
    )


@api("torch", "Tensor", out=True, inplace="pointwise")
def true_divide(input: Any, other: Any) -> Tensor:
    """``input / other`` in floating point.

    >>> import flambeau as torch
    >>> torch.true_divide(torch.tensor([1, 2]), 2)
    tensor([0.5000, 1.0000])
    """
    return div(input, other)


@api("torch", "Tensor", out=True, inplace="pointwise")
def floor_divide(input: Any, other: Any) -> Tensor:
    """The quotient rounded down; not differentiable.

    >>> import flambeau as torch
    >>> torch.floor_divide(torch.tensor([7, -7]), 2)
    tensor([ 3, -4])
    """
    other = operand(other, "floor_divide", "other", 2)
    return record(by_number(FLOOR_DIVIDE, input, other), (some_tensor(input, other), other))


@api("torch", "Tensor", out=True, inplace="pointwise")
def remainder(input: Any, other: Any) -> Tensor:
    """Python's modulus: the result has the divisor's sign.

    >>> import flambeau as torch
    >>> torch.remainder(torch.tensor([-3., 3.]), 2)
    tensor([1., 1.])
    """
    return record(by_number(REMAINDER, input, other), operands("remainder", input, other))


@api("torch", "Tensor", out=True, inplace="pointwise")
def fmod(input: Tensor, other: Any) -> Tensor:
    """C's modulus: the result has the dividend's sign.

    >>> import flambeau as torch
    >>> torch.fmod(torch.tensor([-3., 3.]), 2)
    tensor([-1.,  1.])
    """
    if not isinstance(input, Tensor):
        raise bad_arguments("fmod", input, other)
    other = operand(other, "fmod", "other", 2)
    return record(by_number(FMOD, input, other), (input, other))


@pointwise(promotes="float")
def reciprocal(m: Any, input: Any) -> Any:
    """``1 / input``.

    >>> import flambeau as torch
    >>> torch.reciprocal(torch.tensor([2., 4.]))
    tensor([0.5000, 0.2500])
    """
    return m.true_divide(1, input)


@reciprocal.derivative("input", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return -grad * conjugate(output * output)
