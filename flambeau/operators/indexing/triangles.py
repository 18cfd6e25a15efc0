"""Triangles of matrices: tril, triu and the positions in them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ... import devices, dtypes
from ...tensor import Tensor, record_one
from ...tensor.construct import from_array
from ..calls.out import EXACT
from ..declaration.definition import contiguous_as_first, operator
from ..declaration.domain import not_implemented
from ..declaration.registry import api


def _kernel(m: Any, input: Any, diagonal: int, upper: bool) -> Any:
    rows, columns = input.shape[-2:]
    diagonal = max(-rows, min(diagonal, columns))
    column, at = m.arange(columns, dtype=m.int32), m.arange(diagonal, rows + diagonal, dtype=m.int32)[:, None]
    return m.where(column >= at if upper else column <= at, input, m.zeros((), input.dtype))


TRIL = operator("tril", contiguous_as_first)(_kernel)
TRIU = operator("triu", contiguous_as_first)(_kernel)


@TRIL.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return tril(grad, ctx.attributes[0])


@TRIU.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return triu(grad, ctx.attributes[0])


@api("torch", "Tensor", out=EXACT, inplace=True, judge="first")
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of (..., N, M), zeros above ``diagonal``.

    >>> import flambeau as torch
    >>> torch.tril(torch.ones(2, 3))
    tensor([[1., 0., 0.],
            [1., 1., 0.]])
    """
    if input.ndim < 2:
        raise RuntimeError("tril: input tensor must have at least 2 dimensions")
    return record_one(TRIL, input, (diagonal, False))


@api("torch", "Tensor", out=EXACT, inplace=True, judge="first")
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of (..., N, M), zeros below ``diagonal``.

    >>> import flambeau as torch
    >>> torch.triu(torch.ones(2, 3), 1)
    tensor([[0., 1., 1.],
            [0., 0., 1.]])
    """
    if input.ndim < 2:
        raise RuntimeError("triu: input tensor must have at least 2 dimensions")
    return record_one(TRIU, input, (diagonal, True))


def _positions(row: int, col: int, offset: int, upper: bool, dtype: Any, device: Any) -> Tensor:
    """Rows and columns of the elements of a triangle, row by row."""
    if row < 0 or col < 0:
        name, n = ("row", row) if row < 0 else ("col", col)
        raise RuntimeError(f"{name} must be non-negative, got{n}")
    if dtype not in (None, dtypes.int64, dtypes.int32):
        raise not_implemented("triu_indices" if upper else "tril_indices", dtype)
    places = _few_places if 0 < row * col <= _FEW else _places
    found = places(row, col, offset, upper, (dtype or dtypes.int64).numpy)
    return from_array(found.copy() if places is _few_places else found, device=devices.resolve(device))


def _places(row: int, col: int, offset: int, upper: bool, numpy_type: Any) -> Any:
    edges = np.clip(np.arange(row) + (offset if upper else offset + 1), 0, col)
    first, counts = (edges, col - edges) if upper else (np.zeros_like(edges), edges)
    ends = np.cumsum(counts)
    total = int(ends[-1]) if row else 0
    found = np.empty((2, total), numpy_type)
    found[0] = np.repeat(np.arange(row), counts)
    np.subtract(np.arange(total), np.repeat(ends - counts - first, counts), out=found[1], casting="unsafe")
    return found


_FEW = 1 << 12      # elements of a matrix that a model asks about again and again
_few_places = lru_cache(64)(_places)


@api("torch", judge="first")
def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """Rows and columns of a lower triangle, (2, K).

    >>> import flambeau as torch
    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _positions(row, col, offset, False, dtype, device)


@api("torch", judge="first")
def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """Rows and columns of an upper triangle, (2, K).

    >>> import flambeau as torch
    >>> torch.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return _positions(row, col, offset, True, dtype, device)
