"""Changes of shape: view, reshape, flatten and their kin. They cost nothing in the graph."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from operator import index
from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry, contiguous, intern
from ...size import Size
from ...tensor import Tensor, check_dim, record_one, view, view_operator
from ...tensor.aliasing.turned import is_turned
from ...tensor.batching import BatchedTensor
from ..calls.complaints import complaint
from ..calls.extents import infer_size, sizes_of, view_strides
from ..creation.copying import clone_contiguous
from ..declaration.definition import operator
from ..declaration.registry import api


def _view_rule(g: Geometry, shape: tuple[int, ...]) -> Geometry:
    shape = infer_size(shape, g.numel)
    strides = view_strides(g, shape)
    if strides is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one "
                           "dimension spans across two contiguous subspaces). Use .reshape(...) instead.")
    return g.with_view(shape, strides, g.offset)


VIEW = view_operator("view", _view_rule, moves=True)
ALIAS = view_operator("alias", lambda g: g)


@VIEW.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return reshape(grad, ctx.operand_geometry(0).shape)


@ALIAS.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


UNSAFE_VIEW = operator("unsafe_view", lambda operands, attributes: _fresh(operands[0], attributes[0]))(
    lambda m, input, shape: m.reshape(input, shape))


def _fresh(g: Geometry, shape: tuple[int, ...]) -> Geometry:
    return contiguous(shape, g.dtype, g.device)


@UNSAFE_VIEW.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return reshape(grad, ctx.operand_geometry(0).shape)


@api("torch", "Tensor", judge="function")
def reshape(input: Tensor, *sizes: Any, shape: Any = None) -> Tensor:
    """The elements in another shape: a view where possible, else a copy.

    >>> import flambeau as torch
    >>> torch.arange(6).reshape(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    wanted = sizes_of(sizes, "reshape", "shape", shape)
    g = input._geometry
    if g.is_contiguous:
        return view(VIEW, input, (wanted,))
    full = infer_size(wanted, g.numel)
    if view_strides(g, full) is None:
        return record_one(UNSAFE_VIEW, input, (full,))
    return view(VIEW, input, (wanted,))


def _retype_rule(g: Geometry, dtype: Any) -> Geometry:
    have, want = g.dtype.itemsize, dtype.itemsize
    if have == want:
        return intern(g.shape, g.strides, g.offset, dtype, g.device)
    names = (
        f"to view {dtypes.SCALAR_NAMES[g.dtype]} as {dtypes.SCALAR_NAMES[dtype]} (different element sizes)"
    )
    if g.ndim == 0:
        raise RuntimeError(f"self.dim() cannot be 0 {names}")
    if g.shape[-1] * have % want:
        raise RuntimeError(f"self.size(-1) must be divisible by {want // have} {names}, but got "
                           f"{g.shape[-1]}")
    if g.strides[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {names}, but got {g.strides[-1]}")
    if have > want:
        ratio = have // want
        strides = (*[s * ratio for s in g.strides[:-1]], 1)
        return intern(Size((*g.shape[:-1], g.shape[-1] * ratio)), strides, g.offset * ratio, dtype, g.device)
    ratio = want // have
    if g.offset % ratio:
        raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} {names}, but got {g.offset}")
    for d, s in enumerate(g.strides[:-1]):
        if s % ratio:
            raise RuntimeError(f"self.stride({d}) must be divisible by {ratio} {names}, but got {s}")
    strides = (*[s // ratio for s in g.strides[:-1]], 1)
    return intern(Size((*g.shape[:-1], g.shape[-1] // ratio)), strides, g.offset // ratio, dtype, g.device)


RETYPE = view_operator("view_dtype", _retype_rule)


@api("Tensor", name="view", judge="never", as_is=("dtype",))
def view_method(self: Tensor, *shape: Any, dtype: Any = None, size: Any = None) -> Tensor:
    """The elements in another shape, or their bytes as another dtype, on the same storage.

    >>> import flambeau as torch
    >>> torch.arange(6).view(3, 2)
    tensor([[0, 1],
            [2, 3],
            [4, 5]])
    """
    if dtype is None and len(shape) == 1 and isinstance(shape[0], (dtypes.dtype, type)):
        dtype = shape[0]
    if dtype is not None:
        dtype = dtypes.given(dtype, "view")
        _refuse_turned(self)
        seen = view(ALIAS if dtype is self._geometry.dtype else RETYPE, self,
                    () if dtype is self._geometry.dtype else (dtype,))
        return seen if seen.__class__ is BatchedTensor else seen.detach()  # for gradients it is not a view
    try:
        return view(VIEW, self, (sizes_of(shape, "view", "size", size),))
    except (TypeError, RuntimeError):
        named = {} if size is None else {"size": size}
        if error := complaint(view_method, "Tensor", "view", (self, *shape), named):
            raise error from None
        raise


def _refuse_turned(x: Tensor) -> None:
    conjugates, negates = is_turned(x)
    if conjugates or negates:
        what = "conjugate view tensors" if conjugates else "tensors with negative bit set"
        raise RuntimeError(f"torch.Tensor.view is not supported for {what} when converting to a different "
                           "dtype.")


@api("Tensor")
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """The view in the shape of another tensor.

    >>> import flambeau as torch
    >>> torch.ones(2, 3).view_as(torch.ones(6)).shape
    torch.Size([6])
    """
    return view(VIEW, self, (other._geometry.shape,))


@api("Tensor")
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """``self`` in the shape of another tensor.

    >>> import flambeau as torch
    >>> torch.ones(2, 3).reshape_as(torch.ones(3, 2)).shape
    torch.Size([3, 2])
    """
    return reshape(self, other._geometry.shape)


@api("torch", "Tensor", judge="function")
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from ``start_dim`` to ``end_dim`` joined into one.

    >>> import flambeau as torch
    >>> torch.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """
    if not start_dim.__class__ is end_dim.__class__ is int:
        start_dim, end_dim = check_dim(start_dim, input.ndim), check_dim(end_dim, input.ndim)
    shape = _joined(input._geometry.shape, start_dim, end_dim)
    return input if shape is None else reshape(input, shape)


@lru_cache(maxsize=1024)
def _joined(shape: Size, start_dim: int, end_dim: int) -> tuple[int, ...] | None:
    """The shape with some dimensions joined; None where that changes nothing."""
    first, last = check_dim(start_dim, len(shape)), check_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return (1,)
    if first == last:
        return None
    return (*shape[:first], prod(shape[first:last + 1]), *shape[last + 1:])


@api("torch", "Tensor", as_is=("dim",))
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One dimension split into several: the inverse of ``flatten``.

    >>> import flambeau as torch
    >>> torch.zeros(2, 12).unflatten(1, (3, -1)).shape
    torch.Size([2, 3, 4])
    """
    g = input._geometry
    sizes = tuple([index(n) for n in sizes])
    d = check_dim(dim, g.ndim)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not g.ndim:
        raise RuntimeError("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no "
                           "dimensions")
    try:
        full = infer_size(sizes, g.shape[d])
    except RuntimeError as error:
        if "is invalid" not in str(error):
            raise
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim "
                           f"{d} ({g.shape[d]}) in the input tensor") from None
    return view_or_copy(input, (*g.shape[:d], *full, *g.shape[d + 1:]))


def view_or_copy(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """``input.view(shape)``."""
    return view(VIEW, input, (shape,))


@api("torch", "Tensor")
def ravel(input: Tensor) -> Tensor:
    """The elements in one dimension, contiguous.

    >>> import flambeau as torch
    >>> torch.ravel(torch.ones(2, 3)).shape
    torch.Size([6])
    """
    return reshape(input if input._geometry.is_contiguous else clone_contiguous(input), (-1,))
