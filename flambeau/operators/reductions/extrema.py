"""Largest and smallest elements: max, min, amax, amin, aminmax, argmax, argmin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dtypes, return_types
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import OnStacks, Operator, Price, Rows
from ...tensor import Tensor, check_dim, record, record_one
from ..calls.axes import normalize_dims, reduced_shape
from ..calls.out import EXACT, Out
from ..declaration.definition import operand_dtype, operator
from ..declaration.registry import api
from .along import place
from .reduction import kept, reduction_geometry


def refuse_complex(g: Geometry, name: str) -> None:
    """Complex numbers have no order."""
    if g.dtype.is_complex:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.SCALAR_NAMES[g.dtype]}'")


def require_elements(shape: Any, dims: tuple[int, ...], name: str) -> None:
    """Extents that are reduced must not be zero."""
    for d in dims:
        if shape[d] == 0:
            raise IndexError(f"{name}: Expected reduction dim {d} to have non-zero size.")


def one_dim(input: Tensor, dim: int, name: str) -> int:
    """The dimension, counted from 0; its extent must not be zero."""
    g = input._geometry
    found = check_dim(dim, g.ndim)
    require_elements(g.shape, (found,) if g.ndim else (), name)
    return found


def unspecified(name: str, detail: str = " Specify the reduction dim with the 'dim' argument.") -> str:
    """The message where an empty tensor is reduced as a whole."""
    return f"{name}(): Expected reduction dim to be specified for input.numel() == 0.{detail}"


# --- whole tensors and several dimensions -------------------------------------------------------------------


def _maximum(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    return m.max(input, axis=dims, keepdims=keepdim)


def _minimum(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    return m.min(input, axis=dims, keepdims=keepdim)


def shared_evenly(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    """The gradient goes in equal parts to all elements that are extreme."""
    dims, keepdim, _ = ctx.attributes
    mask = input.eq(kept(output, dims, keepdim, input.shape))
    count = mask.sum(dims, True) if dims else 1
    return mask * (kept(grad, dims, keepdim, input.shape) / count)


def shared_evenly_by_all(ctx: Any, grad: Tensor, input: Tensor, output: Tensor) -> Tensor:
    """The same of a whole tensor; the others' gradients are 0, whatever comes."""
    mask = input.eq(output) | (output.ne(output) & input.ne(input))     # NaN is extreme, too
    return (grad / mask.sum()).masked_fill(~mask, 0)


def _extremum(name: str, kernel: Callable[..., Any], grad_name: str,
              gradient: Callable[..., Any]) -> Operator:
    op = operator(name, reduction_geometry, compute=operand_dtype, grad_name=grad_name,
                  rows=Rows(passes=1))(kernel)
    op.derivative("input", keeps="input output")(gradient)
    return op


AMAX = _extremum("amax", _maximum, "AmaxBackward0", shared_evenly)
AMIN = _extremum("amin", _minimum, "AminBackward0", shared_evenly)
MAX = _extremum("max", _maximum, "MaxBackward1", shared_evenly_by_all)
MIN = _extremum("min", _minimum, "MinBackward1", shared_evenly_by_all)
MAX.on_stacks = MIN.on_stacks = OnStacks(dims=0, reduces=True)


