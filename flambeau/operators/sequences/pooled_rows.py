"""Sums, means or maxima over bags of rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record, record_pair
from ...tensor.batching import by_example
from ...tensor.construct import from_array
from ..calls.extents import type_in_checks
from ..declaration.definition import operator
from ..declaration.registry import api
from ..indexing.bounds import known_range
from ..interop.looking import look
from ..shapes.joining import cat
from .embedding import (
    EMBEDDING_BACKWARD,
    check_table,
    refuse_sparse_frequency,
    renormalize_rows,
    rows_of,
    scaled_by_frequency,
)


@api("nn.functional")
@by_example
def embedding_bag(input: Tensor, weight: Tensor, offsets: Any = None, max_norm: float | None = None,
                  norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean",
                  sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Tensor:
    """Sum, mean or maximum of the rows of each bag: (B, D).

    Indices are (B, N), or (N) with the offsets (B) where bags begin.

    >>> import flambeau as torch
    >>> F = torch.nn.functional
    >>> F.embedding_bag(torch.tensor([[0, 1]]), torch.tensor([[1., 2.], [3., 4.]]), mode="sum")
    tensor([[4., 6.]])
    """
    _check_pooling(input, weight, mode, per_sample_weights)
    starts, length = _bags_of(input, offsets, include_last_offset)
    _require_types("indices", input, _INTEGERS)
    _require_types("weight", weight, _FLOATING)
    bags = starts.size
    if max_norm is not None:
        renormalize_rows(weight, input, max_norm, norm_type)
    if padding_idx is not None:
        padding_idx = _padding_row(padding_idx, weight.shape[0])
    limits = known_range(input)
    if limits is not None and (limits[0] < 0 or limits[1] >= weight.shape[0]):
        each = mode == "max" or padding_idx is not None
        raise _no_such_row(look(input, "embedding_bag").reshape(-1), weight.shape[0], each)
    if input.ndim == 2:
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights")
    if scale_grad_by_freq:
        refuse_sparse_frequency(weight, sparse)
    if not (sparse or scale_grad_by_freq or mode == "max") and padding_idx is None \
            and per_sample_weights is None and bags and input.numel():
        return _sums_of(weight, input, starts, mode == "mean")
    which = None if mode != "max" and length is not None else from_array(_bag_of_each(starts, input.shape[0]))
    rows = scaled_by_frequency(weight, input, padding_idx) if scale_grad_by_freq \
        else rows_of(weight, input, padding_idx, sparse)
    return _pool(rows, which, bags, mode, per_sample_weights, input, padding_idx)


def _check_pooling(input: Tensor, weight: Tensor, mode: str, per_sample_weights: Any) -> None:
    """PyTorch's conditions on the mode, and on the weights of indices."""
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is "
                                  f"only supported for mode='sum' (got mode='{mode}'). Please open a feature "
                                  "request on GitHub.")
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, "
                         f"then it must have the same shape as the input ({input.shape})")
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        given, own = (type_in_checks(x._geometry) for x in (per_sample_weights, weight))
        raise RuntimeError("Expected tensor for argument #1 'weight' to have the same type as tensor for "
                           f"argument #1 'per_sample_weights'; but type {own} does not equal {given} (while "
                           "checking arguments for embedding_bag)")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")


def _padding_row(padding_idx: int, rows: int) -> int:
    if not -rows <= padding_idx < rows:
        raise RuntimeError(f"padding_idx must be within the number of embeddings, -{rows} through "
                           f"{rows - 1}, but got {padding_idx}")
    return padding_idx % rows


def _no_such_row(indices: Any, rows: int, each: bool) -> RuntimeError:
    """``each``: what PyTorch says where it reads row after row by itself."""
    at = int(np.flatnonzero((indices < 0) | (indices >= rows))[0])
    if each:
        return RuntimeError("embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
                            f"{indices[at]}")
    return RuntimeError(f"Index {at} of input takes value {indices[at]} which is not in the valid range "
                        f"[0, {rows})")


