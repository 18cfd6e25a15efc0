"""Tensors joined: cat, stack and their kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...config import settings
from ...engine.look import values_read
from ...graph.geometry import Geometry, contiguous, intern
from ...size import Size
from ...tensor import Tensor, check_dim, record, record_pair, view
from ...tensor.recording import casting as autocasts
from ...tensor.samples.stacking import join_tensors, joins, stack_rows
from ...tensor.tape import state
from ..calls.extents import view_strides
from ..calls.out import Out
from ..creation.casting import cast
from ..creation.memory_formats import channels_last, result_geometry, suggests_last
from ..declaration.definition import operator, result_dtype
from ..declaration.registry import api
from .expanding import atleast_1d, atleast_2d, atleast_3d
from .slicing import SELECT, SLICE


def _cat_geometry(operands: Sequence[Geometry], attributes: Any) -> Geometry:
    dim, _ = attributes
    first = operands[0]
    total = 0
    for i, g in enumerate(operands):
        if g.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {g.ndim}")
        for d, (n, expected) in enumerate(zip(g.shape, first.shape)):
            if d != dim and n != expected:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}. Expected size "
                                   f"{expected} but got size {n} for tensor number {i} in the list.")
        total += g.shape[dim]
    shape = (*first.shape[:dim], total, *first.shape[dim + 1:])
    return result_geometry(shape, all(map(suggests_last, operands)), result_dtype(operands), first.device)


def _cat_kernel(m: Any, arrays: list[Any], dim: int, dtype: Any) -> Any:
    return m.concatenate(arrays if dtype is None else [m.cast(a, dtype.numpy) for a in arrays], dim)


def _stack_kernel(m: Any, arrays: list[Any], dim: int, dtype: Any) -> Any:
    return m.stack(arrays if dtype is None else [m.cast(a, dtype.numpy) for a in arrays], dim)


def _stack_geometry(operands: Sequence[Geometry], attributes: Any) -> Geometry:
    dim, _ = attributes
    first = operands[0]
    for i, g in enumerate(operands):
        if g.shape != first.shape:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first.shape)} at "
                               f"entry 0 and {list(g.shape)} at entry {i}")
    shape, dtype = (*first.shape[:dim], len(operands), *first.shape[dim:]), result_dtype(operands)
    if dim == first.ndim or not all(map(suggests_last, operands)):
        return contiguous(shape, dtype, first.device)
    joined = (*first.shape[:dim], len(operands) * first.shape[dim], *first.shape[dim + 1:])
    strides = view_strides(channels_last(joined, dtype, first.device), shape)   # of what cat gives
    assert strides is not None
    return intern(Size(shape), strides, 0, dtype, first.device)


CAT = operator("cat", _cat_geometry, kind="variadic")(_cat_kernel)
STACK = operator("stack", _stack_geometry, kind="variadic")(_stack_kernel)
joins.update({CAT: join_tensors, STACK: stack_rows})


def _part(grad: Tensor, g: Geometry) -> Tensor:
    """A part of the gradient in its operand's dtype."""
    if g.dtype is grad._geometry.dtype:
        return grad
    return cast(grad.real if grad.is_complex() and not g.dtype.is_complex else grad, g.dtype)


@CAT.derivative_of_all
def _(ctx: Any, grad: Tensor) -> list[Any]:
    dim = ctx.attributes[0]
    grads: list[Any] = []
    start = 0
    for i, needed in enumerate(ctx.needs):
        g = ctx.operand_geometry(i)
        end = start + g.shape[dim]
        grads.append(_part(view(SLICE, grad, (dim, start, end, 1)), g) if needed else None)
        start = end
    return grads


@STACK.derivative_of_all
def _(ctx: Any, grad: Tensor) -> list[Any]:
    dim = ctx.attributes[0]
    return [_part(view(SELECT, grad, (dim, i)), ctx.operand_geometry(i)) if needed else None
            for i, needed in enumerate(ctx.needs)]


def _c_name(kind: type) -> str:
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def _tensor_list(tensors: Any, name: str) -> list[Tensor]:
    if isinstance(tensors, Tensor):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    tensors = list(tensors)
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {_c_name(type(x))}")
    return tensors


def _common(tensors: list[Tensor]) -> Any:
    """The dtype to convert to, None where all tensors have it."""
    first = tensors[0]._geometry.dtype
    for x in tensors:
        if x._geometry.dtype is not first:
            return result_dtype([y._geometry for y in tensors])
    return None


def _need_nothing(tensors: Any) -> bool:
    """Whether these are tensors of one dtype that have dimensions and elements, as nearly always."""
    dtype = None
    for x in tensors:
        if x.__class__ is not Tensor and not isinstance(x, Tensor):
            return False
        g = x._geometry
        if (g.dtype is not dtype and dtype is not None) or not g.numel or not g.ndim:
            return False
        dtype = g.dtype
    return dtype is not None


_MANY = 8           # tensors
_SMALL = 1 << 15    # numbers in them, if they are alike


def _at_once(join: Callable[[Any], Tensor | None], tensors: Sequence[Tensor]) -> Tensor | None:
    """Many small tensors whose values are known, joined now; None for others (Note: known values).

    Samples from a replay buffer, say: which of them are one tensor differs each time, and so would the graph.
    """
    first = tensors[0]._geometry
    if state.at_once or settings.eager or first.numel * len(tensors) > _SMALL or suggests_last(first):
        return None
    joined = join(tensors)
    if joined is not None:
        values_read[0] += 1
    return joined


