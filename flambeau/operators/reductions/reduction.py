"""Sums and products over some or all dimensions: sum, mean, prod, nansum, nanmean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import OnStacks, Operator, Rows
from ...tensor import Tensor, record_one
from ..calls.axes import EVERY, normalize_dims, reduced_shape, require_dims
from ..calls.extents import sizes_of
from ..declaration.definition import arithmetic_dtype, operand_dtype, operator
from ..declaration.registry import api

_DTYPE = ", torch.dtype dtype = None"


def reduction_geometry(operands: Any, attributes: Any) -> Geometry:
    """The result of reducing ``dims`` (attributes: dims, keepdim, dtype)."""
    g = operands[0]
    dims, keepdim, dtype = attributes
    return contiguous(reduced_shape(g.shape, dims, keepdim), dtype, g.device)


def count_of(shape: Any, dims: tuple[int, ...]) -> int:
    """How many elements are reduced to one."""
    count = 1
    for d in dims:
        count *= shape[d]
    return count


def spread(grad: Tensor, dims: tuple[int, ...], keepdim: bool, shape: Any) -> Tensor:
    """A reduction's gradient, repeated along the reduced dimensions."""
    if not keepdim and len(shape):
        grad = grad.reshape(reduced_shape(shape, dims, True))
    return grad.expand(shape)


def kept(x: Tensor, dims: tuple[int, ...], keepdim: bool, shape: Any) -> Tensor:
    """A reduction's result with the reduced dimensions as extents of 1, to be broadcast against its
    operand."""
    return x if keepdim or not len(shape) else x.reshape(reduced_shape(shape, dims, True))


def require_tensor_input(input: Any, function: str) -> None:
    """Refuse what is not a tensor."""
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{function}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )


def converted(input: Tensor, dtype: dtypes.dtype) -> Tensor:
    """The operand in the type asked for, where accumulating in that type alone would not do (float to
    integer)."""
    if dtype.category >= input._geometry.dtype.category:
        return input
    if input.requires_grad and dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"Autograd not support dtype: {dtypes.SCALAR_NAMES[dtype]}")
    return input.to(dtype)


def shortly(whole: Operator, along: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A short way to reduce floating-point numbers over all dimensions, or one (Note: hot functions)."""
    def shorten(function: Callable[..., Any]) -> Callable[..., Any]:
        def short(*args: Any, **kwargs: Any) -> Any:
            count = len(args)
            if count and (x := args[0]).__class__ is Tensor:
                g = x._geometry
                dtype, ndim = g.dtype, g.ndim
                if dtype.category >= dtypes.FLOATING:
                    if count == 1 and not kwargs:
                        return record_one(whole, x, (EVERY[ndim], False, dtype))
                    dim, keepdim = args[1] if count > 1 else kwargs.get("dim"), kwargs.get("keepdim", False)
                    if dim.__class__ is int and -ndim <= dim < ndim and keepdim.__class__ is bool \
                            and count + len(kwargs) == 2 + ("keepdim" in kwargs):
                        return record_one(along, x, ((dim % ndim,), keepdim, dtype))
            return function(*args, **kwargs)
        return short
    return shorten


# --- sum ----------------------------------------------------------------------------------------------------


def _sum_kernel(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    if dtype is dtypes.bool_:
        return m.any(input, axis=dims, keepdims=keepdim)
    return m.sum(input, axis=dims, keepdims=keepdim, dtype=arithmetic_dtype(dtype).numpy)


def _sum_gradient(ctx: Any, grad: Tensor) -> Tensor:
    dims, keepdim, _ = ctx.attributes
    return spread(grad, dims, keepdim, ctx.operand_geometry(0).shape)


def _sum_operator(grad_name: str) -> Operator:
    op = operator("sum", reduction_geometry, compute=operand_dtype, grad_name=grad_name,
                  rows=Rows(passes=1))(_sum_kernel)
    op.derivative("input")(_sum_gradient)
    op.on_stacks = OnStacks(dims=0, reduces=True)
    return op


SUM = _sum_operator("SumBackward0")
SUM_DIM = _sum_operator("SumBackward1")


@api("torch", "Tensor", out=True, shorten=shortly(SUM, SUM_DIM))
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over ``dim`` (all dimensions by default); integers are summed as int64.

    >>> import flambeau as torch
    >>> torch.sum(torch.ones(2, 3), 1)
    tensor([3., 3.])
    """
    if input.__class__ is not Tensor:
        require_tensor_input(input, "sum")
    if dim is not None:
        require_dims("sum", dim, _DTYPE)
    g = input._geometry
    if dtype is None:
        dtype = dtypes.int64 if g.dtype.category < dtypes.FLOATING else g.dtype
    elif dtype is not g.dtype:
        input = converted(input, dtype)
    return record_one(SUM if dim is None else SUM_DIM, input,
                      (normalize_dims(dim, g.ndim, keepdim), keepdim, dtype))


def unbroadcast(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The sum over what was repeated to broadcast ``shape``: ``sum_to_size`` for derivatives."""
    g = grad._geometry
    lead = g.ndim - len(shape)
    if lead > 0 and g.dtype.category >= dtypes.FLOATING and g.shape[lead:] == shape:
        return record_one(SUM_DIM, grad, (tuple(range(lead)), False, g.dtype))
    return sum_to_size(grad, shape)


@api("Tensor", judge="first")
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sum over the dimensions along which ``size`` was broadcast to this shape.

    >>> import flambeau as torch
    >>> torch.ones(2, 3).sum_to_size(2, 1)
    tensor([[3.],
            [3.]])
    """
    shape = sizes_of(size)
    g = input._geometry
    if g.shape == shape:
        return input
    dtype = dtypes.int64 if g.dtype.category < dtypes.FLOATING else g.dtype
    lead = g.ndim - len(shape)
    if lead < 0 or any(n != 1 and n != g.shape[lead + d] for d, n in enumerate(shape)):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(g.shape)}}}.")
    dims = tuple(range(lead)) + tuple(
        lead + d for d, n in enumerate(shape) if n == 1 and g.shape[lead + d] != 1
    )
    summed: Tensor = record_one(SUM_DIM, input, (dims, True, dtype))
    return summed.reshape(shape)


