"""Sums of sparse tensors, and softmax over the entries that there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operators.interop.looking import look
from ..tensor import Tensor
from ..tensor.construct import from_array
from ..tensor.dims import check_dim
from .conversions import coalesce, sorted_coo, sparse_dim, to_sparse
from .kernels import named, spread
from .tensor import CooTensor, SparseTensor, coo, handles


def sparse_sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum over all dimensions, or over some: sparse while a dimension with coordinates is left.

    >>> import flambeau as torch
    >>> a = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3., 4., 5.])
    >>> torch.sparse.sum(a), torch.sparse.sum(a, 0).to_dense()
    (tensor(12.), tensor([4., 0., 8.]))
    """
    if not isinstance(input, CooTensor):
        coalesce(input)  # raises
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        return input._entries.sum()
    x = coalesce(input)
    dims = {check_dim(d, x.ndim) for d in ((dim,) if isinstance(dim, int) else dim)}
    if not dims:
        return x
    count = sparse_dim(x)
    inner = [d - count + 1 for d in sorted(dims) if d >= count]
    entries = x._entries.sum(inner) if inner else x._entries
    left = [d for d in range(count) if d not in dims]
    if not left:
        return named(entries.sum(0), "SparseSum")
    shape = [n for d, n in enumerate(x.shape) if d not in dims]
    if len(left) == count:
        return coo(x._indices_, named(entries, "SparseSum"), shape, True)
    places = x._indices_.index_select(0, from_array(np.array(left, np.int64)))
    return sorted_coo(places, entries, shape, "SparseSum")


@handles("sum")
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Any:
    """As ``torch.sparse.sum``."""
    if isinstance(input, CooTensor):
        found = sparse_sum(input, dim, dtype)
        if keepdim and dim is not None:
            for d in sorted(check_dim(d, input.ndim) for d in ((dim,) if isinstance(dim, int) else dim)):
                found = to_sparse(found).unsqueeze(d)
        return found
    if dim is not None:
        found = sparse_sum(to_sparse(input), dim, dtype)
        return found.to_dense() if isinstance(found, SparseTensor) else found
    return input._entries.sum(dtype=dtype)


@handles("norm")
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None,
         dtype: Any = None) -> Tensor:
    """The norm of all elements."""
    if dim is not None:
        raise RuntimeError("norm_sparse currently only supports keepdim=False, and no reduced dimensions")
    entries = coalesce(input)._entries if isinstance(input, CooTensor) else input._entries
    return entries.norm(2 if p in ("fro", None) else p, dtype=dtype)


@handles("any")
def any_(input: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Whether an entry is not 0."""
    return input._entries.any()


@handles("item")
def item(self: Any) -> Any:
    """The one element as a Python number."""
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return self._entries.sum().item()


def _groups(x: CooTensor, dim: int) -> tuple[Tensor, int]:
    """For each entry the number of its row along ``dim``, and how many rows have entries; this looks."""
    others = np.delete(look(x._indices_, "softmax"), dim, 0)
    found, group = np.unique(others, axis=1, return_inverse=True)
    return from_array(group.reshape(1, -1).astype(np.int64)), found.shape[1]


def _softmax(input: Any, dim: int, dtype: Any, log: bool) -> Any:
    if not isinstance(input, CooTensor):
        raise RuntimeError("softmax expected a sparse coordinate tensor")
    x = coalesce(input if dtype is None else input.to(dtype))
    dim, count = check_dim(dim, x.ndim), sparse_dim(x)
    name = "SparseLogSoftmax" if log else "SparseSoftmax"
    if dim >= count:
        at = dim - count + 1
        return x._with(named(x._entries.log_softmax(at) if log else x._entries.softmax(at), name))
    group, rows = _groups(x, dim)
    shape = (rows, *x._entries.shape[1:])
    index = group[0].reshape(-1, *[1] * (len(shape) - 1)).expand(x._entries.shape)
    values = x._entries.detach()
    largest = values.new_zeros(shape).scatter_reduce(0, index, values, "amax", include_self=False)
    shifted = x._entries - largest.index_select(0, group[0])
    powers = shifted.exp()
    total = spread(powers, group, shape).index_select(0, group[0])
    return x._with(named(shifted - total.log() if log else powers / total, name))


def sparse_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Softmax along a dimension of the entries that there are: what has no entry counts as -inf.

    >>> import flambeau as torch
    >>> a = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3., 4., 4.])
    >>> torch.sparse.softmax(a, 1).values()
    tensor([1.0000, 0.5000, 0.5000])
    """
    return _softmax(input, dim, dtype, False)


def sparse_log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of ``softmax``, of the entries that there are.

    >>> import flambeau as torch
    >>> torch.sparse.log_softmax(torch.eye(2).to_sparse(), dim=1).values()
    tensor([0., 0.])
    """
    return _softmax(input, dim, dtype, True)
