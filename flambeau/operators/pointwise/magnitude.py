"""Absolute values, signs, extremes of two tensors, and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...tensor import Tensor, assign, record
from ...type_info import finfo
from ..calls.number_range import check_number
from ..calls.out import BOOLEAN, UNCONVERTED, Out
from ..creation.creation import zeros_like
from ..creation.zero_gradients import zero_gradient
from ..declaration.definition import (
    NUMBERS,
    arithmetic_dtype,
    dense_as_first,
    operand,
    pointwise,
    pointwise_operator,
)
from ..declaration.domain import BOOL, COMPLEX, bad_arguments, of_tensors, refuse
from ..declaration.registry import api
from .arithmetic import conjugate
from .comparison import where


@pointwise(promotes="real", aliases=("absolute",), out=UNCONVERTED)
def abs(m: Any, input: Any) -> Any:
    """The absolute value.

    >>> import flambeau as torch
    >>> torch.abs(torch.tensor([1., -2.]))
    tensor([1., 2.])
    """
    return m.abs(input)


refuse(abs.operator, "abs_cpu", BOOL)


@abs.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * sgn(input)


def _in_place_abs(self: Tensor) -> Tensor:
    """In-place version of ``abs``."""
    if self.is_complex():
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return assign(self, abs(self), "abs_")


for _name in ("abs_", "absolute_"):
    api("Tensor", name=_name)(_in_place_abs)
api("torch", name="abs_")(_in_place_abs)


@pointwise(out=UNCONVERTED)
def sign(m: Any, input: Any) -> Any:
    """-1, 0 or 1 by sign; 0 for NaN.

    >>> import flambeau as torch
    >>> torch.sign(torch.tensor([0.5, -3., 0.]))
    tensor([ 1., -1.,  0.])
    """
    return m.sign_of(input)


refuse(
    sign.operator,
    "sign",
    COMPLEX,
    message="Unlike NumPy, torch.sign is not intended to support complex numbers. Please "
    "use torch.sgn instead.",
)
zero_gradient(sign.operator, "input")


@pointwise(out=UNCONVERTED)
def sgn(m: Any, input: Any) -> Any:
    """The sign; for complex numbers ``z / |z|``, and 0 for 0.

    >>> import flambeau as torch
    >>> torch.sgn(torch.tensor([3 + 4j]))
    tensor([0.6000+0.8000j])
    """
    if m.iscomplexobj(input):
        size = m.abs(input)
        return m.where(size == 0, 0, input / m.where(size == 0, 1, size))
    return m.sign_of(input)


@sgn.derivative("input", keeps="input", holds="output")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    if not input.is_complex():
        return zeros_like(grad)
    # z / |z| turns with z and does not grow: the gradient's radial part vanishes.
    size, direction = abs(input), sgn(input)
    radial = (grad * conjugate(direction)).real
    nonzero = size != 0
    return where(nonzero, (grad - radial * direction) / where(nonzero, size, 1), 0)


@pointwise(promotes="bool", inplace=False, out=BOOLEAN)
def signbit(m: Any, input: Any) -> Any:
    """Whether the sign is negative, -0.0 included.

    >>> import flambeau as torch
    >>> torch.signbit(torch.tensor([0.5, -0.0]))
    tensor([False,  True])
    """
    return m.signbit(input) if input.dtype.kind == "f" else input < 0


refuse(signbit.operator, "signbit", COMPLEX, message="signbit is not implemented for complex tensors.")


# --- extremes -----------------------------------------------------------------------------------------------

@of_tensors(inplace=False)
def maximum(m: Any, input: Any, other: Any) -> Any:
    """The larger one; NaN where one is NaN.

    >>> import flambeau as torch
    >>> torch.maximum(torch.tensor([1., 4.]), torch.tensor([3., 2.]))
    tensor([3., 4.])
    """
    return m.maximum(input, other)


@of_tensors(inplace=False)
def minimum(m: Any, input: Any, other: Any) -> Any:
    """The smaller one; NaN where one is NaN.

    >>> import flambeau as torch
    >>> torch.minimum(torch.tensor([1., 4.]), torch.tensor([3., 2.]))
    tensor([1., 2.])
    """
    return m.minimum(input, other)


@of_tensors(inplace=False)
def fmax(m: Any, input: Any, other: Any) -> Any:
    """The larger one; a number rather than NaN.

    >>> import flambeau as torch
    >>> torch.fmax(torch.tensor([1., torch.nan]), torch.tensor([3., 2.]))
    tensor([3., 2.])
    """
    return m.fmax(input, other)


@of_tensors(inplace=False)
def fmin(m: Any, input: Any, other: Any) -> Any:
    """The smaller one; a number rather than NaN.

    >>> import flambeau as torch
    >>> torch.fmin(torch.tensor([1., torch.nan]), torch.tensor([3., 2.]))
    tensor([1., 2.])
    """
    return m.fmin(input, other)


refuse(
    maximum.operator,
    "maximum",
    COMPLEX,
    error=RuntimeError,
    message="maximum not implemented for complex tensors.",
)
refuse(
    minimum.operator,
    "minimum",
    COMPLEX,
    error=RuntimeError,
    message="minimum not implemented for complex tensors.",
)
refuse(
    fmax.operator, "fmax", COMPLEX, error=RuntimeError, message="fmax not implemented for complex tensors."
)
refuse(
    fmin.operator, "fmin", COMPLEX, error=RuntimeError, message="fmin not implemented for complex tensors."
)


def _split_ties(grad: Tensor, wins: Tensor, ties: Tensor) -> Tensor:
    """The gradient goes to the winner, half to each of equals."""
    return where(wins, grad, where(ties, grad / 2, 0))


@maximum.derivative("input", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Tensor, other: Tensor) -> Tensor:
    return _split_ties(grad, ~(input <= other), input == other)


@maximum.derivative("other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Tensor, other: Tensor) -> Tensor:
    return _split_ties(grad, ~(input >= other), input == other)


@minimum.derivative("input", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Tensor, other: Tensor) -> Tensor:
    return _split_ties(grad, ~(input >= other), input == other)


@minimum.derivative("other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Tensor, other: Tensor) -> Tensor:
    return _split_ties(grad, ~(input <= other), input == other)


@fmax.derivative("input", "other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    first = (input >= other) | other.isnan()
    return where(first, grad, 0), where(first, 0, grad)


@fmin.derivative("input", "other", keeps="input other")
def _(ctx: Any, grad: Tensor, input: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    first = (input <= other) | other.isnan()
    return where(first, grad, 0), where(first, 0, grad)


# --- bounds -------------------------------------------------------------------------------------------------

def _clamp_kernel(m: Any, input: Any, min: Any, max: Any) -> Any:
    # Of two equal values the second one is taken: -0.0 is within a bound of 0 and stays what it is.
    if min is None:
        return m.minimum(max, input)
    return m.maximum(min, input) if max is None else m.bounded(input, min, max)


def _inside(m: Any, input: Any, min: Any, max: Any) -> Any:
    if min is None:
        return input <= max
    above = input >= min
    return above if max is None else above & (input <= max)


def _clamp_operator(grad_name: str) -> Any:
    op = pointwise_operator("clamp", _clamp_kernel, grad_name=grad_name)
    refuse(op, "clamp", COMPLEX, message="clamp is not supported for complex types")

    @op.derivative("input", keeps="input min max")
    def _(ctx: Any, grad: Tensor, input: Tensor, min: Any, max: Any) -> Tensor:
        return record(CLAMP_BACKWARD, (grad, input, min, max))

    @op.derivative("min", keeps="input min max")
    def _(ctx: Any, grad: Tensor, input: Tensor, min: Any, max: Any) -> Tensor:
        below = input < min
        return where(below if max is None else below & (min < max), grad, 0)

    @op.derivative("max", keeps="input min max")
    def _(ctx: Any, grad: Tensor, input: Tensor, min: Any, max: Any) -> Tensor:
        above = input > max
        return where(above if min is None else above | (max < min), grad, 0)
    return op


CLAMP = _clamp_operator("ClampBackward1")
CLAMP_TENSORS = _clamp_operator("ClampBackward0")
CLAMP_MIN = _clamp_operator("ClampMinBackward0")
CLAMP_MAX = _clamp_operator("ClampMaxBackward0")
CLAMP_BACKWARD = pointwise_operator("clamp_backward", lambda m, grad, input, min, max:
                                    m.where(_inside(m, input, min, max), grad, grad.dtype.type(0)), leads=1)


@CLAMP_BACKWARD.derivative("grad", keeps="input min max")
def _(ctx: Any, grad: Tensor, input: Tensor, min: Any, max: Any) -> Tensor:
    return record(CLAMP_BACKWARD, (grad, input, min, max))


def _bound(input: Tensor, bound: Any) -> Any:
    """A bound, which must fit the type of the result."""
    kind = bound.__class__
    if (kind is float or kind is int) and -2 <= bound <= 2 \
            and input._geometry.dtype.category >= dtypes.FLOATING:
        return bound    # of any type
    if bound.__class__ is float:
        dtype = input._geometry.dtype
        check_number(bound, dtype if dtype.category >= dtypes.FLOATING else dtypes.get_default_dtype())
    elif bound.__class__ is int and input._geometry.dtype is not dtypes.bool_:
        check_number(bound, input._geometry.dtype)
    return bound


def _is_number_beside(bound: Any, other: Any) -> bool:
    """Whether a bound is a number where the other is a tensor that is none."""
    return bound is not None and not isinstance(bound, Tensor) and other.ndim > 0


@api("torch", "Tensor", out=True, inplace="pointwise", aliases=("clip",))
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """``input`` with values below ``min`` raised to it, and those above ``max`` lowered.

    >>> import flambeau as torch
    >>> torch.clamp(torch.tensor([-1., 0.5, 2.]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    op = CLAMP
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        op = CLAMP_TENSORS
        if not isinstance(input, Tensor) or _is_number_beside(min, max) or _is_number_beside(max, min):
            raise TypeError("bounds must be two tensors or two numbers")
    if min is not None:
        min = _bound(input, min if min.__class__ in NUMBERS else operand(min, "clamp", "min", 2))
    if max is not None:
        max = _bound(input, max if max.__class__ in NUMBERS else operand(max, "clamp", "max", 3))
    return record(op, (input, min, max))


@api("torch", "Tensor", out=True, inplace="pointwise", judge="first")
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """``input`` with values below ``min`` raised to it.

    >>> import flambeau as torch
    >>> torch.clamp_min(torch.tensor([-1., 0.5]), 0)
    tensor([0.0000, 0.5000])
    """
    if not isinstance(input, Tensor):
        raise bad_arguments("clamp_min", input, min)
    return record(CLAMP_MIN, (input, _bound(input, operand(min, "clamp_min", "min", 2)), None))


@api("torch", "Tensor", out=True, inplace="pointwise", judge="first")
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """``input`` with values above ``max`` lowered to it.

    >>> import flambeau as torch
    >>> torch.clamp_max(torch.tensor([-1., 0.5]), 0)
    tensor([-1.,  0.])
    """
    if not isinstance(input, Tensor):
        raise bad_arguments("clamp_max", input, max)
    return record(CLAMP_MAX, (input, None, _bound(input, operand(max, "clamp_max", "max", 2))))


# --- replacing what is not finite ---------------------------------------------------------------------------

def _replaced(m: Any, input: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if input.dtype.kind == "c":
        return _replaced(m, input.real, nan, posinf, neginf) + 1j * _replaced(
            m, input.imag, nan, posinf, neginf
        )
    if input.dtype.kind in "iub":
        return input
    return m.nan_to_num(input, nan=nan, posinf=posinf, neginf=neginf)


def _nan_compute(operands: Sequence[Any]) -> dtypes.dtype | None:
    """The type of numbers too; whole numbers are left as they are."""
    dtype = operands[0].dtype
    return arithmetic_dtype(dtype) if dtype.category == dtypes.FLOATING else None


NAN_TO_NUM = pointwise_operator("nan_to_num", _replaced)
NAN_TO_NUM.infer, NAN_TO_NUM.compute = dense_as_first, _nan_compute


@NAN_TO_NUM.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return grad * input.isfinite()


_REPLACED = Out("nan_to_num: dtype of out: {Out} should be same as input: {Result}",
                apart="pointwise")


@api("torch", "Tensor", out=_REPLACED, inplace=True)
def nan_to_num(input: Tensor, nan: float | None = None, posinf: float | None = None,
               neginf: float | None = None) -> Tensor:
    """``input`` with NaN and infinities replaced: by 0 and the type's limits unless numbers are given.

    >>> import flambeau as torch
    >>> torch.nan_to_num(torch.tensor([torch.nan, torch.inf, 1.]), posinf=5.)
    tensor([0., 5., 1.])
    """
    dtype = input._geometry.dtype
    limits = (0.0, 0.0)
    if dtype.category >= dtypes.FLOATING:
        found = finfo(dtype)
        limits = (found.min, found.max)
    return record(NAN_TO_NUM, (input, 0.0 if nan is None else nan, limits[1] if posinf is None else posinf,
                               limits[0] if neginf is None else neginf))
