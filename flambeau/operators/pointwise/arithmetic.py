"""Pointwise arithmetic: add, sub, mul and neg."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry
from ...graph.operator import OnStacks
from ...tensor import Tensor, record, record_one, record_pair, record_scaled
from ...tensor.aliasing.turned import turns_with
from ...tensor.overrides import first_seen
from ..calls.number_range import check_number
from ..calls.older_signatures import scaled
from ..calls.out import UNCONVERTED
from ..declaration.definition import (
    NUMBERS,
    broadcast_shapes,
    operand,
    pointwise,
    pointwise_operator,
    result_dtype,
)
from ..declaration.domain import bad_arguments, refuse, some_tensor
from ..declaration.registry import NAMESPACES, api

ADD = pointwise_operator("add", lambda m, input, other: m.add(input, other), casts=True)
SUB = pointwise_operator("sub", lambda m, input, other: m.subtract(input, other), casts=True)
RSUB, RSUB_TENSOR = [
    pointwise_operator("rsub", lambda m, input, other: m.subtract(other, input), grad_name=name, casts=True)
    for name in ("RsubBackward1", "RsubBackward0")
]
ADD_SCALED = pointwise_operator(
    "add", lambda m, input, other, alpha: m.add(input, m.multiply(other, alpha)), casts=True
)
SUB_SCALED = pointwise_operator(
    "sub", lambda m, input, other, alpha: m.subtract(input, m.multiply(other, alpha)), casts=True
)
for _op in (ADD, SUB, RSUB, RSUB_TENSOR, ADD_SCALED, SUB_SCALED):
    _op.on_stacks = OnStacks(numbers=True)

_NO_BOOL_MINUS = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
    "mask, use the `~` or `logical_not()` operator instead."
)
_NO_TWO_BOOLS = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
    "operator instead."
)


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


@RSUB.derivative("input")
@RSUB_TENSOR.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return -grad


@RSUB.derivative("other")
@RSUB_TENSOR.derivative("other")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


@ADD_SCALED.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


@ADD_SCALED.derivative("other", keeps="alpha")
def _(ctx: Any, grad: Tensor, alpha: Any) -> Tensor:
    return grad * conjugate(alpha)


@SUB_SCALED.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


@SUB_SCALED.derivative("other", keeps="alpha")
def _(ctx: Any, grad: Tensor, alpha: Any) -> Tensor:
    return -grad * conjugate(alpha)


def _refuse_bool_operands(op: Any) -> None:
    """Differences of truth values have no meaning; whichever operand is one."""
    infer = op.infer

    def checked(operands: Any, attributes: Any) -> Any:
        found = [g.dtype is dtypes.bool_ if isinstance(g, Geometry) else g is bool for g in operands[:2]]
        if any(found):
            raise RuntimeError(
                _NO_TWO_BOOLS
                if all(isinstance(g, Geometry) for g in operands[:2]) and all(found)
                else _NO_BOOL_MINUS
            )
        return infer(operands, attributes)
    op.infer = checked


for _op in (SUB, RSUB, RSUB_TENSOR, SUB_SCALED):
    _refuse_bool_operands(_op)


@api("torch", "Tensor", out=True, inplace="pointwise", judge="never", writes=ADD)
def add(input: Any, other: Any, *older: Any, alpha: Any = 1) -> Tensor:
    """``input + alpha * other``, broadcast.

    >>> import flambeau as torch
    >>> torch.add(torch.tensor([1, 2]), torch.tensor([10, 20]), alpha=2)
    tensor([21, 42])
    """
    if older:
        return scaled(add, (input, other, *older), "alpha")
    if isinstance(other, Tensor):
        if alpha.__class__ is int and alpha == 1 and isinstance(input, Tensor):
            return record_pair(ADD, input, other)
    elif other.__class__ in NUMBERS and alpha.__class__ is int and alpha == 1 and isinstance(input, Tensor):
        return record_scaled(ADD, input, other)
    else:
        if other.__class__ not in NUMBERS and first_seen((input, other)):
            return NAMESPACES["torch"]["add"](input, other, alpha=alpha)
        other = operand(other, "add", "other", 1)
        input = some_tensor(input, other)
    if alpha.__class__ is int and alpha == 1:
        return record(ADD, (input, other))
    alpha = _scale(input, other, alpha)
    return record(ADD_SCALED, (input, other, alpha))


@api("torch", "Tensor", out=True, inplace="pointwise", aliases=("subtract",), judge="never", writes=SUB)
def sub(input: Any, other: Any, *older: Any, alpha: Any = 1) -> Tensor:
    """``input - alpha * other``, broadcast.

    >>> import flambeau as torch
    >>> torch.sub(torch.tensor([1., 2.]), 1)
    tensor([0., 1.])
    """
    if older:
        return scaled(sub, (input, other, *older), "alpha")
    if not isinstance(other, Tensor):
        if other.__class__ not in NUMBERS and first_seen((input, other)):
            return NAMESPACES["torch"]["sub"](input, other, alpha=alpha)
        other = operand(other, "sub", "other", 1)
        input = some_tensor(input, other)
    if alpha.__class__ is int and alpha == 1:
        return record(SUB, (input, other))
    alpha = _scale(input, other, alpha)
    return record(SUB_SCALED, (input, other, alpha))


@api("torch")
def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """``other - alpha * input``, broadcast.

    >>> import flambeau as torch
    >>> torch.rsub(torch.tensor([1., 2.]), 1)
    tensor([ 0., -1.])
    """
    if not isinstance(input, Tensor):
        raise bad_arguments("rsub", input, other)
    if alpha.__class__ is int and alpha == 1:
        if isinstance(other, Tensor):
            broadcast_shapes([other.shape, input.shape])    # an error names the other one first
            return record(RSUB_TENSOR, (input, other))
        return record(RSUB, (input, operand(other, "rsub", "other", 2)))
    return sub(other, input, alpha=alpha)


def _scale(input: Any, other: Any, alpha: Any) -> Any:
    """The scale, which must fit the result's type: a truth value for truth values."""
    if alpha.__class__ is float and isinstance(input, Tensor) and input._geometry.dtype.is_floating_point \
            and -65504.0 <= alpha <= 65504.0:   # fits them all
        return alpha
    dtype = result_dtype([x._geometry if isinstance(x, Tensor) else x.__class__ for x in (input, other)])
    if isinstance(alpha, bool) and dtype is not dtypes.bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, (float, complex)) and dtype.category < dtypes.FLOATING:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not dtype.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    check_number(alpha, dtype)
    return bool(alpha) if dtype is dtypes.bool_ else alpha


