"""Reductions of consecutive stretches: segment_reduce."""

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy as np

from ...dtypes import FLOATING
from ...tensor import Tensor, check_dim
from ...tensor.batching import by_example
from ...tensor.construct import from_array
from ..declaration.registry import api
from ..indexing.scatter_reductions import reduced_slices
from ..interop.looking import look

# What each reduction is called by index_reduce, and what it gives for an empty segment.
_REDUCTIONS = {"sum": ("sum", 0.0), "mean": ("sum", 0.0), "prod": ("prod", 1.0), "max": ("amax", -inf),
               "amax": ("amax", -inf), "min": ("amin", inf), "amin": ("amin", inf)}


def _lengths_of(data: Tensor, lengths: Any, offsets: Any, indices: Any, axis: int, unsafe: bool) -> Any:
    """How long the segments are, checked: an array with ``axis + 1`` dimensions."""
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    given = offsets if offsets is not None else lengths
    if data.ndim < given.ndim:
        raise RuntimeError("Expected data.dim() >= lengths_value.dim() to be true, but got false.  (Could "
                           "this error message be improved?  If so, please report an enhancement request to "
                           "PyTorch.)")
    name = "lengths" if offsets is None else "offsets"
    if axis != given.ndim - 1:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {name} but got "
                           f"{axis}.")
    found = look(given, "segment_reduce")
    if offsets is not None:
        return np.diff(found, axis=-1)
    if not unsafe:
        if found.size and found.min() < 0:
            raise RuntimeError("lengths contains negative value!")
        if (found.sum(-1) != data.shape[axis]).any():
            raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to "
                               "data.size(lengths.dim()-1) when !unsafe.")
    return found


@api("torch", name="_segment_reduce")    # by which PyTorch Geometric calls it
@api("torch")
@by_example
def segment_reduce(data: Tensor, reduce: str, *, lengths: Any = None, indices: Any = None,
                   offsets: Any = None, axis: int = 0, unsafe: bool = False, initial: Any = None) -> Tensor:
    """The sum, mean, max, min or prod of consecutive segments of a dimension; this looks at their lengths.

    ``lengths`` (S), or (*, S) with the dimensions of ``data`` before ``axis``, says how long they are,
    ``offsets`` (S + 1) where they begin. ``initial`` takes part in each reduction.

    >>> import flambeau as torch
    >>> torch.segment_reduce(torch.arange(6.), "sum", lengths=torch.tensor([2, 1, 3]))
    tensor([ 1.,  2., 12.])
    """
    axis = check_dim(axis, data.ndim)
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    sizes = _lengths_of(data, lengths, offsets, indices, axis, unsafe)
    if data.dtype.category != FLOATING:
        raise NotImplementedError("\"_segment_reduce_cpu\" not implemented for "
                                  f"'{data.type().rpartition('.')[2].removesuffix('Tensor')}'")
    outer, extent = prod(data.shape[:axis]), data.shape[axis]
    sizes = sizes.reshape(outer, -1)
    count, inner = sizes.shape[1], data.shape[axis + 1:]
    first = np.zeros(outer, np.int64)
    if offsets is not None:
        first = look(offsets, "segment_reduce").reshape(outer, -1)[:, 0]
    within = np.concatenate([b * extent + first[b] + np.arange(sizes[b].sum()) for b in range(outer)] or [[]])
    segment = np.repeat(np.arange(outer * count), sizes.reshape(-1))
    rows = data.reshape(outer * extent, *inner).index_select(0, from_array(within.astype(np.int64)))
    called, empty = _REDUCTIONS[reduce]
    start = data.new_full((outer * count, *inner), empty if initial is None else float(initial))
    where = from_array(segment)
    if called == "sum":
        found = start.index_add(0, where, rows)
    else:
        found = reduced_slices(start, 0, where, rows, called)
    if reduce == "mean":
        lengths_ = from_array(sizes.reshape(-1, *[1] * len(inner)).astype(data.dtype.numpy))
        found = found / (lengths_ if initial is None else lengths_.clamp(min=1))
    return found.reshape(*data.shape[:axis], count, *inner)