def _bags_of(input: Tensor, offsets: Any, include_last: bool) -> tuple[Any, int | None]:
    """Where bags begin in the indices one behind the other, and how many each has, if that is one number."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a "
                             "mini-batch of fixed length sequences. However, found offsets of type "
                             f"{type(offsets)}")
        bags, length = input.shape
        if not length:
            raise RuntimeError("step must be nonzero")
        return np.arange(bags) * length, length
    if input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return _starts_of(offsets, input.shape[0], include_last), None


_INTEGERS = {dtypes.int64: "Long", dtypes.int32: "Int"}
_FLOATING = {dtypes.float16: "Half", dtypes.bfloat16: "BFloat16", dtypes.float32: "Float",
             dtypes.float64: "Double"}


def _require_types(name: str, x: Tensor, allowed: dict[dtypes.dtype, str]) -> None:
    if x.dtype not in allowed:
        raise RuntimeError(f"Expected tensor for argument #1 '{name}' to have one of the following scalar "
                           f"types: {', '.join(allowed.values())}; but got {type_in_checks(x._geometry)} "
                           "instead (while checking arguments for embedding_bag)")


def _starts_of(offsets: Tensor, count: int, include_last: bool) -> Any:
    """Where bags begin."""
    _require_types("offsets", offsets, _INTEGERS)
    starts = np.array(look(offsets, "embedding_bag"))
    if include_last and not starts.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if starts.size and starts[0] != 0:
        raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
                           f"from position 0. However, got {starts[0]}")
    if starts.size and starts[-1] > count:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] "
                           f"of {starts[-1]}")
    return starts[:-1] if include_last else starts


def _lengths(starts: Any, count: int) -> Any:
    """How many indices bags have."""
    lengths = np.empty(starts.size, np.int64)
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    lengths[-1:] = count - starts[-1:]
    return lengths


def _bag_of_each(starts: Any, count: int) -> Any:
    """The bag of each index."""
    return np.repeat(np.arange(starts.size), _lengths(starts, count))


def _bag_geometry(operands: Any, attributes: Any) -> Geometry:
    weight, _, starts = operands
    return contiguous((starts.shape[0], weight.shape[1]), weight.dtype, weight.device)


@operator("embedding_bag", _bag_geometry)
def EMBEDDING_BAG(m: Any, weight: Any, indices: Any, starts: Any, mean: bool) -> Any:
    """Sums or means of the rows of (V, D) at the indices (N) of bags that begin at (B): (B, D)."""
    if indices.min() < 0 or indices.max() >= weight.shape[0]:
        raise _no_such_row(indices, weight.shape[0], each=False)
    rows = m.wide(m.take(weight, indices, axis=0))
    lengths = _lengths(starts, indices.size)
    if lengths.min() > 0:
        sums = np.add.reduceat(rows, starts, axis=0)
    else:
        sums = np.zeros((starts.size, rows.shape[1]), rows.dtype)
        filled = np.flatnonzero(lengths)
        sums[filled] = np.add.reduceat(rows, starts[filled], axis=0)
    if mean:
        sums /= np.maximum(lengths, 1)[:, None]
    return sums.astype(weight.dtype, copy=False)


@EMBEDDING_BAG.derivative("weight", keeps="indices starts")
def _(ctx: Any, grad: Tensor, indices: Tensor, starts: Tensor) -> Tensor:
    first = look(starts, "embedding_bag")
    lengths = _lengths(first, indices.shape[0])
    if ctx.attributes[0]:
        grad = grad / from_array(np.maximum(lengths, 1)[:, None])
    bags, length = lengths.size, int(lengths[0])
    if (lengths == length).all():
        rows, indices = grad.unsqueeze(1).expand(-1, length, -1), indices.reshape(bags, length)
    else:
        rows = grad.index_select(0, from_array(_bag_of_each(first, indices.shape[0])))
    return record_pair(EMBEDDING_BACKWARD, rows, indices, (ctx.operand_geometry(0).shape[0], None))


def _sums_of(weight: Tensor, indices: Tensor, starts: Any, mean: bool) -> Tensor:
    if (starts[1:] < starts[:-1]).any():
        raise ValueError("repeats may not contain negative values.")
    check_table(weight, indices)
    return record(EMBEDDING_BAG, (weight, indices, from_array(starts.astype(np.int64, copy=False))), (mean,))


def _pool(rows: Tensor, which: Any, bags: int, mode: str, weights: Any, indices: Tensor,
          padding_idx: int | None) -> Tensor:
    kept: Any = None
    if padding_idx is not None:
        kept = (indices != padding_idx).to(rows.dtype).unsqueeze(1)
    if mode == "max" and bags:
        return _max_pool(rows, which, bags, indices, padding_idx)
    if weights is not None:
        rows = rows * weights.unsqueeze(1)
    if kept is not None:
        rows = rows * kept
    if not bags:
        return rows.narrow(0, 0, 0)  # of the rows, so that backward finds the weight
    total = _sums(rows, which, bags)
    if mode == "sum":
        return total
    if kept is None and which is None:
        return total / max(rows.shape[0] // bags, 1)
    ones = kept if kept is not None else rows.new_ones((rows.shape[0], 1))
    return total / _sums(ones, which, bags).clamp_min(1)


def _sums(rows: Tensor, which: Any, bags: int) -> Tensor:
    """Sums of the rows of each bag; without ``which`` all bags have as many."""
    if which is None:
        return rows.reshape(bags, -1, rows.shape[1]).sum(1) if rows.shape[0] else \
            rows.new_zeros((bags, rows.shape[1])) + rows.sum(0)
    return rows.new_zeros((bags, rows.shape[1])).index_add(0, which, rows)


def _max_pool(rows: Tensor, which: Tensor, bags: int, indices: Tensor, padding_idx: int | None) -> Tensor:
    """The greatest of each bag's rows, column by column; the gradient goes to the first of equal ones."""
    if padding_idx is not None:
        used = (indices != padding_idx).nonzero().reshape(-1)
        rows, which = rows[used], which[used]
    index, values = which.unsqueeze(1).expand(rows.shape), rows.detach()
    shape, count = (bags, rows.shape[1]), rows.shape[0]
    greatest = values.new_zeros(shape).scatter_reduce(0, index, values, "amax", include_self=False)[which]
    places = from_array(np.arange(count)).unsqueeze(1).masked_fill((values < greatest), count)
    first = which.new_full(shape, count).scatter_reduce(0, index, places.expand(rows.shape), "amin")
    return cat([rows, rows.new_zeros((1, rows.shape[1]))]).gather(0, first)     # zeros for empty bags
