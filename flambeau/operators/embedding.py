"""Embeddings: rows of a table by index, and sums, means or maxima over bags of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..graph.geometry import Geometry, contiguous
from ..graph.operator import Operator
from ..tensor import Tensor, record, state
from ..tensor.batching import BatchedTensor, by_example
from ..tensor.construct import from_array
from .arguments import require_integer
from .definition import operator
from .extents import type_in_checks
from .looking import look
from .registry import api


def _rows_geometry(operands: Any, attributes: Any) -> Geometry:
    weight, indices = operands
    return contiguous((*indices.shape, *weight.shape[1:]), weight.dtype, weight.device)


@operator("embedding", _rows_geometry)
def EMBEDDING(m: Any, weight: Any, indices: Any, padding_idx: int | None) -> Any:
    """Rows of (V, D) at indices (*): (*, D)."""
    if indices.size and (indices.min() < 0 or indices.max() >= weight.shape[0]):
        raise IndexError("index out of range in self")
    return m.take(weight, indices, axis=0)


def _grad_geometry(operands: Any, attributes: Any) -> Geometry:
    grad = operands[0]
    return contiguous((attributes[0], grad.shape[-1]), grad.dtype, grad.device)


@operator("embedding_dense_backward", _grad_geometry)
def EMBEDDING_BACKWARD(m: Any, grad: Any, indices: Any, rows: int, padding_idx: int | None) -> Any:
    """Sum of gradient rows by index: (*, D) gives (V, D); the padding row gets none."""
    flat = indices.reshape(-1)
    values = grad.reshape(flat.size, grad.shape[-1])
    if padding_idx is not None:
        keep = flat != padding_idx
        flat, values = flat[keep], values[keep]
    return sum_rows(flat, values, rows)


def sum_rows(index: Any, values: Any, rows: int) -> Any:
    """(N, D) values summed into (rows, D) by index (N): sorted, a run of equal indices is one reduction."""
    result = np.zeros((rows, values.shape[1]), values.dtype)
    if index.size == 0:
        return result
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.concatenate(([0], np.flatnonzero(ordered[1:] != ordered[:-1]) + 1))
    if starts.size == index.size:
        result[ordered] = values[order]
    else:
        result[ordered[starts]] = np.add.reduceat(values[order], starts, axis=0, dtype=values.dtype)
    return result


@EMBEDDING.derivative("weight", keeps="indices")
def _(ctx: Any, grad: Tensor, indices: Tensor) -> Tensor:
    return record(EMBEDDING_BACKWARD, (grad, indices), (ctx.operand_geometry(0).shape[0], ctx.attributes[0]))


@EMBEDDING_BACKWARD.derivative("grad", keeps="indices")
def _(ctx: Any, grad: Tensor, indices: Tensor) -> Tensor:
    padding_idx = ctx.attributes[1]
    rows = record(EMBEDDING, (grad, indices), (None,))
    if padding_idx is not None:
        rows = rows * (indices != padding_idx).unsqueeze(-1).to(rows.dtype)
    return rows


# The same operator, whose gradient by the table is sparse (D rows at the indices).
EMBEDDING_SPARSE = Operator("embedding", EMBEDDING.kernel, _rows_geometry, EMBEDDING.parameters)


@EMBEDDING_SPARSE.derivative("weight", keeps="indices")
def _(ctx: Any, grad: Tensor, indices: Tensor) -> Any:
    from ..sparse.tensor import coo  # made of operators
    places, rows = indices.detach().reshape(1, -1), grad.reshape(-1, grad.shape[-1])
    if ctx.attributes[0] is not None:
        kept = (places[0] != ctx.attributes[0]).nonzero().reshape(-1)
        places, rows = places.index_select(1, kept), rows.index_select(0, kept)
    return coo(places.to(dtypes.int64), rows, ctx.operand_geometry(0).shape)


def check_bounds(indices: Tensor, rows: int) -> None:
    """Raise at the caller's line if indices that are already values are out of range."""
    node = indices._storage.node
    value = node.value
    if isinstance(value, np.ndarray) and value.size:
        array = look(indices, "embedding")
        if array.size and (array.min() < 0 or array.max() >= rows):
            raise IndexError("index out of range in self")


@api("nn.functional")
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """Rows of ``weight`` (V, D) at the indices ``input`` (*): (*, D).

    >>> import flambeau as torch
    >>> table = torch.tensor([[1., 2.], [3., 4.]])
    >>> torch.nn.functional.embedding(torch.tensor([1, 0]), table)
    tensor([[3., 4.],
            [1., 2.]])
    """
    if padding_idx is not None:
        if padding_idx.__class__ is not int:
            require_integer(padding_idx)
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    if max_norm is not None:
        if input.dtype not in (dtypes.int64, dtypes.int32):
            raise RuntimeError("Expected tensor for argument #2 'indices' to have one of the following "
                               f"scalar types: Long, Int; but got {type_in_checks(input._geometry)} instead "
                               "(while checking arguments for embedding_renorm_)")
        renormalize_rows(weight, input, max_norm, norm_type)
    if scale_grad_by_freq:
        _refuse_sparse_frequency(weight, sparse)
        return _scaled_by_frequency(weight, input, padding_idx)
    return _embedding(weight, input, padding_idx, sparse)