# --- mean ---------------------------------------------------------------------------------------------------


def _mean_kernel(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    total = m.sum(input, axis=dims, keepdims=keepdim, dtype=arithmetic_dtype(dtype).numpy)
    return m.true_divide(total, m.count_of(input, dims), dtype=arithmetic_dtype(dtype).numpy)


def mean_gradient(ctx: Any, grad: Tensor) -> Tensor:
    dims, keepdim, _ = ctx.attributes
    shape = ctx.operand_geometry(0).shape
    return spread(grad / max(count_of(shape, dims), 1), dims, keepdim, shape)


def _mean_operator(grad_name: str) -> Operator:
    op = operator("mean", reduction_geometry, compute=operand_dtype, grad_name=grad_name,
                  rows=Rows(passes=1))(_mean_kernel)
    op.derivative("input")(mean_gradient)
    op.on_stacks = OnStacks(dims=0, reduces=True)
    return op


MEAN = _mean_operator("MeanBackward0")
MEAN_DIM = _mean_operator("MeanBackward1")


def mean_dtype(input: Tensor, dtype: Any) -> Any:
    """The floating type of a mean; PyTorch's error where there is none."""
    found = dtype or input._geometry.dtype
    if found.category < dtypes.FLOATING:
        kind = "Input" if dtype is None else "Optional"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {kind} dtype must be either a floating point or complex "
            f"dtype. Got: {dtypes.SCALAR_NAMES[found]}"
        )
    return found


@api("torch", "Tensor", out=True, shorten=shortly(MEAN, MEAN_DIM))
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over ``dim`` (all dimensions by default) of floating-point numbers.

    >>> import flambeau as torch
    >>> torch.mean(torch.tensor([1., 2., 6.]))
    tensor(3.)
    """
    require_tensor_input(input, "mean")
    require_dims("mean", dim, _DTYPE)
    found = mean_dtype(input, dtype)
    if dtype is not None:
        input = converted(input, dtype)
    return record_one(MEAN if dim is None else MEAN_DIM, input,
                      (normalize_dims(dim, input._geometry.ndim, keepdim), keepdim, found))


# --- without NaN --------------------------------------------------------------------------------------------


@operator("nansum", reduction_geometry, compute=operand_dtype, rows=Rows(passes=1))
def NANSUM(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    return m.sum(
        m.where(m.isnan(input), input.dtype.type(0), input),
        axis=dims,
        keepdims=keepdim,
        dtype=arithmetic_dtype(dtype).numpy,
    )


@NANSUM.derivative("input", keeps="input")
def _(ctx: Any, grad: Tensor, input: Tensor) -> Tensor:
    dims, keepdim, _ = ctx.attributes
    return spread(grad, dims, keepdim, input.shape) * input.isnan().logical_not()


@api("torch", "Tensor", out=True, judge="first")
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum, with NaN counted as zero.

    >>> import flambeau as torch
    >>> torch.nansum(torch.tensor([1., torch.nan, 2.]))
    tensor(3.)
    """
    g = input._geometry
    if g.dtype.is_complex:
        raise RuntimeError("nansum on CPU does not support complex inputs")
    if g.dtype.category < dtypes.FLOATING:
        return sum(input, dim, keepdim, dtype=dtype)
    found = dtype or g.dtype
    if dtype is not None:
        input = converted(input, dtype)
    return record_one(NANSUM, input, (normalize_dims(dim, g.ndim, keepdim), keepdim, found))


@api("torch", "Tensor", out=True, judge="first")
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of the elements that are not NaN.

    >>> import flambeau as torch
    >>> torch.nanmean(torch.tensor([1., torch.nan, 2.]))
    tensor(1.5000)
    """
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got "
            f"{dtypes.SCALAR_NAMES[input.dtype]}"
        )
    count = sum(input.isnan().logical_not(), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count