@pointwise(aliases=("multiply",), judge="never", exact="other")
def mul(m: Any, input: Any, other: Any) -> Any:
    """``input * other``, broadcast.

    >>> import flambeau as torch
    >>> torch.mul(torch.tensor([1., 2.]), 3)
    tensor([3., 6.])
    """
    return m.multiply(input, other)


MUL = mul.operator
MUL.on_stacks = OnStacks(numbers=True)


@mul.derivative("input", keeps="other", once=True)
def _(ctx: Any, grad: Tensor, other: Any) -> Tensor:
    return grad * conjugate(other)


@mul.derivative("other", keeps="input")
def _(ctx: Any, grad: Tensor, input: Any) -> Tensor:
    return grad * conjugate(input)


CONJ = pointwise_operator("conj", lambda m, input: m.conj(input))


@CONJ.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return conjugate(grad)


def conjugate(x: Any) -> Any:
    """The conjugate of a tensor, by itself and no view, or of a number; real ones unchanged."""
    if isinstance(x, Tensor):
        if not x._geometry.dtype.is_complex:
            return x
        return x.conj() if x._sparse else record_one(CONJ, x)
    return x.conjugate() if isinstance(x, complex) else x


@pointwise(aliases=("negative",), judge="never", out=UNCONVERTED)
def neg(m: Any, input: Any) -> Any:
    """``-input``.

    >>> import flambeau as torch
    >>> torch.neg(torch.tensor([1., -2.]))
    tensor([-1.,  2.])
    """
    return m.negative(input)


refuse(
    neg.operator,
    "neg",
    dtypes.BOOL,
    error=RuntimeError,
    message="Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
    "mask, use the `~` or `logical_not()` operator instead.",
)


@neg.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return -grad


turns_with(CONJ, neg.operator)


@api("torch", "Tensor")
def positive(input: Tensor) -> Tensor:
    """``+input``: the tensor itself.

    >>> import flambeau as torch
    >>> torch.positive(torch.tensor([1., -2.]))
    tensor([ 1., -2.])
    """
    if input._geometry.dtype is dtypes.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input
