"""Rounding: floor, ceil, trunc, round, frac."""

from __future__ import annotations

from typing import Any

from ...dtypes import FLOATING
from ...tensor import Tensor, record, record_one
from ..calls.out import UNCONVERTED
from ..creation.zero_gradients import zero_gradient
from ..declaration.definition import pointwise, pointwise_operator
from ..declaration.domain import BOOL, COMPLEX, INTEGER, not_implemented, refuse
from ..declaration.registry import api


@pointwise(out=UNCONVERTED)
def floor(m: Any, input: Any) -> Any:
    """The largest integer that is not above.

    >>> import flambeau as torch
    >>> torch.floor(torch.tensor([1.5, -1.5]))
    tensor([ 1., -2.])
    """
    return m.floor(input)


@pointwise(out=UNCONVERTED)
def ceil(m: Any, input: Any) -> Any:
    """The smallest integer that is not below.

    >>> import flambeau as torch
    >>> torch.ceil(torch.tensor([1.5, -1.5]))
    tensor([ 2., -1.])
    """
    return m.ceil(input)


@pointwise(aliases=("fix",), out=UNCONVERTED)
def trunc(m: Any, input: Any) -> Any:
    """The integer part.

    >>> import flambeau as torch
    >>> torch.trunc(torch.tensor([1.5, -1.5]))
    tensor([ 1., -1.])
    """
    return m.trunc(input)


for _function in (floor, ceil, trunc):
    refuse(_function.operator, f"{_function.__name__}_vml_cpu", BOOL)
    refuse(
        _function.operator, "", COMPLEX, message=f"{_function.__name__} is not supported for complex inputs"
    )
    zero_gradient(_function.operator, "input")


@pointwise(out=UNCONVERTED)
def frac(m: Any, input: Any) -> Any:
    """What ``trunc`` takes away.

    >>> import flambeau as torch
    >>> torch.frac(torch.tensor([1.5, -2.25]))
    tensor([ 0.5000, -0.2500])
    """
    return m.subtract(input, m.trunc(input))


refuse(frac.operator, "frac_cpu", BOOL, INTEGER, COMPLEX)


@frac.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


ROUND = pointwise_operator("round", lambda m, input: m.rint(input) if input.dtype.kind == "f" else input)
ROUND_DECIMALS = pointwise_operator("round", lambda m, input, decimals: m.rounded_to(input, int(decimals)),
                                    grad_name="RoundBackward1", counts=False)
refuse(ROUND, "round_vml_cpu", BOOL, COMPLEX)
zero_gradient(ROUND, "input")
zero_gradient(ROUND_DECIMALS, "input")


@api("torch", "Tensor", "special", out=UNCONVERTED, inplace=True, judge="first")
def round(input: Tensor, *, decimals: int | None = None) -> Tensor:
    """The nearest integer (halves to even), or the nearest number with ``decimals`` digits after the point.

    >>> import flambeau as torch
    >>> torch.round(torch.tensor([0.5, 1.5, 2.567]))
    tensor([0., 2., 3.])
    >>> torch.round(torch.tensor([2.567]), decimals=1)
    tensor([2.6000])
    """
    if decimals is not None and input._geometry.dtype.category != FLOATING:
        raise not_implemented("round_cpu" if decimals else "round_vml_cpu", input._geometry.dtype)
    if not decimals:
        return record_one(ROUND, input)
    return record(ROUND_DECIMALS, (input, decimals))
