"""Transposing, joining and selecting parts of sparse tensors: work on coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import layouts
from .. import operators as ops
from ..operators.interop.looking import look
from ..tensor.construct import from_array
from ..tensor.dims import check_dim
from .compressed import CompressedTensor, compressed
from .compressing import BLOCKED
from .conversions import sparse_dim, to_dense, to_sparse
from .kernels import named
from .tensor import CooTensor, SparseTensor, coo, handles, unsupported


@handles("t")
def t(input: Any) -> Any:
    """The transpose of a matrix."""
    if input.ndim > 2 or sparse_dim(input) != input.ndim:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
                           f"{sparse_dim(input)} sparse and {input.ndim - sparse_dim(input)} dense "
                           "dimensions")
    return _exchanged(input, 0, input.ndim - 1, "T") if input.ndim == 2 else input


@handles("transpose", "swapaxes", "swapdims")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Exchange two dimensions."""
    a, b = check_dim(dim0, input.ndim), check_dim(dim1, input.ndim)
    if isinstance(input, CooTensor) and a != b and max(a, b) >= sparse_dim(input):
        raise RuntimeError("sparse transpose: transposed dimensions must be sparse Got sparse_dim: "
                           f"{sparse_dim(input)}, d0: {a}, d1: {b}")
    return _exchanged(input, a, b, "Transpose")


def _exchanged(x: Any, a: int, b: int, name: str) -> Any:
    if isinstance(x, CompressedTensor):
        if a == b:
            return x
        lead = x._plain.ndim - 1
        if {a, b} != {lead, lead + 1}:
            raise RuntimeError(f"transpose(): can only transpose the sparse dimensions {lead} and {lead + 1} "
                               f"of a tensor of layout {x.layout}")
        entries = x._entries.transpose(lead + 1, lead + 2) if x.layout in BLOCKED else x._entries
        shape = list(x.shape)
        shape[a], shape[b] = shape[b], shape[a]
        return compressed(x._compressed, x._plain, named(entries, name), shape, _TURNED[x.layout])
    order = list(range(x.ndim))
    order[a], order[b] = b, a
    return _permuted(x, order, name)


_TURNED = {layouts.sparse_csr: layouts.sparse_csc, layouts.sparse_csc: layouts.sparse_csr,
           layouts.sparse_bsr: layouts.sparse_bsc, layouts.sparse_bsc: layouts.sparse_bsr}


@handles("permute")
def permute(input: Any, *dims: Any) -> Any:
    """Put the dimensions into another order; those with coordinates stay in front."""
    order = list(dims[0]) if len(dims) == 1 and isinstance(dims[0], Sequence) else list(dims)
    if len(order) != input.ndim:
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the "
                           f"length of the desired ordering of dimensions i.e. input.dim() = {input.ndim} is "
                           f"not equal to len(dims) = {len(order)}")
    if isinstance(input, CompressedTensor):
        raise unsupported("as_strided", "SparseCsrCPU")
    order = [check_dim(d, input.ndim) for d in order]
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _permuted(input, order, "Permute")


def _permuted(x: CooTensor, order: list[int], name: str) -> CooTensor:
    count = sparse_dim(x)
    if any(d >= count for d in order[:count]):
        raise RuntimeError("permute(sparse_coo): transpositions between sparse and dense dimensions are not "
                           "allowed.Only transpositions within sparse and dense dimensions are supported.")
    indices = x._indices_.index_select(0, from_array(np.array(order[:count], np.int64)))
    entries = x._entries.permute(0, *[d - count + 1 for d in order[count:]])
    same = order[:count] == list(range(count))
    return coo(indices, named(entries, name), [x.shape[d] for d in order], x._coalesced and same)


@handles("unsqueeze")
def unsqueeze(input: Any, dim: int) -> Any:
    """A new dimension of extent 1."""
    dim = check_dim(dim, input.ndim + 1)
    if not isinstance(input, CooTensor):
        raise unsupported("unsqueeze", "SparseCsrCPU")
    count, shape = sparse_dim(input), [*input.shape[:dim], 1, *input.shape[dim:]]
    if dim > count:
        return coo(input._indices_, input._entries.unsqueeze(dim - count + 1), shape, input._coalesced)
    zeros = ops.zeros_like(input._indices_[:1]) if count else input._indices_.new_zeros((1, input._nnz()))
    indices = ops.cat([input._indices_[:dim], zeros, input._indices_[dim:]])
    return coo(indices, named(input._entries, "Unsqueeze"), shape, False)


