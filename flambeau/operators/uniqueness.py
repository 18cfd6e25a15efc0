"""Distinct elements: unique, unique_consecutive. Their number is data: these are looks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import SCALAR_NAMES
from ..tensor import Tensor, check_dim
from ..tensor.construct import from_array
from .looking import look
from .registry import api


def _values(input: Tensor, cause: str) -> Any:
    if input.is_complex():
        raise NotImplementedError(f"\"{cause}\" not implemented for '{SCALAR_NAMES[input.dtype]}'")
    return look(input, cause)


@api("torch", "Tensor")
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (or slices along ``dim``) in order, and, on request, where each went and how
    often it came.

    >>> import flambeau as torch
    >>> torch.unique(torch.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    array = _values(input, "unique")
    if dim is not None:
        dim = check_dim(dim, input.ndim)
    found, inverse, counts = np.unique(
        array, return_inverse=True, return_counts=True, axis=dim, equal_nan=False
    )
    inverse = inverse.reshape(array.shape if dim is None else -1)
    return _chosen(found, inverse, counts, return_inverse, return_counts)


def _chosen(found: Any, inverse: Any, counts: Any, return_inverse: bool, return_counts: bool) -> Any:
    results = [from_array(np.array(found))]
    if return_inverse:
        results.append(from_array(np.array(inverse, np.int64)))
    if return_counts:
        results.append(from_array(np.array(counts, np.int64)))
    return results[0] if len(results) == 1 else tuple(results)


@api("torch", "Tensor")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices along ``dim``) without those that equal their predecessor.

    >>> import flambeau as torch
    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    array = _values(input, "unique_consecutive")
    rows = array.reshape(-1) if dim is None else np.moveaxis(array, check_dim(dim, input.ndim), 0)
    first = np.ones(len(rows), bool)
    if len(rows):
        changed = rows[1:] != rows[:-1]
        first[1:] = changed.any(axis=tuple(range(1, rows.ndim))) if rows.ndim > 1 else changed
    inverse = np.cumsum(first) - 1
    counts = np.diff(np.append(np.flatnonzero(first), len(rows)))
    found = rows[first] if dim is None else np.moveaxis(rows[first], 0, check_dim(dim, input.ndim))
    return _chosen(
        found, inverse.reshape(array.shape) if dim is None else inverse, counts, return_inverse, return_counts
    )
