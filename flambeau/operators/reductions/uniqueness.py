"""Distinct elements: unique, unique_consecutive. Their number is data: these are looks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import SCALAR_NAMES, bfloat16
from ...graph.operator import Operator
from ...tensor import Tensor, check_dim
from ...tensor.construct import from_array
from ..declaration.registry import api
from ..declaration.undifferentiable import finding, found_in, refuse_formula
from ..interop.looking import look

_UNIQUE = finding("Unique2Backward0")
_UNIQUE_SLICES = finding("UniqueDimBackward0")
_UNIQUE_CONSECUTIVE = finding("UniqueConsecutiveBackward0")
refuse_formula(_UNIQUE, "_unique2", "source")
refuse_formula(_UNIQUE_SLICES, "unique_dim", "source")
refuse_formula(_UNIQUE_CONSECUTIVE, "unique_consecutive", "source")


def _values(input: Tensor, cause: str) -> Any:
    if input.is_complex():
        raise NotImplementedError(f"\"{cause}\" not implemented for '{SCALAR_NAMES[input.dtype]}'")
    return look(input, cause)


@api("torch", "Tensor", judge="first", as_is=("dim",))
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
    elif array.dtype.kind in "iub" and array.size:
        least = int(array.min())
        span = int(array.max()) - least + 1
        if span <= _DENSE * array.size:
            return _results(_UNIQUE, input, *_counted(array, least, return_inverse, return_counts))
    distinct: Any = np.unique   # whose types count the ways of calling it
    wide = array.astype(np.float32) if input.dtype is bfloat16 else array     # NumPy orders it without NaN
    found, *others = _always_tuple(distinct(wide, return_inverse=return_inverse, axis=dim, equal_nan=False,
                                             return_counts=return_counts))
    if return_inverse:
        others[0] = others[0].reshape(array.shape if dim is None else -1)
    return _results(_UNIQUE if dim is None else _UNIQUE_SLICES, input, found.astype(array.dtype), *others)


_DENSE = 4      # so many possible integers for each element are counted, and not sorted


def _counted(array: Any, least: int, return_inverse: bool, return_counts: bool) -> list[Any]:
    """The distinct integers of a small range, by counting."""
    places = array.reshape(-1).astype(np.int64) - least
    counts = np.bincount(places)
    present = counts.nonzero()[0]
    others: list[Any] = []
    if return_inverse:
        others.append((np.cumsum(counts > 0) - 1)[places].reshape(array.shape))
    if return_counts:
        others.append(counts[present])
    return [(present + least).astype(array.dtype), *others]


def _always_tuple(found: Any) -> Any:
    return found if isinstance(found, tuple) else (found,)


def _results(history: Operator, input: Tensor, found: Any, *others: Any) -> Any:
    first = found_in(from_array(np.array(found)), history, input)
    results = [first, *[from_array(np.array(x, np.int64)) for x in others]]
    return results[0] if len(results) == 1 else tuple(results)


@api("torch", "Tensor", judge="first", as_is=("dim",))
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
    kept = rows.take(np.flatnonzero(first), axis=0)
    found = kept if dim is None else np.moveaxis(kept, 0, check_dim(dim, input.ndim))
    others = []
    if return_inverse:
        inverse = np.cumsum(first) - 1
        others.append(inverse.reshape(array.shape) if dim is None else inverse)
    if return_counts:
        others.append(np.diff(np.flatnonzero(first), append=len(rows)))
    return _results(_UNIQUE_CONSECUTIVE, input, found, *others)
