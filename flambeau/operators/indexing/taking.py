"""Reading and writing a tensor as if it were flat: take and put."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...graph.geometry import contiguous
from ...tensor import Tensor, record, record_pair
from ..calls.out import Out
from ..declaration.definition import operator
from ..declaration.registry import api
from . import bounds

_NAMES = dtypes.SCALAR_NAMES


def _flat_message(numel: int) -> str:
    return f"out of range: tried to access index {{}} on a tensor of {numel} elements."


@operator(
    "take", lambda operands, attributes: contiguous(operands[1].shape, operands[0].dtype, operands[0].device)
)
def TAKE(m: Any, input: Any, index: Any) -> Any:
    bounds.require(index, -input.size, input.size, IndexError, _flat_message(input.size))
    return m.take(input.reshape(-1), index)


def _take_backward_kernel(m: Any, grad: Any, index: Any, shape: tuple[int, ...]) -> Any:
    count = 1
    for n in shape:
        count *= n
    return m.add_at((count,), (0,), [index.reshape(-1)], m.wide(grad).reshape(-1)).reshape(shape)


TAKE_BACKWARD = operator("take_backward", lambda operands, attributes: contiguous(
    attributes[0], operands[0].dtype, operands[0].device))(_take_backward_kernel)


@TAKE.derivative("input", keeps="index", holds="input")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return record_pair(TAKE_BACKWARD, grad, index, (ctx.operand_geometry(0).shape,))


@TAKE_BACKWARD.derivative("grad", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return record_pair(TAKE, grad, index)


_TAKEN = Out("take(): self and out expected to have the same dtype, but got self.dtype = {Result} and "
             "out.dtype = {Out}", apart=True)


@api("torch", "Tensor", out=_TAKEN)
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements of the flattened tensor.

    >>> import flambeau as torch
    >>> torch.tensor([[1, 2], [3, 4]]).take(torch.tensor([0, 3]))
    tensor([1, 4])
    """
    if index.dtype.name != "int64":
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {_NAMES[index.dtype]}")
    n = input.numel()
    if n == 0 and index.numel():
        raise IndexError("take(): tried to take from an empty tensor")
    bounds.check_index(index, -n, n, IndexError, _flat_message(n))
    return record_pair(TAKE, input, index)


@operator("put", lambda operands, attributes: contiguous(
    operands[0].shape, operands[0].dtype, operands[0].device), owns=(0,))
def PUT(m: Any, input: Any, index: Any, source: Any, accumulate: bool) -> Any:
    bounds.require(index, -input.size, input.size, IndexError, _flat_message(input.size))
    flat = m.array(input).reshape(-1)
    if accumulate:
        flat = m.add_at(flat.shape, (0,), [index.reshape(-1)], m.wide(source).reshape(-1), m.wide(flat))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    return flat.reshape(input.shape)


@PUT.derivative("input", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return grad if ctx.attributes[0] else put(grad, index, grad.new_zeros(index.shape))


@PUT.derivative("source", keeps="index", holds="source")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return take(grad, index).reshape(ctx.operand_geometry(2).shape)


@api("torch", "Tensor", inplace="apart", judge="first")
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """``input`` with ``source`` written (or added) at positions of the flattened tensor.

    >>> import flambeau as torch
    >>> torch.zeros(3).put(torch.tensor([0, 2]), torch.tensor([1., 2.]))
    tensor([1., 0., 2.])
    """
    if index.dtype.name != "int64":
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {_NAMES[index.dtype]}")
    if input.dtype is not source.dtype:
        raise RuntimeError(f"put_(): self and source expected to have the same dtype, but got self.dtype = "
                           f"{_NAMES[input.dtype]} and source.dtype = {_NAMES[source.dtype]}")
    if index.numel() != source.numel():
        raise IndexError("put_(): Expected source and index to have the same number of elements, but got "
                           "source.numel() = "
                           f"{source.numel()}, index.numel() = {index.numel()}")
    n = input.numel()
    if n == 0 and index.numel():
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    bounds.check_index(index, -n, n, IndexError, _flat_message(n))
    return record(PUT, (input, index, source), (bool(accumulate),))
