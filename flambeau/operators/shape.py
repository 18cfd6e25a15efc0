"""Views and changes of shape: reshape, transpose, expand, slices and their kin cost nothing in the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..devices import META
from ..graph.geometry import Geometry, contiguous, dense_like
from ..graph.storage import Storage
from ..size import Size
from ..tensor import Tensor, check_dim, record, state, view, view_operator
from ..tensor.inplace import CONTIGUOUS
from .definition import operator
from .registry import api


def sizes_of(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Extents given as ``f(2, 3)`` or ``f((2, 3))``."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = tuple(args[0])
    return tuple(n if n.__class__ is int else int(n) for n in args)


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """Replace the one -1 in a shape; PyTorch's errors where the elements do not fit."""
    known, hole = 1, None
    for i, n in enumerate(shape):
        if n == -1:
            if hole is not None:
                raise RuntimeError("only one dimension can be inferred")
            hole = i
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n}")
        else:
            known *= n
    if hole is None:
        if known != numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple(shape)
    if known == 0:
        raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
                           "dimension size -1 can be any value and is ambiguous")
    if numel % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return (*shape[:hole], numel // known, *shape[hole + 1:])


def view_strides(g: Geometry, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Strides with which the elements of ``g`` can be seen in another shape, None where they cannot."""
    if g.numel == 0 or g.is_contiguous:
        strides = [1] * len(shape)
        for d in range(len(shape) - 2, -1, -1):
            strides[d] = strides[d + 1] * max(shape[d + 1], 1)
        return tuple(strides)
    # Runs of old dimensions that are contiguous among themselves; new dimensions must divide such runs.
    runs: list[list[int]] = []
    for n, s in zip(g.shape, g.strides):
        if n == 1:
            continue
        if runs and runs[-1][1] == n * s:
            runs[-1] = [runs[-1][0] * n, s]
        else:
            runs.append([n, s])
    strides = [0] * len(shape)
    run = len(runs) - 1
    left, step = runs[run] if runs else (1, 1)
    for d in range(len(shape) - 1, -1, -1):
        n = shape[d]
        if left == 1 and n != 1 and run > 0:
            run -= 1
            left, step = runs[run]
        strides[d] = step
        if n == 1:
            continue
        if left % n:
            return None
        left //= n
        step *= n
    return tuple(strides)


def _view_rule(g: Geometry, shape: tuple[int, ...]) -> Geometry:
    shape = infer_size(shape, g.numel)
    strides = view_strides(g, shape)
    if strides is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans "
                           "across two contiguous subspaces). Use .reshape(...) instead.")
    return g.with_view(shape, strides, g.offset)


VIEW = view_operator("view", _view_rule)
RESHAPE_ALIAS = view_operator("_reshape_alias", _view_rule, grad_name="ViewBackward0")


@VIEW.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return reshape(grad, ctx.operand_geometry(0).shape)


@RESHAPE_ALIAS.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return reshape(grad, ctx.operand_geometry(0).shape)


@api("torch", "Tensor")
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The elements in another shape: a view where possible, else a copy.

    >>> import flambeau as torch
    >>> torch.arange(6).reshape(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    wanted = sizes_of(shape)
    g = input._geometry
    if view_strides(g, infer_size(wanted, g.numel)) is None:
        input = clone_contiguous(input)
    return view(VIEW, input, (wanted,))


def clone_contiguous(input: Tensor) -> Tensor:
    """A contiguous copy."""
    return record(CLONE, (input,))


CLONE = operator("clone", lambda operands, attributes: contiguous(operands[0].shape, operands[0].dtype,
                                                                 operands[0].device))(lambda m, input: input)


@CLONE.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


def _transpose_rule(g: Geometry, dim0: int, dim1: int) -> Geometry:
    a, b = check_dim(dim0, g.ndim), check_dim(dim1, g.ndim)
    if g.ndim == 0:
        return g
    shape, strides = list(g.shape), list(g.strides)
    shape[a], shape[b] = shape[b], shape[a]
    strides[a], strides[b] = strides[b], strides[a]
    return g.with_view(shape, strides, g.offset)


TRANSPOSE = view_operator("transpose", _transpose_rule)
T = view_operator("t", lambda g: _transpose_rule(g, 0, 1) if g.ndim == 2 else g, grad_name="TBackward0")


@TRANSPOSE.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return view(TRANSPOSE, grad, ctx.attributes)


@T.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return view(T, grad)


@api("torch", "Tensor", aliases=("swapaxes", "swapdims"))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """The view with two dimensions exchanged."""
    return view(TRANSPOSE, input, (dim0, dim1))


@api("torch", "Tensor")
def t(input: Tensor) -> Tensor:
    """The transposed view of a matrix; vectors and scalars as they are."""
    if input._geometry.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return view(T, input)


def _expand_rule(g: Geometry, shape: tuple[int, ...]) -> Geometry:
    lead = len(shape) - g.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand({{{list(g.shape)}}}, size={list(shape)}): the number of sizes provided ({len(shape)}) must be greater "
            f"or equal to the number of dimensions in the tensor ({g.ndim})")
    sizes, strides = list(shape), [0] * len(shape)
    for d in range(len(shape)):
        if d < lead:
            if shape[d] < 0:
                raise RuntimeError(f"The expanded size of the tensor ({shape[d]}) isn't allowed in a leading, "
                                   f"non-existing dimension {d}")
            continue
        n, s = g.shape[d - lead], g.strides[d - lead]
        if shape[d] == -1 or shape[d] == n:
            sizes[d], strides[d] = n, s
        elif n != 1:
            raise RuntimeError(f"The expanded size of the tensor ({shape[d]}) must match the existing size ({n}) at "
                               f"non-singleton dimension {d}.  Target sizes: {list(shape)}.  Tensor sizes: {list(g.shape)}")
    return g.with_view(sizes, strides, g.offset)


EXPAND = view_operator("expand", _expand_rule)


@EXPAND.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad.sum_to_size(ctx.operand_geometry(0).shape)


@api("Tensor")
def expand(input: Tensor, *sizes: Any, implicit: bool = False) -> Tensor:
    """The view with dimensions of extent 1 repeated without copying."""
    return view(EXPAND, input, (sizes_of(sizes),))


@api("torch", "Tensor")
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with its own storage (free of cost until one of the two is written).

    >>> import flambeau as torch
    >>> x = torch.ones(2); y = x.clone(); _ = y.add_(1); x
    tensor([1., 1.])
    """
    g = input._geometry
    if g.device is META or not (g.is_dense and g.offset == 0 and g.numel == input._storage.geometry.numel
                                and g.dtype is input._storage.geometry.dtype) or input._storage.exposed:
        return record(CLONE, (input,)) if g.is_contiguous or not g.is_dense else record(CLONE_DENSE, (input,))
    out = object.__new__(Tensor)
    out._storage = Storage(input._storage.node, input._storage.geometry)
    out._geometry = g
    if state.enabled and input.requires_grad:
        from ..tensor.record import attach
        from ..tensor.views import Signature
        attach(CLONE, Signature(CLONE, (), (g,), (g,), True, None), (input,), (out,))
    if state.inference:
        out._inference = True
    return out


CLONE_DENSE = operator("clone", lambda operands, attributes: dense_like(operands[0].shape, operands[0],
                                                                       operands[0].dtype))(lambda m, input: input)
CLONE_DENSE.derivatives = CLONE.derivatives


@api("Tensor")
def contiguous_(input: Tensor, memory_format: Any = None) -> Tensor:
    """This tensor if it lies contiguously in memory, else a copy that does."""
    return input if input._geometry.is_contiguous else clone_contiguous(input)


Tensor.contiguous = contiguous_  # type: ignore[method-assign]


__all__ = ["CONTIGUOUS", "Size", "dtypes", "infer_size", "sizes_of"]
