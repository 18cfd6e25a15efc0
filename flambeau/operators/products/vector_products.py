"""Products with vectors: mv, dot and vdot."""

from __future__ import annotations

from typing import Any

from ...dtypes import INTEGER, SCALAR_NAMES
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record, record_pair
from ..calls.out import Out
from ..declaration.definition import operand_dtype, operator
from ..declaration.registry import api
from ..pointwise.arithmetic import conjugate
from .operands import refuse_bool, require_tensor, transposed


def _mv_geometry(operands: Any, attributes: Any) -> Geometry:
    a = require_tensor(operands[0], "mv", "input", 1)
    b = require_tensor(operands[1], "mv", "vec", 2)
    if a.ndim != 2 or b.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {a.ndim}, {b.ndim}")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({a.shape[0]}), mat ({a.shape[0]}x{a.shape[1]}), vec ({b.shape[0]})"
        )
    if a.dtype is not b.dtype:
        first = SCALAR_NAMES[b.dtype]
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {first}, {SCALAR_NAMES[a.dtype]}, and "
            f"{first}"
        )
    refuse_bool(a, "addmv_impl_cpu", a)
    return contiguous((a.shape[0],), a.dtype, a.device)


@operator("mv", _mv_geometry, compute=operand_dtype)
def MV(m: Any, input: Any, vec: Any) -> Any:
    return m.matmul(input, vec)


@MV.derivative("input", keeps="vec")
def _(ctx: Any, grad: Tensor, vec: Tensor) -> Any:
    return grad.reshape(-1, 1) * conjugate(vec)


@MV.derivative("vec", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Any:
    return record(MV, (transposed(input), grad))


_MV = Out("addmv input tensors must have the same dtype, but got {Out}, {Result}, and {Result}")


@api("torch", "Tensor", out=_MV)
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Product of a matrix and a vector: (N, K) by (K) gives (N).

    >>> import flambeau as torch
    >>> torch.mv(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 1.]))
    tensor([3., 7.])
    """
    if input._geometry.dtype.category == INTEGER:
        _mv_geometry((input._geometry, vec._geometry), ())
        return _whole_sum(input * vec, 1)
    return record_pair(MV, input, vec)


def _whole_sum(products: Tensor, dim: int) -> Tensor:
    """The sum of whole products in their own type: a kernel of both, which the library of products lacks."""
    return products.sum(dim, dtype=products.dtype)


def _dot_geometry(operands: Any, attributes: Any) -> Geometry:
    a = require_tensor(operands[0], "dot", "input", 1)
    b = require_tensor(operands[1], "dot", "tensor", 2)
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {SCALAR_NAMES[a.dtype]} and "
            f"{SCALAR_NAMES[b.dtype]}"
        )
    if a.numel != b.numel:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.numel}] and src [{b.numel}] to have the same "
            f"number of elements, but got {a.numel} and {b.numel} elements respectively"
        )
    refuse_bool(a, "dot")
    return contiguous((), a.dtype, a.device)


@operator("dot", _dot_geometry, compute=operand_dtype)
def DOT(m: Any, input: Any, tensor: Any) -> Any:
    return m.dot(input, tensor)


@operator("vdot", _dot_geometry, compute=operand_dtype)
def VDOT(m: Any, input: Any, other: Any) -> Any:
    return m.vdot(input, other)


@DOT.derivative("input", keeps="tensor")
def _(ctx: Any, grad: Tensor, tensor: Tensor) -> Any:
    return grad * conjugate(tensor)


@DOT.derivative("tensor", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Any:
    return grad * conjugate(input)


@VDOT.derivative("input", keeps="other")
def _(ctx: Any, grad: Tensor, other: Tensor) -> Any:
    return conjugate(grad) * other


@VDOT.derivative("other", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Any:
    return grad * input


_DOT = Out("result dtype {Out} does not match input dtype {Result}")


@api("torch", "Tensor", out=_DOT)
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements.

    >>> import flambeau as torch
    >>> torch.dot(torch.tensor([2, 3]), torch.tensor([2, 1]))
    tensor(7)
    """
    if input._geometry.dtype.category == INTEGER:
        _dot_geometry((input._geometry, tensor._geometry), ())
        return _whole_sum(input * tensor, 0)
    return record_pair(DOT, input, tensor)


@api("torch", "Tensor", out=_DOT)
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The dot product with the first vector conjugated.

    >>> import flambeau as torch
    >>> torch.vdot(torch.tensor([1j]), torch.tensor([1j]))
    tensor(1.+0.j)
    """
    return record(VDOT if input.is_complex() else DOT, (input, other))
