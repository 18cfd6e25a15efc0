"""Activation functions. The gradients of hot ones are operators of their own: one pass each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...tensor import Tensor, assign, record, record_one, record_pair, state
from ...type_info import finfo
from ..calls.complaints import FAILURES
from ..calls.number_range import number_for
from ..calls.out import UNCONVERTED
from ..creation.zero_gradients import formal_operand
from ..declaration.definition import arithmetic_dtype, pointwise_operator
from ..declaration.domain import BOOL, COMPLEX, NOT_FLOATING, not_implemented, refuse
from ..declaration.registry import api, called, failed
from ..pointwise.comparison import where
from ..pointwise.exponential import sigmoid
from ..pointwise.trigonometric import tanh


def done(input: Tensor, result: Tensor, inplace: bool, name: str) -> Tensor:
    """The result, or the input with it written in place."""
    return assign(input, result, name) if inplace else result


def factor(input: Tensor, number: Any) -> Any:
    """A number that elements are multiplied with or compared to, in the type that they compute in."""
    return number_for(number, arithmetic_dtype(input._geometry.dtype))


# --- relu ---------------------------------------------------------------------------------------------------

RELU = pointwise_operator("relu", lambda m, input: m.rectify(input))
RECTIFIED_GRADIENT = pointwise_operator("threshold_backward", lambda m, grad, result, threshold:
                                        m.rectified_gradient(grad, result, threshold), leads=1)
refuse(RELU, "relu", BOOL, error=RuntimeError, message="Boolean inputs not supported for relu")
refuse(RELU, "relu", COMPLEX, message="clamp is not supported for complex types")


@RELU.derivative("input", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return record(RECTIFIED_GRADIENT, (grad, output, 0))


formal_operand(RECTIFIED_GRADIENT, "result")


@RECTIFIED_GRADIENT.derivative("grad", keeps="result threshold")
def _(ctx: Any, grad: Tensor, output: Tensor, threshold: Any) -> Tensor:
    return record(RECTIFIED_GRADIENT, (grad, output, threshold))


@api("torch", "Tensor", inplace=True, judge="never")
def relu(input: Tensor) -> Tensor:
    """``max(input, 0)``.

    >>> import flambeau as torch
    >>> torch.relu(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    try:
        return record_one(RELU, input)
    except FAILURES:
        return failed("torch", "relu", input)


@api("nn.functional", name="relu", judge="never")
def _functional_relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)`` (see ``torch.relu``).

    >>> import flambeau as torch
    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    try:
        result = record_one(RELU, input)
    except FAILURES:
        return failed("nn.functional", "relu", input, inplace)
    return assign(input, result, "relu_") if inplace else result


# --- piecewise linear ---------------------------------------------------------------------------------------

LEAKY_RELU = pointwise_operator("leaky_relu", lambda m, input, negative_slope: m.leaky(input, negative_slope),
                                counts=False)
LEAKY_RELU_BACKWARD = pointwise_operator("leaky_relu_backward", lambda m, grad, input, negative_slope:
                                         m.where(input > 0, grad, grad * negative_slope), leads=1)
refuse(LEAKY_RELU, "leaky_relu_cpu", *NOT_FLOATING, first_only=True)


@LEAKY_RELU.derivative("input", keeps="input negative_slope")
def _(ctx: Any, grad: Tensor, input: Tensor, negative_slope: Any) -> Tensor:
    return record(LEAKY_RELU_BACKWARD, (grad, input, negative_slope))


formal_operand(LEAKY_RELU_BACKWARD, "input")


@LEAKY_RELU_BACKWARD.derivative("grad", keeps="input negative_slope")
def _(ctx: Any, grad: Tensor, input: Tensor, negative_slope: Any) -> Tensor:
    return record(LEAKY_RELU_BACKWARD, (grad, input, negative_slope))