def _several(op: Operator, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    g = input._geometry
    refuse_complex(g, "max_values_cpu" if op is AMAX else "min_values_cpu")
    if not g.numel and (dim is None or dim == ()):
        raise RuntimeError(unspecified(op.name))
    dims = normalize_dims(dim, g.ndim, keepdim)
    if not g.numel:
        require_elements(g.shape, dims, f"{op.name}()")
    return record_one(op, input, (dims, keepdim, g.dtype))


_MATCHING = Out("Expected the dtype for input and out to match, but got {Result} for input's dtype and {Out} "
                "for out's dtype.")


@api("torch", "Tensor", out=_MATCHING)
def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The largest elements over one or more dimensions; equal ones share the gradient.

    >>> import flambeau as torch
    >>> torch.amax(torch.tensor([[1, 5], [3, 2]]), 1)
    tensor([5, 3])
    """
    return _several(AMAX, input, dim, keepdim)


@api("torch", "Tensor", out=_MATCHING)
def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The smallest elements over one or more dimensions; equal ones share the gradient.

    >>> import flambeau as torch
    >>> torch.amin(torch.tensor([[1, 5], [3, 2]]), 1)
    tensor([1, 2])
    """
    return _several(AMIN, input, dim, keepdim)


# --- one dimension, with indices ----------------------------------------------------------------------------


def indexed_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    """Values and their indices (attributes: dim, keepdim)."""
    g = operands[0]
    dim, keepdim = attributes[:2]
    shape = reduced_shape(g.shape, (dim,) if g.ndim else (), keepdim)
    return contiguous(shape, g.dtype, g.device), contiguous(shape, dtypes.int64, g.device)


def _indexed(find: str) -> Callable[..., Any]:
    def kernel(m: Any, input: Any, dim: int, keepdim: bool) -> Any:
        if not input.ndim:
            return input, m.int64(0)
        return getattr(m, find)(input, dim, keepdim)

    return kernel


def selected_gradient(ctx: Any, grads: Any, indices: Tensor) -> Any:
    """The gradient goes to the elements that were chosen (attributes: dim, keepdim)."""
    dim, keepdim = ctx.attributes[:2]
    grad, shape = grads[0], ctx.operand_geometry(0).shape
    if grad is None:
        return None
    dims = (dim,)
    return place(kept(grad, dims, keepdim, shape), kept(indices, dims, keepdim, shape), shape, dim)


def indexed_operator(name: str, kernel: Callable[..., Any], infer: Any = indexed_geometry,
                     rows: Rows | None = None, price: Price | None = None, grad_name: str = "") -> Operator:
    """An operator that chooses elements along a dimension and gives (values, indices)."""
    op = operator(name, infer, compute=operand_dtype, non_differentiable_outputs=(1,), rows=rows,
                  price=price, grad_name=grad_name)(kernel)
    op.derivative("input", keeps="output1")(selected_gradient)
    return op


MAX_DIM = indexed_operator("max", _indexed("max_along"), rows=Rows(passes=2))
MIN_DIM = indexed_operator("min", _indexed("min_along"), rows=Rows(passes=2))


_ABSENT: Any = object()     # None is no dimension


def _one_or_all(
    name: str, whole: Operator, along: Operator, input: Tensor, dim: Any, keepdim: bool, other: Any
) -> Any:
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    g = input._geometry
    if dim is _ABSENT and other is None:
        if not g.numel:
            raise RuntimeError(unspecified(name))
        refuse_complex(g, f"{name}_all")
        return record_one(whole, input, (normalize_dims(None, g.ndim), False, g.dtype))
    if isinstance(dim, Tensor) or other is not None:
        if keepdim.__class__ is not bool or keepdim:
            raise TypeError("keepdim without dim")
        return getattr(input, name + "imum")(dim if other is None else other)
    if not hasattr(dim, "__index__") or keepdim.__class__ is not bool:
        raise TypeError("dim must be int and keepdim bool")
    if g.dtype.is_complex:
        raise RuntimeError(f"{name}(): does not support complex input")
    found = one_dim(input, dim, f"{name}()")
    return return_types.made(name, record(along, (input,), (found, keepdim)))


_WITH_INDICES = Out(several=EXACT.wrong_type, apart="pointwise")


@api("torch", "Tensor", out=_WITH_INDICES)
def max(input: Tensor, dim: Any = _ABSENT, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest element, the largest ones along ``dim`` with their indices, or the larger ones of two
    tensors.

    >>> import flambeau as torch
    >>> torch.max(torch.tensor([[1, 5], [3, 2]]), 1)
    torch.return_types.max(
    values=tensor([5, 3]),
    indices=tensor([1, 0]))
    """
    return _one_or_all("max", MAX, MAX_DIM, input, dim, keepdim, other)


@api("torch", "Tensor", out=_WITH_INDICES)
def min(input: Tensor, dim: Any = _ABSENT, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest element, the smallest ones along ``dim`` with their indices, or the smaller ones of two
    tensors.

    >>> import flambeau as torch
    >>> torch.min(torch.tensor([3, 1, 2]))
    tensor(1)
    """
    return _one_or_all("min", MIN, MIN_DIM, input, dim, keepdim, other)


# --- indices alone ------------------------------------------------------------------------------------------


def _index_geometry(operands: Any, attributes: Any) -> Geometry:
    g = operands[0]
    dim, keepdim = attributes
    dims = tuple(range(g.ndim)) if dim is None else (dim,) if g.ndim else ()
    return contiguous(reduced_shape(g.shape, dims, keepdim), dtypes.int64, g.device)


def _index_kernel(find: str) -> Callable[..., Any]:
    def kernel(m: Any, input: Any, dim: int | None, keepdim: bool) -> Any:
        return getattr(m, find)(input, axis=dim if input.ndim else None, keepdims=keepdim)

    return kernel


def _index_operator(name: str) -> Operator:
    return operator(name, _index_geometry, compute=operand_dtype,
                    rows=Rows(passes=2, counts=True))(_index_kernel(name))


ARGMAX = _index_operator("argmax")
ARGMIN = _index_operator("argmin")


def _index(op: Operator, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    g = input._geometry
    if g.dtype.is_complex or g.dtype.category == dtypes.BOOL:
        raise RuntimeError(
            f"{op.name}(): does not support {'complex' if g.dtype.is_complex else 'bool'} input"
        )
    if dim is None:
        if not g.numel:
            raise IndexError(unspecified(op.name, ""))
    else:
        dim = one_dim(input, dim, f"{op.name}()")
    return record_one(op, input, (dim, keepdim))


@api("torch", "Tensor", out=EXACT, judge="first")
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the largest element (the first of equal ones), in the flattened tensor or along ``dim``.

    >>> import flambeau as torch
    >>> torch.argmax(torch.tensor([[1, 5], [3, 2]]), 1)
    tensor([1, 0])
    """
    return _index(ARGMAX, input, dim, keepdim)


@api("torch", "Tensor", out=EXACT, judge="first")
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the smallest element (the first of equal ones), in the flattened tensor or along ``dim``.

    >>> import flambeau as torch
    >>> torch.argmin(torch.tensor([3., 1., 1.]))
    tensor(1)
    """
    return _index(ARGMIN, input, dim, keepdim)


# --- both ---------------------------------------------------------------------------------------------------


def _aminmax_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    one = reduction_geometry(operands, attributes)
    return one, one


@operator("aminmax", _aminmax_geometry, compute=operand_dtype, rows=Rows(passes=1))
def AMINMAX(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    return m.min(input, axis=dims, keepdims=keepdim), m.max(input, axis=dims, keepdims=keepdim)


@AMINMAX.derivative("input", keeps="input output output1")
def _(ctx: Any, grads: Any, input: Tensor, low: Tensor, high: Tensor) -> Any:
    parts = [
        shared_evenly(ctx, grad, input, output)
        for grad, output in zip(grads, (low, high))
        if grad is not None
    ]
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@api("torch", "Tensor", out=EXACT, judge="first")
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest elements, of all or along ``dim``.

    >>> import flambeau as torch
    >>> torch.aminmax(torch.tensor([1, 3, 5]))
    torch.return_types.aminmax(
    min=tensor(1),
    max=tensor(5))
    """
    g = input._geometry
    if dim is None:
        if not g.numel:
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
            )
    else:
        one_dim(input, dim, "aminmax")
    refuse_complex(g, "aminmax_cpu" if dim is not None else "aminmax_all_cpu")
    dims = normalize_dims(dim, g.ndim, keepdim)
    return return_types.made("aminmax", record(AMINMAX, (input,), (dims, keepdim, g.dtype)))