def _refuse_sparse_frequency(weight: Tensor, sparse: bool) -> None:
    if sparse and weight.requires_grad:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")


def _embedding(weight: Tensor, indices: Tensor, padding_idx: int | None, sparse: bool = False) -> Tensor:
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar "
                           f"types: Long, Int; but got {type_in_checks(indices._geometry)} instead (while "
                           "checking arguments for embedding)")
    check_bounds(indices, weight.shape[0])
    return record(EMBEDDING_SPARSE if sparse else EMBEDDING, (weight, indices), (padding_idx,))


def _scaled_by_frequency(weight: Tensor, indices: Tensor, padding_idx: int | None) -> Tensor:
    counts = indices.reshape(-1).bincount(minlength=weight.shape[0]).clamp_min(1).to(weight.dtype)
    scaled = weight / counts.unsqueeze(1)
    # The value of weight with the gradient of weight / counts.
    return _embedding(weight.detach() - scaled.detach() + scaled, indices, padding_idx)


def renormalize_rows(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows in use whose norm exceeds ``max_norm`` to it, in place."""
    before, state.enabled = state.enabled, False
    try:
        used = indices.reshape(-1).unique().long()
        rows = weight.detach()[used]
        norms = rows.norm(norm_type, 1, keepdim=True)
        factor = (max_norm / (norms + 1e-7)).clamp_max(1.0)
        weight.index_copy_(0, used, (rows * factor).to(weight.dtype))
    finally:
        state.enabled = before


@api("torch", name="embedding")
def _torch_embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
                     sparse: bool = False) -> Tensor:
    """Rows of a table by index (the argument order of ``torch.embedding``)."""
    return _embedding(weight, indices, None if padding_idx < 0 else padding_idx, sparse)


@api("nn.functional")
@by_example
def embedding_bag(input: Tensor, weight: Tensor, offsets: Any = None, max_norm: float | None = None,
                  norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean",
                  sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Tensor:
    """Sum, mean or maximum of the rows of each bag: (B, D).

    Indices are (B, N), or (N) with the offsets (B) where bags begin.
    """
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
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a "
                             "mini-batch of fixed length sequences. However, found offsets of type "
                             f"{type(offsets)}")
        bags, length = input.shape
        which = _repeat_bags(bags, length) if mode == "max" else None
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.ndim == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        bags, which = _bags_of(offsets, input.shape[0], include_last_offset)
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if max_norm is not None:
        renormalize_rows(weight, input, max_norm, norm_type)
    if padding_idx is not None:
        padding_idx %= weight.shape[0]
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights")
    if scale_grad_by_freq:
        _refuse_sparse_frequency(weight, sparse)
    rows = _scaled_by_frequency(weight, input, padding_idx) if scale_grad_by_freq \
        else _embedding(weight, input, padding_idx, sparse)
    return _pool(rows, which, bags, mode, per_sample_weights, input, padding_idx)


def _repeat_bags(bags: int, length: int) -> Tensor:
    return from_array(np.repeat(np.arange(bags), length))


def _bags_of(offsets: Tensor, count: int, include_last: bool) -> tuple[int, Tensor]:
    """The number of bags and the bag of each index."""
    if offsets.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError("Expected tensor for argument #1 'offsets' to have one of the following scalar "
                           f"types: Long, Int; but got {type_in_checks(offsets._geometry)} instead (while "
                           "checking arguments for embedding_bag)")
    starts = np.array(look(offsets, "embedding_bag"))
    if starts.size and starts[0] != 0:
        raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
                           f"from position 0. However, got {starts[0]}")
    if starts.size and starts[-1] > count:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] "
                           f"of {starts[-1]}")
    if include_last:
        starts = starts[:-1]
    lengths = np.diff(np.append(starts, count))
    return starts.size, from_array(np.repeat(np.arange(starts.size), lengths))


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
    if padding_idx is not None:
        used = (indices != padding_idx).nonzero().reshape(-1)
        rows, which = rows[used], which[used]
    index = which.unsqueeze(1).expand(rows.shape)
    return rows.new_zeros((bags, rows.shape[1])).scatter_reduce(0, index, rows, "amax", include_self=False)


@api("nn.functional")
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the class, 0 elsewhere: (*) gives (*, num_classes); by default as many classes as are seen.

    >>> import flambeau as torch
    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if input.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if input.__class__ is BatchedTensor:
        if num_classes <= 0:
            raise RuntimeError("When vmap-ing torch.nn.functional.one_hot, please provide an explicit "
                               "positive "
                               "num_classes argument.")
        classes = from_array(np.arange(num_classes))
        return (input.unsqueeze(-1) == classes).to(dtypes.int64)
    array = look(input, "one_hot")
    if array.size == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return from_array(np.zeros((*array.shape, num_classes), np.int64))
    if array.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(array.max()) + 1
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    elif array.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    found = np.zeros((array.size, num_classes), np.int64)
    found.reshape(-1)[np.arange(0, found.size, num_classes) + array.reshape(-1)] = 1
    return from_array(found.reshape(*array.shape, num_classes))
