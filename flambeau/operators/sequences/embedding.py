"""Embeddings: rows of a table by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...graph.operator import Operator
from ...tensor import Tensor, record, record_pair, state
from ...tensor.batching import BatchedTensor
from ...tensor.construct import from_array
from ...tensor.samples.known import made
from ..calls.arguments import require_integer
from ..calls.complaints import require as require_kind
from ..calls.extents import type_in_checks
from ..declaration.definition import operator
from ..declaration.registry import api
from ..indexing.bounds import check_index, require
from ..indexing.indexing import check_for_none
from ..interop.looking import look


def _rows_geometry(operands: Any, attributes: Any) -> Geometry:
    weight, indices = operands
    return contiguous((*indices.shape, *weight.shape[1:]), weight.dtype, weight.device)


@operator("embedding", _rows_geometry)
def EMBEDDING(m: Any, weight: Any, indices: Any, padding_idx: int | None) -> Any:
    """Rows of (V, D) at indices (*): (*, D)."""
    require(indices, 0, weight.shape[0], IndexError, "index out of range in self")
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
    return sum_rows(m, flat, values, rows)


def sum_rows(m: Any, index: Any, values: Any, rows: int) -> Any:
    """(N, D) values summed into (rows, D) by index (N)."""
    result = m.zeros((rows, values.shape[1]), values.dtype)
    m.add_rows(result, index.astype(m.int64, copy=False), values)
    return result


@EMBEDDING.derivative("weight", keeps="indices")
def _(ctx: Any, grad: Tensor, indices: Tensor) -> Tensor:
    rows = ctx.operand_geometry(0).shape[0]
    return record_pair(EMBEDDING_BACKWARD, grad, indices, (rows, ctx.attributes[0]))


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
    from ...sparse.tensor import coo  # made of operators
    places, rows = indices.detach().reshape(1, -1), grad.reshape(-1, grad.shape[-1])
    if ctx.attributes[0] is not None:
        kept = (places[0] != ctx.attributes[0]).nonzero().reshape(-1)
        places, rows = places.index_select(1, kept), rows.index_select(0, kept)
    return coo(places.to(dtypes.int64), rows, ctx.operand_geometry(0).shape)


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
        if padding_idx and not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx += rows * (padding_idx < 0)
    if max_norm is not None:
        require_kind("embedding_renorm_", 3, "float", "max_norm", max_norm)
        if input.dtype not in (dtypes.int64, dtypes.int32):
            raise RuntimeError("Expected tensor for argument #2 'indices' to have one of the following "
                               f"scalar types: Long, Int; but got {type_in_checks(input._geometry)} instead "
                               "(while checking arguments for embedding_renorm_)")
        renormalize_rows(weight, input, max_norm, norm_type)
    if scale_grad_by_freq:
        refuse_sparse_frequency(weight, sparse)
        return scaled_by_frequency(weight, input, padding_idx)
    return rows_of(weight, input, padding_idx, sparse)


def refuse_sparse_frequency(weight: Tensor, sparse: bool) -> None:
    if sparse and weight.requires_grad:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")


def rows_of(weight: Tensor, indices: Tensor, padding_idx: int | None, sparse: bool = False) -> Tensor:
    check_table(weight, indices)
    return record_pair(EMBEDDING_SPARSE if sparse else EMBEDDING, weight, indices, (padding_idx,))


def check_table(weight: Tensor, indices: Tensor) -> None:
    """Raise at the caller's line unless the indices can name rows of the table."""
    rows, g = weight._geometry.shape, indices._geometry
    if len(rows) != 2:
        raise RuntimeError("'weight' must be 2-D")
    if g.dtype is not dtypes.int64 and g.dtype is not dtypes.int32:
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar "
                           f"types: Long, Int; but got {type_in_checks(indices._geometry)} instead (while "
                           "checking arguments for embedding)")
    if 0 in rows:
        check_for_none(rows[0], indices)
    check_index(indices, 0, rows[0], IndexError, "index out of range in self")


def scaled_by_frequency(weight: Tensor, indices: Tensor, padding_idx: int | None) -> Tensor:
    counts = indices.reshape(-1).bincount(minlength=weight.shape[0]).clamp_min(1).to(weight.dtype)
    scaled = weight / counts.unsqueeze(1)
    # The value of weight with the gradient of weight / counts.
    return rows_of(weight.detach() - scaled.detach() + scaled, indices, padding_idx)


def renormalize_rows(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows in use whose norm exceeds ``max_norm`` to it, in place; the others keep their bits."""
    before, state.enabled = state.enabled, False
    try:
        used, missing = _rows_in_use(weight, indices)
        rows = weight.detach()[used]
        norms = rows.norm(norm_type, 1, keepdim=True).double()
        factor = (max_norm / (norms + 1e-7)).masked_fill(norms <= max_norm, 1.0)
        weight.index_copy_(0, used, rows * factor.to(weight.dtype))
    finally:
        state.enabled = before
    if missing is not None:
        raise IndexError(f"select(): index {missing} out of range for tensor of size {list(weight.shape)} at "
                         "dimension 0")


def _rows_in_use(weight: Tensor, indices: Tensor) -> tuple[Tensor, int | None]:
    """The rows that are named, from the end as well, up to the first number that names none, and that."""
    named, rows = np.unique(look(indices, "embedding_renorm_").astype(np.int64)), weight.shape[0]
    missing = named[(named < -rows) | (named >= rows)]
    if missing.size:
        named = named[:np.flatnonzero(named == missing[0])[0]]
    return from_array(named % rows if rows else named), int(missing[0]) if missing.size else None


@api("torch", name="embedding")
def _torch_embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
                     sparse: bool = False) -> Tensor:
    """Rows of a table by index (the argument order of ``torch.embedding``).

    >>> import flambeau as torch
    >>> torch.embedding(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1, 1]))
    tensor([[3., 4.],
            [3., 4.]])
    """
    return rows_of(weight, indices, None if padding_idx < 0 else padding_idx, sparse)


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
                               "positive num_classes argument.")
        classes = from_array(np.arange(num_classes))
        return (input.unsqueeze(-1) == classes).to(dtypes.int64)
    array = look(input, "one_hot")
    if array.size == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return from_array(np.zeros((*array.shape, num_classes), np.int64))
    several = array.size > 1    # arguments of extrema are found sooner than these
    greatest = array.item(array.argmax()) if several else array.item()
    if (array.item(array.argmin()) if several else greatest) < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = greatest + 1
    elif greatest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    if not several:     # a sample's
        found = np.zeros(num_classes, np.int64)
        found[greatest] = 1
        return made(found, (*array.shape, num_classes))
    found = np.zeros((array.size, num_classes), np.int64)
    found.reshape(-1)[np.arange(0, found.size, num_classes) + array.reshape(-1)] = 1
    return from_array(found.reshape(*array.shape, num_classes))