def _samples(tensors: Any) -> Tensor | None:
    """The samples of a batch joined; None where there is more to it."""
    if tensors.__class__ is not list or len(tensors) < _MANY or tensors[0].__class__ is not Tensor \
            or not tensors[0]._geometry.is_contiguous or not tensors[0]._geometry.ndim or autocasts.used:
        return None
    return join_tensors(tensors)


_JOINED = Out(joins=True)


def _shortly(function: Callable[..., Any]) -> Callable[..., Any]:
    """``cat`` of tensors and a dimension, which may be named (Note: hot functions)."""
    def short(*args: Any, **kwargs: Any) -> Any:
        count = len(args)
        if (count in (1, 2) and not kwargs) or (count == 1 and len(kwargs) == 1 and "dim" in kwargs):
            tensors, dim = args[0], kwargs["dim"] if kwargs else args[1] if count == 2 else 0
            if dim.__class__ is int and (tensors.__class__ is list or tensors.__class__ is tuple) \
                    and 1 < len(tensors) < _MANY and not state.at_once and _need_nothing(tensors) \
                    and -(ndim := tensors[0]._geometry.ndim) <= dim < ndim:
                if len(tensors) == 2:
                    return record_pair(CAT, tensors[0], tensors[1], (dim % ndim, None))
                return record(CAT, tensors, (dim % ndim, None))
        return function(*args, **kwargs)
    return short


@api("torch", out=_JOINED.but_apart(), aliases=("concat", "concatenate"), shorten=_shortly)
def cat(tensors: Any, dim: Any = 0, *, axis: Any = None) -> Tensor:
    """Tensors joined along a dimension that they have; dtypes are promoted.

    >>> import flambeau as torch
    >>> torch.cat([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """
    if axis is not None:
        dim = axis
    if state.at_once and dim.__class__ is int and dim == 0 and (joined := _samples(tensors)) is not None:
        return joined
    if tensors.__class__ in (list, tuple) and _need_nothing(tensors):
        d = check_dim(dim, tensors[0]._geometry.ndim)
        if d == 0 and len(tensors) >= _MANY and (joined := _at_once(join_tensors, tensors)) is not None:
            return joined
        if len(tensors) == 2:
            return record_pair(CAT, tensors[0], tensors[1], (d, None))
        return record(CAT, tensors, (d, None))
    tensors = _tensor_list(tensors, "cat")
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    dtype = _common(tensors)
    for i, x in enumerate(tensors):
        if x._geometry.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    # What has no elements is of any rank, by tradition.
    parts = [x for x in tensors if x._geometry.shape != (0,)] or tensors[:1]
    d = check_dim(dim, parts[0]._geometry.ndim)
    if len(parts) < len(tensors) and state.enabled:
        parts = _with_history(tensors, parts[0]._geometry.shape, d)
    if dtype is not None:
        parts = [cast(x, dtype) for x in parts]
    return record(CAT, parts, (d, None))


def _with_history(tensors: list[Tensor], shape: tuple[int, ...], dim: int) -> list[Tensor]:
    """What ``cat`` joins: of shape (0,), only what gradients are for, in the rank of the others."""
    none = (*shape[:dim], 0, *shape[dim + 1:])
    return [x.reshape(none) if x._geometry.shape == (0,) != none else x for x in tensors
            if x._geometry.shape != (0,) or x._requires_grad] or tensors[:1]


@api("torch", out=_JOINED.but_apart())
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new dimension.

    >>> import flambeau as torch
    >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])], 1)
    tensor([[1, 3],
            [2, 4]])
    """
    if tensors.__class__ in (list, tuple) and len(tensors) == 2 and _need_nothing(tensors):
        return record_pair(STACK, tensors[0], tensors[1],
                           (check_dim(dim, tensors[0]._geometry.ndim + 1), None))
    tensors = _tensor_list(tensors, "stack")
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    d = check_dim(dim, tensors[0]._geometry.ndim + 1)
    if d == 0 and len(tensors) >= _MANY and (stacked := _at_once(stack_rows, tensors)) is not None:
        return stacked
    return record(STACK, tensors, (d, _common(tensors)))


def _nonempty(tensors: Any, name: str) -> list[Tensor]:
    tensors = _tensor_list(tensors, name)
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tensors


@api("torch", out=_JOINED.but_apart())
def hstack(tensors: Any) -> Tensor:
    """Tensors joined side by side: along the columns, vectors end to end.

    >>> import flambeau as torch
    >>> torch.hstack([torch.tensor([1]), torch.tensor([2, 3])])
    tensor([1, 2, 3])
    """
    parts = [atleast_1d(x) for x in _nonempty(tensors, "hstack")]
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


@api("torch", out=_JOINED.but_apart(), aliases=("row_stack",))
def vstack(tensors: Any) -> Tensor:
    """Tensors joined one above the other, vectors as rows.

    >>> import flambeau as torch
    >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return cat([atleast_2d(x) for x in _nonempty(tensors, "vstack")], 0)


@api("torch", out=_JOINED.but_apart())
def dstack(tensors: Any) -> Tensor:
    """Tensors joined along the third dimension.

    >>> import flambeau as torch
    >>> torch.dstack((torch.tensor([1, 2]), torch.tensor([3, 4])))
    tensor([[[1, 3],
             [2, 4]]])
    """
    return cat([atleast_3d(x) for x in _nonempty(tensors, "dstack")], 2)


@api("torch", out=_JOINED.but_apart())
def column_stack(tensors: Any) -> Tensor:
    """Vectors as the columns of a matrix, matrices side by side.

    >>> import flambeau as torch
    >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 3],
            [2, 4]])
    """
    parts = _nonempty(tensors, "column_stack")
    return hstack([x.reshape(x.numel(), 1) if x.ndim < 2 else x for x in parts])
