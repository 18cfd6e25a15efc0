"""Reductions to truth values and counts: all, any, count_nonzero."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...graph.operator import Rows
from ...tensor import Tensor, record_one
from ..calls.axes import normalize_dims
from ..calls.out import Out
from ..declaration.definition import operator
from ..declaration.prices import per_element
from ..declaration.registry import api
from .reduction import reduction_geometry


@operator("all", reduction_geometry, rows=Rows(passes=1))
def ALL(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    return m.all(input, axis=dims, keepdims=keepdim)


@operator("any", reduction_geometry, rows=Rows(passes=1))
def ANY(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    return m.any(input, axis=dims, keepdims=keepdim)


def _truth(op: Any, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    g = input._geometry
    dtype = dtypes.uint8 if g.dtype is dtypes.uint8 else dtypes.bool_
    dims = normalize_dims(dim, g.ndim, keepdim)
    if dim.__class__ in (tuple, list) and not dim:
        dims = ()
    return record_one(op, input, (dims, keepdim, dtype))


_TRUTH = Out("{name} only supports bool tensor for result, got: {Out}", also=(dtypes.uint8,))


@api("torch", "Tensor", out=_TRUTH)
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether all elements are true (not zero), of the whole tensor or along dimensions.

    >>> import flambeau as torch
    >>> torch.all(torch.tensor([[True, False], [True, True]]), 1)
    tensor([False,  True])
    """
    return _truth(ALL, input, dim, keepdim)


@api("torch", "Tensor", out=_TRUTH)
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether any element is true (not zero), of the whole tensor or along dimensions.

    >>> import flambeau as torch
    >>> torch.any(torch.tensor([0, 2]))
    tensor(True)
    """
    return _truth(ANY, input, dim, keepdim)


@operator("count_nonzero", reduction_geometry, rows=Rows(passes=1), price=per_element(0.7))
def COUNT_NONZERO(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any) -> Any:
    return m.count_nonzero(input, axis=dims) if dims else input != 0


@api("torch", "Tensor", judge="first")
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements are not zero, in the whole tensor or along dimensions.

    >>> import flambeau as torch
    >>> torch.count_nonzero(torch.tensor([[0, 1], [2, 3]]), 0)
    tensor([1, 2])
    """
    dims = normalize_dims(dim, input._geometry.ndim)
    return record_one(COUNT_NONZERO, input, (dims, False, dtypes.int64))
