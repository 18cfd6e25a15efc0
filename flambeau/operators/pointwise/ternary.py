"""Pointwise arithmetic of three tensors: addcmul, addcdiv and lerp."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...dtypes import FLOATING
from ...tensor import Tensor, record
from ..calls.number_range import number_for
from ..calls.older_signatures import scaled
from ..declaration.definition import arithmetic_dtype, broadcast_shapes, pointwise_operator, result_dtype
from ..declaration.domain import bad_arguments, not_implemented, refuse, require_tensor
from ..declaration.registry import api
from .arithmetic import conjugate

ADDCMUL = pointwise_operator("addcmul", lambda m, input, tensor1, tensor2, value:
                             m.add(input, m.multiply(m.multiply(tensor1, tensor2), value)))
ADDCMUL_ONE = pointwise_operator(
    "addcmul", lambda m, input, tensor1, tensor2: m.add(input, m.multiply(tensor1, tensor2))
)
ADDCDIV = pointwise_operator("addcdiv", lambda m, input, tensor1, tensor2, value:
                             m.add(input, m.divide(m.multiply(tensor1, value), tensor2)))


def _declare_addcmul(op: Any, scale: str = "") -> None:
    @op.derivative("input")
    def _(ctx: Any, grad: Tensor) -> Tensor:
        return grad

    @op.derivative("tensor1", keeps="tensor2" + scale)
    def _(ctx: Any, grad: Tensor, tensor2: Tensor, value: Any = None) -> Tensor:
        return grad * conjugate(tensor2 if value is None else tensor2 * value)

    @op.derivative("tensor2", keeps="tensor1" + scale)
    def _(ctx: Any, grad: Tensor, tensor1: Tensor, value: Any = None) -> Tensor:
        return grad * conjugate(tensor1 if value is None else tensor1 * value)


_declare_addcmul(ADDCMUL, " value")
_declare_addcmul(ADDCMUL_ONE)


@ADDCDIV.derivative("input", holds="tensor2")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


@ADDCDIV.derivative("tensor1", keeps="tensor2 value")
def _(ctx: Any, grad: Tensor, tensor2: Tensor, value: Any) -> Tensor:
    return grad * conjugate(value / tensor2)


@ADDCDIV.derivative("tensor2", keeps="tensor1 tensor2 value")
def _(ctx: Any, grad: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any) -> Tensor:
    return -grad * conjugate(value * tensor1 / (tensor2 * tensor2))


@api("torch", "Tensor", out=True, inplace="pointwise")
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *older: Any, value: Any = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``, broadcast.

    >>> import flambeau as torch
    >>> torch.addcmul(torch.ones(2), torch.tensor([1., 2.]), torch.tensor([3., 4.]), value=0.5)
    tensor([2.5000, 5.0000])
    """
    if older:
        return scaled(addcmul, (input, tensor1, tensor2, *older), "value")
    if not (isinstance(input, Tensor) and isinstance(tensor1, Tensor) and isinstance(tensor2, Tensor)):
        given = ("input", input), ("tensor1", tensor1), ("tensor2", tensor2)
        for position, (name, one) in enumerate(given):
            require_tensor(one, "addcmul", name, position + 1)
    if input._geometry.dtype is dtypes.bool_ and input.dtype is tensor1.dtype is tensor2.dtype:
        broadcast_shapes([input.shape, tensor1.shape, tensor2.shape])
        raise NotImplementedError("\"addcmul_cpu_out\" not implemented for 'Bool'")
    if value.__class__ is int and value == 1:
        return record(ADDCMUL_ONE, (input, tensor1, tensor2))
    if not (value.__class__ is float and -2 <= value <= 2 and input._geometry.dtype.category >= FLOATING):
        dtype = result_dtype([input._geometry, tensor1._geometry, tensor2._geometry])
        value = number_for(value, arithmetic_dtype(dtype))
    return record(ADDCMUL, (input, tensor1, tensor2, value))


@api("torch", "Tensor", out=True, inplace="pointwise")
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *older: Any, value: Any = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``, broadcast.

    >>> import flambeau as torch
    >>> torch.addcdiv(torch.ones(2), torch.tensor([1., 2.]), torch.tensor([4., 4.]))
    tensor([1.2500, 1.5000])
    """
    if older:
        return scaled(addcdiv, (input, tensor1, tensor2, *older), "value")
    for position, (name, one) in enumerate((("input", input), ("tensor1", tensor1), ("tensor2", tensor2))):
        require_tensor(one, "addcdiv", name, position + 1)
    if (
        tensor1._geometry.dtype.category < dtypes.FLOATING
        and tensor2._geometry.dtype.category < dtypes.FLOATING
    ):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
            "perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be "
            "implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer "
            "inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv "
            "behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all "
            "dtypes.")
    dtype = result_dtype([input._geometry, tensor1._geometry, tensor2._geometry])
    return record(ADDCDIV, (input, tensor1, tensor2, number_for(value, arithmetic_dtype(dtype))))


def _lerp_kernel(m: Any, input: Any, end: Any, weight: Any) -> Any:
    return m.between(input, end, weight)


LERP_NUMBER = pointwise_operator("lerp", _lerp_kernel, grad_name="LerpBackward0")
LERP = pointwise_operator("lerp", _lerp_kernel, grad_name="LerpBackward1")
refuse(LERP_NUMBER, "lerp_kernel_scalar", dtypes.BOOL, dtypes.INTEGER)
refuse(LERP, "lerp_kernel_tensor", dtypes.BOOL, dtypes.INTEGER)

for _op in (LERP, LERP_NUMBER):
    @_op.derivative("input", keeps="weight")
    def _(ctx: Any, grad: Tensor, weight: Any) -> Tensor:
        return grad * conjugate(1 - weight)

    @_op.derivative("end", keeps="weight")
    def _(ctx: Any, grad: Tensor, weight: Any) -> Tensor:
        return grad * conjugate(weight)


@LERP.derivative("weight", keeps="input end", holds="weight")
def _(ctx: Any, grad: Tensor, input: Tensor, end: Tensor) -> Tensor:
    return grad * conjugate(end - input)


@api("torch", "Tensor", out=True, inplace="pointwise")
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """``input + weight * (end - input)``, broadcast.

    >>> import flambeau as torch
    >>> torch.lerp(torch.tensor([0., 10.]), torch.tensor([1., 20.]), 0.5)
    tensor([ 0.5000, 15.0000])
    """
    if not isinstance(end, Tensor):
        raise bad_arguments("lerp", input, end, weight)
    dtype = input._geometry.dtype
    if isinstance(weight, Tensor) and weight._geometry.ndim == 0 and input._geometry.ndim:
        weight = weight.to(dtype)  # counts as a number
    for name, one in (("end", end), ("weight", weight)):
        if isinstance(one, Tensor) and one._geometry.dtype is not dtype:
            raise RuntimeError(f"expected dtype {dtypes.c_name(dtype)} for `{name}` but got dtype "
                               f"{dtypes.c_name(one.dtype)}")
    if dtype.category < dtypes.FLOATING:
        broadcast_shapes([one._geometry.shape for one in (input, end, weight) if isinstance(one, Tensor)])
        raise not_implemented(
            "lerp_kernel_tensor" if isinstance(weight, Tensor) else "lerp_kernel_scalar", dtype
        )
    if isinstance(weight, Tensor):
        return record(LERP, (input, end, weight))
    return record(LERP_NUMBER, (input, end, number_for(weight, arithmetic_dtype(dtype))))
