"""Parts of a tensor as views: select, slice, narrow."""

from __future__ import annotations

from typing import Any

from ...dtypes import bool_
from ...graph.geometry import Geometry
from ...tensor import Tensor, check_dim, view, view_operator
from ...tensor.aliasing.views import makes_rows
from ..calls.arguments import whole
from ..declaration.registry import api
from .view_backward import gradient_is_embedded


def _select_rule(g: Geometry, dim: int, position: int) -> Geometry:
    if g.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = check_dim(dim, g.ndim)
    n = g.shape[d]
    if not -n <= position < n:
        raise IndexError(f"select(): index {position} out of range for tensor of size {list(g.shape)} at "
                         f"dimension {d}")
    if position < 0:
        position += n
    return g.at(d, position)


def _slice_rule(g: Geometry, dim: int, start: int | None, end: int | None, step: int) -> Geometry:
    if g.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    d = check_dim(dim, g.ndim)
    n = g.shape[d]
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    first, last, _ = slice(start, end, step).indices(n)
    length = max(0, -(-(last - first) // step))
    shape, strides = list(g.shape), list(g.strides)
    shape[d], strides[d] = length, strides[d] * step
    return g.with_view(shape, strides, g.offset + first * g.strides[d])


SELECT = makes_rows(gradient_is_embedded(view_operator("select", _select_rule, moves=True)))
SLICE = makes_rows(gradient_is_embedded(view_operator("slice", _slice_rule, moves=True)))


@api("torch", "Tensor")
def select(input: Tensor, dim: int, index: Any) -> Tensor:
    """The view at one position of a dimension, without that dimension.

    >>> import flambeau as torch
    >>> torch.arange(6).reshape(2, 3).select(1, -1)
    tensor([2, 5])
    """
    return view(SELECT, input, (dim if dim.__class__ is int else whole(dim),
                                index if index.__class__ is int else whole(index)))


def slice_of(input: Tensor, dim: int, start: int | None, end: int | None, step: int = 1) -> Tensor:
    """``input[..., start:end:step, ...]`` along ``dim``."""
    return view(SLICE, input, (dim, start, end, step))


@api("torch", "Tensor")
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """The view of ``length`` positions of a dimension from ``start``.

    >>> import flambeau as torch
    >>> torch.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    g = input._geometry
    if isinstance(start, Tensor):
        if start.ndim != 0 or not start.dtype.is_integral or start.dtype is bool_:
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = start.item()
    if g.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length.__class__ is not int or start.__class__ is not int:
        length, start = whole(length), whole(start)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    n = g.shape[check_dim(dim, g.ndim)]
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    if start < 0:
        start += n
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return view(SLICE, input, (dim, start, start + length, 1))


@api("torch", "Tensor", out=True, judge="first")
def narrow_copy(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A copy of ``narrow``'s view.

    >>> import flambeau as torch
    >>> torch.narrow_copy(torch.arange(4), 0, 1, 2)
    tensor([1, 2])
    """
    if dim >= input.ndim > 0:
        raise RuntimeError("Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got "
                           "false.  (Could this error message be improved?  If so, please report an "
                           "enhancement request to PyTorch.)")
    return narrow(input, dim, start, length).clone()