@handles("cat", "concat", "concatenate")
def cat(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Tensors one behind the other, in the order given: the result is not coalesced."""
    if not all(isinstance(x, CooTensor) for x in tensors):
        raise RuntimeError("Concatenating sparse tensors, but a dense tensor was found")
    first = tensors[0]
    dim, count = check_dim(dim, first.ndim), sparse_dim(first)
    for x in tensors:
        if (*x.shape[:dim], *x.shape[dim + 1:]) != (*first.shape[:dim], *first.shape[dim + 1:]):
            raise RuntimeError("All tensors must have the same shape: "
                               f"{list(first.shape)} (except in the concatenating dimension)")
    shape = list(first.shape)
    shape[dim] = sum(x.shape[dim] for x in tensors)
    if dim >= count:
        return to_sparse(ops.cat([to_dense(x) for x in tensors], dim), count)
    places, start = [], 0
    for x in tensors:
        rows = list(x._indices_)
        rows[dim] = rows[dim] + start
        places.append(ops.stack(rows))
        start += x.shape[dim]
    return coo(ops.cat(places, 1), named(ops.cat([x._entries for x in tensors]), "Cat"), shape, False)


@handles("stack")
def stack(tensors: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Tensors along a new dimension."""
    return cat([unsqueeze(x, dim) for x in tensors], check_dim(dim, tensors[0].ndim + 1))


@handles("select")
def select(input: Any, dim: int, index: int) -> Any:
    """The part at one index of a dimension; this looks. What is left without coordinates is dense."""
    if isinstance(input, CompressedTensor) and check_dim(dim, input.ndim) < input._plain.ndim - 1:
        dim = check_dim(dim, input.ndim)
        return compressed(input._compressed.select(dim, index), input._plain.select(dim, index),
                          named(input._entries.select(dim, index), "Select"),
                          [n for d, n in enumerate(input.shape) if d != dim], input.layout)
    x = input if isinstance(input, CooTensor) else to_sparse(input)
    dim, count = check_dim(dim, x.ndim), sparse_dim(x)
    extent = x.shape[dim]
    if not -extent <= index < extent:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(x.shape)} at "
                         f"dimension {dim}")
    index %= extent
    shape = [n for d, n in enumerate(x.shape) if d != dim]
    if dim >= count:
        return coo(x._indices_, x._entries.select(dim - count + 1, index), shape, False)
    kept = from_array(np.flatnonzero(look(x._indices_, "select")[dim] == index))
    entries = named(x._entries.index_select(0, kept), "Select")
    if count == 1:
        return entries.sum(0)
    indices = x._indices_.index_select(1, kept)
    return coo(ops.cat([indices[:dim], indices[dim + 1:]]), entries, shape, x._coalesced)


@handles("index_select")
def index_select(input: Any, dim: int, index: Any, *, out: Any = None) -> Any:
    """The parts at several indices of a dimension, in their order; this looks."""
    x = to_sparse(input)
    dim, count = check_dim(dim, x.ndim), sparse_dim(x)
    wanted = look(index, "index_select").reshape(-1)
    shape = list(x.shape)
    if wanted.size and (wanted.min() < -shape[dim] or wanted.max() >= shape[dim]):
        raise IndexError(f"index_select(): index contains {wanted.max()} that is out of range for tensor of "
                         f"size {shape} at dimension {dim}")
    wanted = np.where(wanted < 0, wanted + shape[dim], wanted)
    shape[dim] = wanted.size
    if dim >= count:
        return coo(x._indices_, x._entries.index_select(dim - count + 1, index), shape, x._coalesced)
    row = look(x._indices_, "index_select")[dim]
    order = np.argsort(row, kind="stable")
    begins = np.searchsorted(row[order], wanted, "left")
    counts = np.searchsorted(row[order], wanted, "right") - begins
    which = np.repeat(np.arange(wanted.size), counts)
    within = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
    taken = order[np.repeat(begins, counts) + within]
    places = look(x._indices_, "index_select")[:, taken].copy()
    places[dim] = which
    entries = x._entries.index_select(0, from_array(taken))
    return coo(from_array(places), named(entries, "IndexSelect"), shape, dim == 0 and x._coalesced)


def getitem(self: Any, key: Any) -> Any:
    """Indexing with integers and whole dimensions."""
    keys = list(key) if isinstance(key, tuple) else [key]
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), None)
    if at is not None:
        keys[at:at + 1] = [slice(None)] * (self.ndim - len([k for k in keys if k is not None]) + 1)
    if len([k for k in keys if k is not None]) > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    dim, found = 0, self
    for k in keys:
        if isinstance(k, slice) and k == slice(None):
            dim += 1
        elif k is None:
            found = found.unsqueeze(dim)
            dim += 1
        elif isinstance(k, (int, np.integer)) and not isinstance(k, bool):
            if not -found.shape[dim] <= k < found.shape[dim]:
                raise IndexError(f"index {k} is out of bounds for dimension {dim} with size "
                                 f"{found.shape[dim]}")
            found = found.select(dim, int(k))
        else:
            raise unsupported("as_strided")
    return found


def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """The parts along a dimension."""
    return tuple(select(input, dim, i) for i in range(input.shape[check_dim(dim, input.ndim)]))


_T: Any = SparseTensor
_T.__getitem__ = getitem
_T.__iter__ = lambda self: iter(unbind(self))
_T.T = property(lambda self: permute(self, range(self.ndim)[::-1]))


@handles("reshape")
def reshape(input: Any, *shape: Any) -> Any:
    """Raises: coordinates belong to one shape."""
    raise RuntimeError("reshape is not implemented for sparse tensors")
