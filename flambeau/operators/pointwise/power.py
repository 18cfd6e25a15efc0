"""Powers. An exponent that has a cheaper form becomes part of the operator (``x ** 3`` is two products)."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry
from ...graph.operator import Operator
from ...tensor import Tensor, record, record_one
from ..calls.number_range import check_number
from ..creation.casting import cast
from ..creation.creation import zeros_like
from ..declaration.definition import (
    operand,
    operand_dtype,
    pointwise_geometry,
    pointwise_operator,
    result_dtype,
)
from ..declaration.domain import not_implemented, require_tensor
from ..declaration.registry import api
from .arithmetic import conjugate
from .comparison import where

# Exponents that are structural: they change the algorithm.
_REDUCED = frozenset((0, 1, 2, 3, 0.5, -0.5, -1, -2))


def _reduced_kernel(m: Any, input: Any, exponent: Any, kind: type, narrow: Any) -> Any:
    """``narrow``: bfloat16 where squares are rounded to it before they are used again (not to float16)."""
    if exponent == 2:
        return m.multiply(input, input)
    if exponent == 3:
        return m.multiply(m.rounded(m.multiply(input, input), narrow), input)
    if exponent == 0.5:
        return m.sqrt(input)
    if exponent == -0.5:
        return m.rsqrt(input)
    if exponent == -1:
        return m.true_divide(1, input)
    if exponent == -2:
        return m.true_divide(1, m.rounded(m.multiply(input, input), narrow))
    return m.ones_like(input) if exponent == 0 else input


def _scalar_dtype(base: Any, kind: type, exponent: Any) -> dtypes.dtype:
    dtype = result_dtype((base, kind))
    if dtype.category < dtypes.FLOATING and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return dtype


def _reduced_geometry(operands: Sequence[Any], attributes: Any) -> Geometry:
    exponent, kind, _ = attributes
    return pointwise_geometry(operands, _scalar_dtype(operands[0], kind, exponent))


POW_REDUCED = Operator("pow", _reduced_kernel, _reduced_geometry, ("input",), kind="pointwise",
                       compute=lambda operands: operands[0].dtype)
POW_NUMBER = pointwise_operator("pow", lambda m, input, exponent: m.integer_safe_power(input, exponent),
                                casts=True)
POW = pointwise_operator("pow", lambda m, input, exponent: m.integer_safe_power(input, exponent),
                         grad_name="PowBackward1", casts=True)
NUMBER_POW = pointwise_operator("pow", lambda m, input, exponent: m.integer_safe_power(input, exponent),
                                grad_name="PowBackward2", casts=True, counts=False)


@POW_REDUCED.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    return _by_base(grad, input, ctx.attributes[0])


@POW_NUMBER.derivative("input", keeps="input exponent")
def _(ctx: Any, grad: Tensor, input: Tensor, exponent: Any) -> Tensor:
    return _by_base(grad, input, exponent)


def _by_base(grad: Tensor, input: Tensor, exponent: Any) -> Tensor:
    """d(x^p)/dx = p x^(p - 1)."""
    if exponent == 0:
        return zeros_like(grad)
    if exponent == 2:
        return grad * (conjugate(input) * 2)
    return grad * conjugate(pow(input, exponent - 1) * exponent)


@POW.derivative("input", keeps="input exponent", holds="output")
def _(ctx: Any, grad: Tensor, input: Tensor, exponent: Tensor) -> Tensor:
    slope = conjugate(exponent * pow(input, exponent - 1))
    return where(exponent != 0, grad * slope, 0)


@POW.derivative("exponent", keeps="input exponent output")
def _(ctx: Any, grad: Tensor, input: Tensor, exponent: Tensor, output: Tensor) -> Tensor:
    return _by_exponent(grad, input, exponent, output)


@NUMBER_POW.derivative("exponent", keeps="input exponent output")
def _(ctx: Any, grad: Tensor, input: Any, exponent: Tensor, output: Tensor) -> Tensor:
    if input == 0:
        flat = exponent.real >= 0 if exponent.is_complex() else exponent >= 0
        return grad * where(flat, 0 * output, conjugate(output * _log_of(input, output)))
    return grad * conjugate(output * _log_of(input, output))


def _log_of(number: Any, like: Tensor) -> Any:
    """The logarithm of a number that is not 0; of a negative one complex where the result is, else NaN."""
    if isinstance(number, complex) or (number < 0 and like.is_complex()):
        return cmath.log(number)
    return math.log(number) if number > 0 else -math.inf if number == 0 else math.nan


def _by_exponent(grad: Tensor, input: Tensor, exponent: Tensor, output: Tensor) -> Tensor:
    """d(x^p)/dp = x^p log x, which is 0 at x = 0, p >= 0."""
    positive = exponent.real >= 0 if exponent.is_complex() else exponent >= 0
    flat = (input == 0).logical_and(positive)
    return grad * conjugate(where(flat, 0, output * input.log()))


@api("torch", "Tensor", out=True, inplace="pointwise")
def pow(input: Any, exponent: Any) -> Tensor:
    """``input`` to the power ``exponent``, broadcast; one of the two may be a number.

    >>> import flambeau as torch
    >>> torch.pow(torch.tensor([1., 2., 3.]), 2)
    tensor([1., 4., 9.])
    """
    if isinstance(exponent, Tensor):
        if isinstance(input, Tensor):
            if input.dtype is exponent.dtype is dtypes.bool_:
                raise not_implemented("pow", dtypes.bool_)
            return record(POW, (input, exponent))
        if exponent.dtype is dtypes.bool_ and isinstance(input, bool):
            raise not_implemented("pow", dtypes.bool_)
        return record(NUMBER_POW, (operand(input, "pow", "input", 1), exponent.contiguous()))
    if not isinstance(input, Tensor):
        raise TypeError(f"pow() received an invalid combination of arguments - got ({type(input).__name__}, "
                        f"{type(exponent).__name__}), but expected one of:\n * (Tensor input, Tensor "
                        f"exponent, *, Tensor "
                        "out = None)\n * (Number self, Tensor exponent, *, Tensor out = None)\n * (Tensor "
                        "input, Number "
                        "exponent, *, Tensor out = None)\n")
    exponent = operand(exponent, "pow", "exponent", 2)
    kind = exponent.__class__
    if exponent in _REDUCED:
        dtype = input._geometry.dtype
        if dtype.category != dtypes.FLOATING or kind is complex:    # which no other number changes
            dtype = _scalar_dtype(input._geometry, kind, exponent)
            input = cast(input, dtype)
        narrow = dtype if dtype is dtypes.bfloat16 else None
        return record_one(POW_REDUCED, input, (exponent, kind, narrow))
    dtype = _scalar_dtype(input._geometry, kind, 0 if isinstance(exponent, complex) else exponent)
    if dtype.category == dtypes.INTEGER or dtype in dtypes.LOW_PRECISION:  # others compute in wider ones
        check_number(exponent, dtype)
    return record(POW_NUMBER, (input, exponent))


@api("torch", "Tensor", inplace=True, out=True)
def square(input: Tensor) -> Tensor:
    """``input * input``.

    >>> import flambeau as torch
    >>> torch.square(torch.tensor([1., -2.]))
    tensor([1., 4.])
    """
    require_tensor(input, "square", "input", 1)
    return pow(input, 2)


@api("torch", "Tensor", out=True)
def float_power(input: Any, exponent: Any) -> Tensor:
    """``input ** exponent`` in double precision (complex where an operand is).

    >>> import flambeau as torch
    >>> torch.float_power(torch.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=torch.float64)
    """
    wide = dtypes.complex128 if any(_is_complex(x) for x in (input, exponent)) else dtypes.float64
    base, power = (x.to(wide) if isinstance(x, Tensor) else x for x in (input, exponent))
    return pow(base, power)


@api("Tensor")
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """In-place version of ``float_power``; the tensor must be of double precision.

    >>> import flambeau as torch
    >>> torch.tensor([2.0, 3.0], dtype=torch.float64).float_power_(2)
    tensor([4., 9.], dtype=torch.float64)
    """
    wide = dtypes.complex128 if self.is_complex() or _is_complex(exponent) else dtypes.float64
    if self.dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {dtypes.SCALAR_NAMES[self.dtype]} but the operation's "
            f"result requires dtype {dtypes.SCALAR_NAMES[wide]}"
        )
    return self.pow_(exponent)


def _is_complex(x: Any) -> bool:
    return x.is_complex() if isinstance(x, Tensor) else isinstance(x, complex)


POW_REDUCED.compute = operand_dtype