@api("nn.functional")
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where positive, else ``negative_slope * input``.

    >>> import flambeau as torch
    >>> torch.nn.functional.leaky_relu(torch.tensor([-1., 2.]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return done(input, record(LEAKY_RELU, (input, factor(input, negative_slope))), inplace, "leaky_relu_")


HARDTANH = pointwise_operator("hardtanh", lambda m, input, min_val, max_val:
                              m.bounded(input, min_val, max_val), lies_alike=True)
HARDTANH_BACKWARD = pointwise_operator(
    "hardtanh_backward",
    lambda m, grad, input, min_val, max_val: m.where(
        (input > min_val) & (input < max_val), grad, grad.dtype.type(0)
    ),
)
refuse(HARDTANH, "hardtanh", COMPLEX, message="clamp is not supported for complex types")


@HARDTANH.derivative("input", keeps="input min_val max_val")
def _(ctx: Any, grad: Tensor, input: Tensor, min_val: Any, max_val: Any) -> Tensor:
    return record(HARDTANH_BACKWARD, (grad, input, min_val, max_val))


formal_operand(HARDTANH_BACKWARD, "input")


@HARDTANH_BACKWARD.derivative("grad", keeps="input min_val max_val")
def _(ctx: Any, grad: Tensor, input: Tensor, min_val: Any, max_val: Any) -> Tensor:
    return record(HARDTANH_BACKWARD, (grad, input, min_val, max_val))


@api("nn.functional")
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` clamped to ``[min_val, max_val]``.

    >>> import flambeau as torch
    >>> torch.nn.functional.hardtanh(torch.tensor([-2., 0.5]))
    tensor([-1.0000,  0.5000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    dtype = input._geometry.dtype
    if dtype is dtypes.bool_:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if not dtype.is_signed and (min_val < 0 or max_val < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    result = record(HARDTANH, (input, number_for(min_val, dtype), number_for(max_val, dtype)))
    return done(input, result, inplace, "hardtanh_")


@api("nn.functional")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``.

    >>> import flambeau as torch
    >>> torch.nn.functional.relu6(torch.tensor([-2., 3., 8.]))
    tensor([0., 3., 6.])
    """
    return hardtanh(input, 0, 6, inplace)


THRESHOLD = pointwise_operator(
    "threshold", lambda m, input, threshold, value: m.where(input <= threshold, value, input)
)
refuse(THRESHOLD, "threshold_cpu", BOOL, COMPLEX)


@THRESHOLD.derivative("input", keeps="input threshold")
def _(ctx: Any, grad: Tensor, input: Tensor, threshold: Any) -> Tensor:
    return record(RECTIFIED_GRADIENT, (grad, input, threshold))


def _threshold(input: Tensor, threshold: Any, value: Any) -> Tensor:
    """``input`` where above ``threshold``, else ``value``.

    >>> import flambeau as torch
    >>> torch.threshold(torch.tensor([0.5, 2.]), 1, 20)
    tensor([20.,  2.])
    """
    dtype = input._geometry.dtype
    if dtype is dtypes.bool_:
        raise not_implemented("threshold_cpu", dtype)
    return record(THRESHOLD, (input, factor(input, threshold), number_for(value, dtype)))


@api("nn.functional", judge="first")
@called("_threshold")
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where above ``threshold``, else ``value``.

    >>> import flambeau as torch
    >>> torch.nn.functional.threshold(torch.tensor([0.5, 2.]), 1, 20)
    tensor([20.,  2.])
    """
    return done(input, _threshold(input, threshold, value), inplace, "threshold_")


api("torch", name="threshold", judge="first")(_threshold)

HARDSHRINK = pointwise_operator("hardshrink", lambda m, input, lambd:
                                m.where((input >= -lambd) & (input <= lambd), input.dtype.type(0), input),
                                casts=True, counts=False)
SOFTSHRINK = pointwise_operator(
    "softshrink",
    lambda m, input, lambd: m.where(
        input > lambd, input - lambd, m.where(input < -lambd, input + lambd, input * 0)
    ),
    counts=False,
)
SHRINK_BACKWARD = pointwise_operator("shrink_backward", lambda m, grad, input, lambd:
                                     m.where((input < -lambd) | (input > lambd), grad, grad.dtype.type(0)))
refuse(HARDSHRINK, "hardshrink_cpu", *NOT_FLOATING, first_only=True)
refuse(SOFTSHRINK, "softshrink_check", *NOT_FLOATING, first_only=True)


def _shrunk(ctx: Any, grad: Tensor, input: Tensor, lambd: Any) -> Tensor:
    return record(SHRINK_BACKWARD, (grad, input, lambd))


HARDSHRINK.derivative("input", keeps="input lambd")(_shrunk)
SOFTSHRINK.derivative("input", keeps="input lambd")(_shrunk)
SHRINK_BACKWARD.derivative("grad", keeps="input lambd")(_shrunk)
formal_operand(SHRINK_BACKWARD, "input")


@api("torch", "Tensor", "nn.functional", out=UNCONVERTED)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` where its absolute value is above ``lambd``, else 0.

    >>> import flambeau as torch
    >>> torch.nn.functional.hardshrink(torch.tensor([0.3, -2.]))
    tensor([ 0., -2.])
    """
    return record(HARDSHRINK, (input, number_for(lambd, input._geometry.dtype)))


@api("nn.functional", out=UNCONVERTED)
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """``input`` moved towards 0 by ``lambd``, and no further.

    >>> import flambeau as torch
    >>> torch.nn.functional.softshrink(torch.tensor([0.3, -2.]))
    tensor([ 0.0000, -1.5000])
    """
    if not lambd >= 0:
        name = dtypes.SCALAR_NAMES[input._geometry.dtype]
        raise RuntimeError(
            f"lambda must be in range [0, {finfo(input.dtype).max:g}] for input dtype {name}, but "
            f"found {lambd}"
        )
    return record(SOFTSHRINK, (input, lambd))


@api("nn.functional")
def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``.

    >>> import flambeau as torch
    >>> torch.nn.functional.tanhshrink(torch.tensor([0., 1.]))
    tensor([0.0000, 0.2384])
    """
    return input - tanh(input)


HARDSIGMOID = pointwise_operator("hardsigmoid", lambda m, input: m.bounded(input + 3, 0, 6) / 6)
HARDSWISH = pointwise_operator(
    "hardswish", lambda m, input: input * (m.bounded(input + 3, 0, 6) / 6)
)
HARDSWISH_BACKWARD = pointwise_operator("hardswish_backward", lambda m, grad, input: m.where(
    input <= -3, grad.dtype.type(0), m.where(input < 3, grad * (input / 3 + 0.5), grad)))
refuse(HARDSIGMOID, "hardsigmoid_cpu", *NOT_FLOATING)
refuse(HARDSWISH, "hardswish_cpu", *NOT_FLOATING)


@HARDSIGMOID.derivative("input", keeps="input", formal="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return where((input > -3) & (input < 3), grad / 6, 0)


@HARDSWISH.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    if not state.enabled:
        return record_pair(HARDSWISH_BACKWARD, grad, input)
    inside = grad * (input / 3 + 0.5)
    return where(input <= -3, 0, where(input < 3, inside, grad))


@api("nn.functional")
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(input + 3) / 6``.

    >>> import flambeau as torch
    >>> torch.nn.functional.hardsigmoid(torch.tensor([-4., 0., 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return done(input, record_one(HARDSIGMOID, input), inplace, "hardsigmoid_")


@api("nn.functional")
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * relu6(input + 3) / 6``.

    >>> import flambeau as torch
    >>> torch.nn.functional.hardswish(torch.tensor([-4., 0., 1.5]))
    tensor([-0.0000, 0.0000, 1.1250])
    """
    return done(input, record_one(HARDSWISH, input), inplace, "hardswish_")


def in_place(name: str, function: Callable[..., Tensor], *namespaces: str) -> None:
    """Publish ``nn.functional.<name>``, which writes the result of ``function`` to its first argument."""
    def method(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return assign(input, function(input, *args, **kwargs), name)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place version of ``{name[:-1]}``."
    api("nn.functional", *namespaces)(method)


in_place("relu_", lambda input: record_one(RELU, input), "torch")
in_place("threshold_", _threshold, "torch")
in_place("leaky_relu_", leaky_relu)
in_place("hardtanh_", hardtanh)

api("nn.functional", name="sigmoid", judge="never")(sigmoid)
api("nn.functional", name="tanh", judge="never")(tanh)
