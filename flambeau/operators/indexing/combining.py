"""Tensors built from several others: block_diag, meshgrid, cartesian_prod, combinations, vander."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...dtypes import FLOATING, int64
from ...tensor import Tensor
from ...tensor.construct import from_array
from ...tensor.warned import warn_once
from ..calls.arguments import type_in_words
from ..calls.extents import type_in_checks
from ..creation.creation import zeros
from ..declaration.definition import result_dtype
from ..declaration.registry import api
from ..shapes.expanding import atleast_2d
from ..shapes.joining import cat, stack
from .padding import constant_pad_nd


@api("torch")
def block_diag(*tensors: Any) -> Tensor:
    """Matrices (vectors as rows) along the diagonal of a matrix of zeros.

    >>> import flambeau as torch
    >>> torch.block_diag(torch.tensor([[1]]), torch.tensor([[2, 3]]))
    tensor([[1, 0, 0],
            [0, 2, 3]])
    """
    if not tensors:
        return zeros(1, 0)
    for i, x in enumerate(tensors):
        if x.ndim > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} "
                               f"has {x.ndim} dimensions")
    dtype = result_dtype([x._geometry for x in tensors])
    blocks = [atleast_2d(x.to(dtype)) for x in tensors]
    width = sum(b.shape[1] for b in blocks)
    rows = []
    left = 0
    for block in blocks:
        right = left + block.shape[1]
        rows.append(constant_pad_nd(block, (left, width - right)))
        left = right
    return cat(rows, 0)


@api("torch")
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates on the grid that vectors span: N vectors give N tensors of N dimensions.

    >>> import flambeau as torch
    >>> x, y = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
    >>> x
    tensor([[0, 0, 0],
            [1, 1, 1]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if indexing is None:
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
                  "argument.")
        indexing = "ij"
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if not isinstance(indexing, str):
        raise TypeError(f"meshgrid(): argument 'indexing' must be str, not {type_in_words(indexing)}")
    if indexing not in ("xy", "ij"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for x in tensors:
        if x.ndim > 1:
            raise RuntimeError("torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                               f"[ {type_in_checks(x._geometry)}{{{','.join(map(str, x.shape))}}} ]")
        if x.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = [x.numel() for x in tensors]
    grids = [
        x.reshape([n if d == i else 1 for d, n in enumerate(shape)]).expand(shape)
        for i, x in enumerate(tensors)
    ]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def _vector(x: Tensor) -> Tensor:
    if x.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    return x


@api("torch", judge="first")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All tuples with one element of each vector, as rows.

    >>> import flambeau as torch
    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3]))
    tensor([[1, 3],
            [2, 3]])
    """
    vectors = [_vector(x) for x in tensors]
    if len(vectors) == 1:
        return vectors[0]
    return stack([g.flatten() for g in meshgrid(*vectors, indexing="ij")], 1)


@api("torch", judge="first")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of ``r`` elements of a vector, as rows.

    >>> import flambeau as torch
    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    _vector(input)
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    rows = _chosen(input.numel(), r, with_replacement)
    return input.index_select(0, from_array(rows.reshape(-1).copy())).reshape(rows.shape)


def _chosen(n: int, r: int, with_replacement: bool) -> Any:
    """The places of all combinations (count, r), in lexicographic order."""
    if r == 2:
        return np.stack(np.triu_indices(n, 0 if with_replacement else 1), -1)
    choose: Any = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return np.fromiter(itertools.chain.from_iterable(choose(range(n), r)), np.int64).reshape(-1, r)


@api("torch")
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of a vector as columns, from the highest down: x^(N-1), ..., x, 1.

    >>> import flambeau as torch
    >>> torch.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.numel() if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    if x.dtype.category < FLOATING:
        x = x.to(int64)
    if n == 0:
        return x.new_empty(x.numel(), 0)
    columns = x.new_ones(x.numel(), 1)
    if n > 1:
        columns = cat([columns, x.unsqueeze(1).expand(-1, n - 1).cumprod(1)], 1)
    return columns if increasing else columns.flip(1)
