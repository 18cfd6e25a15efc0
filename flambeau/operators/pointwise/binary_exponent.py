"""Mantissas and binary exponents."""

from __future__ import annotations

from math import log
from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry
from ...return_types import TYPES
from ...tensor import Tensor, record, record_pair
from ..calls.out import store
from ..declaration.definition import arithmetic_dtype, operator, pointwise_geometry, pointwise_operator
from ..declaration.domain import FLOATING, not_implemented, require_tensor
from ..declaration.registry import api
from .arithmetic import conjugate
from .power import pow


def _frexp_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    if operands[0].dtype.category != FLOATING:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    return pointwise_geometry(operands, operands[0].dtype), pointwise_geometry(operands, dtypes.int32)


@operator("frexp", _frexp_geometry, compute=lambda operands: arithmetic_dtype(operands[0].dtype),
          non_differentiable_outputs=(1,))
def FREXP(m: Any, input: Any) -> Any:
    return m.frexp(input)


@FREXP.derivative("input", keeps="output1")
def _(ctx: Any, grad: Any, exponent: Tensor) -> Tensor:
    mantissa: Tensor = grad[0]
    return mantissa / pow(2.0, exponent.detach().to(mantissa.dtype))


@api("torch", "Tensor")
def frexp(input: Tensor, *, out: Any = None) -> Any:
    """Mantissas in [0.5, 1) and integer exponents with ``input = mantissa * 2**exponent``.

    >>> import flambeau as torch
    >>> mantissa, exponent = torch.frexp(torch.tensor([3., 8.]))
    >>> mantissa, exponent
    (tensor([0.7500, 0.5000]), tensor([2, 4], dtype=torch.int32))
    """
    result = record(FREXP, (input,))
    if out is not None:
        store(tuple(result), out, "frexp")
        return TYPES["frexp"](*out)
    return TYPES["frexp"](*result)


LDEXP = pointwise_operator("ldexp", lambda m, input, other: input * m.power(2.0, other), "float", casts=True)


@LDEXP.derivative("input", keeps="other", holds="output")
def _(ctx: Any, grad: Tensor, other: Tensor) -> Tensor:
    return grad * conjugate(pow(2.0, other))


@LDEXP.derivative("other", keeps="output")
def _(ctx: Any, grad: Tensor, output: Tensor) -> Tensor:
    return grad * conjugate(output) * log(2)


@api("torch", "Tensor", out=True, inplace="pointwise")
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2**other``.

    >>> import flambeau as torch
    >>> torch.ldexp(torch.tensor([1.5]), torch.tensor([3]))
    tensor([12.])
    """
    require_tensor(input, "ldexp", "input", 1)
    require_tensor(other, "ldexp", "other", 2)
    if other.dtype is dtypes.bool_ and input.dtype.category == FLOATING:
        raise not_implemented("ldexp_cpu_exp", other.dtype)
    return record_pair(LDEXP, input, other)
