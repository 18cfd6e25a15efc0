"""Older functions on sparse tensors: products that stay sparse, copies of parts, and resizing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import operators as ops
from ..operators.declaration.registry import api
from ..operators.interop.looking import look
from ..size import Size
from ..tensor import Tensor
from ..tensor.aliasing.inplace import check_writable
from ..tensor.construct import from_array
from .construct import empty_coo, sparse_coo_tensor
from .conversions import (
    ccol_indices,
    col_indices,
    crow_indices,
    dense_dim,
    indices,
    row_indices,
    sparse_dim,
    to_sparse,
    values,
)
from .products import mm
from .tensor import CooTensor, SparseTensor, coo, handles, unsupported


def _rows_with_entries(x: CooTensor) -> Any:
    return np.unique(look(x._indices_, "hspmm")[0])


@handles("hspmm", "hsmm")
@api("torch", aliases=("hsmm",))
def hspmm(mat1: Any, mat2: Tensor) -> Any:
    """Sparse (N, K) by dense (K, M) as a tensor whose entries are the rows (M) that are not empty.

    >>> import flambeau as torch
    >>> torch.hspmm(torch.eye(2).to_sparse(), torch.ones(2, 3)).coalesce().values().shape
    torch.Size([2, 3])
    """
    if not isinstance(mat1, SparseTensor):
        raise unsupported("hspmm", "CPU")
    rows = from_array(_rows_with_entries(to_sparse(mat1)))
    product = mm(mat1, mat2)
    return coo(rows.unsqueeze(0), product.index_select(0, rows), product.shape)


@handles("smm")
@api("torch", "Tensor")
def smm(input: Any, mat: Tensor) -> Any:
    """Sparse (N, K) by dense (K, M) as a sparse tensor with an entry for each element of rows not empty.

    >>> import flambeau as torch
    >>> a = torch.eye(2).to_sparse()
    >>> torch.smm(a, torch.ones(2, 2)).to_dense()
    tensor([[1., 1.],
            [1., 1.]])
    """
    if not isinstance(input, SparseTensor):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    return _spread_rows(hspmm(input, mat))


def _spread_rows(x: CooTensor) -> CooTensor:
    """Rows as single entries."""
    count, width = x._entries.shape
    rows = x._indices_[0].repeat_interleave(width)
    columns = ops.arange(width).repeat(count)
    return coo(ops.stack([rows, columns]), x._entries.reshape(-1), x.shape)


@handles("sspaddmm", "saddmm")
@api("torch", "Tensor")
def sspaddmm(input: Any, mat1: Any, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta input + alpha (mat1 @ mat2) of a sparse ``input`` and ``mat1``, not coalesced.

    >>> import flambeau as torch
    >>> a = torch.eye(2).to_sparse()
    >>> torch.sspaddmm(a, a, torch.ones(2, 2)).to_dense()
    tensor([[2., 1.],
            [1., 2.]])
    """
    if not isinstance(mat1, SparseTensor) or not isinstance(input, SparseTensor):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    first, second = to_sparse(input), smm(mat1, mat2)
    return coo(ops.cat([first._indices_, second._indices_], 1),
               ops.cat([first._entries * beta, second._entries * alpha]), first.shape)


@api("torch")
def saddmm(input: Any, mat1: Any, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``sspaddmm`` under an older name."""
    return sspaddmm(input, mat1, mat2, beta=beta, alpha=alpha)


# --- copies of the parts ------------------------------------------------------------------------------------


def _copying(name: str, part: Callable[[Any], Tensor]) -> None:
    def copied(input: Any) -> Tensor:
        return part(input).clone()
    copied.__name__ = copied.__qualname__ = name
    copied.__doc__ = f"A copy of ``input.{name.removesuffix('_copy')}()``."
    handles(name)(api("torch")(copied))


for _part in (values, indices, crow_indices, col_indices, ccol_indices, row_indices):
    _copying(f"{_part.__name__}_copy", _part)


# --- other extents ------------------------------------------------------------------------------------------

_OPTIONS = ("\nYou could try the following options:\n1. If you need an empty sparse tensor of this size, "
            "call `x = "
            "torch.sparse_coo_tensor(size)`.\n2. If you need to resize this tensor, you have the following "
            "options:\n    1. For both sparse and dense dimensions, keep the number of them constant and "
            "the size "
            "of them non-shrinking, and then try the same call again.\n    2. Or, create a new sparse "
            "tensor with "
            "the correct indices and values from this sparse tensor.")


def _grow(before: Sequence[int], after: Sequence[int], kind: str) -> None:
    if len(before) != len(after):
        raise RuntimeError(f"changing the number of {kind} dimensions (from {len(before)} to "
                           f"{len(after)}) on a "
                           "non-empty sparse tensor is not supported." + _OPTIONS)
    if any(b > a for b, a in zip(before, after)):
        raise RuntimeError(f"shrinking the size of {kind} dimensions (from {list(before)} to "
                           f"{list(after)}) on a "
                           "non-empty sparse tensor is not supported." + _OPTIONS)


@handles("sparse_resize_")
@api("Tensor")
def sparse_resize_(self: Any, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Any:
    """Give a sparse tensor a larger shape; one without entries any shape.

    >>> import flambeau as torch
    >>> x = torch.sparse_coo_tensor([[1]], [5.0], (2,))
    >>> x.sparse_resize_((4,), 1, 0).to_dense()
    tensor([0., 5., 0., 0.])
    """
    if not isinstance(self, CooTensor):
        raise unsupported("sparse_resize_", "CPU")
    check_writable(self._entries)
    count, size = self._indices_.shape[0], tuple(size)
    if not self._nnz():
        self._become(empty_coo(size, self.dtype, self.device, dense_dim=dense_dim))
        return self
    _grow(self.shape[:count], size[:sparse_dim], "sparse")
    _grow(self.shape[count:], size[sparse_dim:], "dense")
    entries = self._entries
    for d, (have, wanted) in enumerate(zip(self.shape[count:], size[sparse_dim:])):
        if have != wanted:
            more = list(entries.shape)
            more[d + 1] = wanted - have
            entries = ops.cat([entries, entries.new_zeros(more)], d + 1)
    self._become(coo(self._indices_, entries, size, self._coalesced))
    return self


@handles("sparse_resize_and_clear_")
@api("Tensor")
def sparse_resize_and_clear_(self: Any, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Any:
    """Drop all entries and take another shape.

    >>> import flambeau as torch
    >>> x = torch.sparse_coo_tensor([[1]], [5.0], (2,))
    >>> x.sparse_resize_and_clear_((3,), 1, 0).to_dense()
    tensor([0., 0., 0.])
    """
    if not isinstance(self, CooTensor):
        raise unsupported("sparse_resize_and_clear_", "CPU")
    check_writable(self._entries)
    self._become(empty_coo(tuple(size), self.dtype, self.device, dense_dim=dense_dim))
    return self


@handles("resize_as_sparse_")
@api("torch", "Tensor")
def resize_as_sparse_(input: Any, the_template: Any) -> Any:
    """Give a sparse tensor another's shape and kinds of dimensions."""
    if not isinstance(input, SparseTensor) or not isinstance(the_template, SparseTensor):
        raise RuntimeError("resize_as_sparse_: expected sparse tensors")
    if isinstance(input, CooTensor):
        return sparse_resize_(input, the_template.shape, sparse_dim(the_template), dense_dim(the_template))
    input._become(the_template._with(the_template._entries.detach().clone()))
    return input


@handles("new")
def _new(self: Any, *given: Any, size: Any = None, device: Any = None) -> CooTensor:
    """The older way to make a tensor of the same type: of a shape, or of indices and values."""
    if not isinstance(self, CooTensor):
        raise unsupported("new", "SparseCsrCPU")
    if len(given) > 1 and isinstance(given[0], Tensor):
        return sparse_coo_tensor(*given, dtype=self.dtype, device=device or self.device)
    shape = given if size is None else size
    if len(shape) == 1 and isinstance(shape[0], Size):
        shape = shape[0]
    if not all(isinstance(n, int) for n in shape):
        raise TypeError("SparseTensor.new(sequence) only accepts sizes.  Please use "
                        "torch.sparse_coo_tensor() or construct a strided tensor and convert it to sparse "
                        "via to_sparse.")
    return empty_coo(tuple(shape) or (0,), self.dtype, device or self.device)


@handles("resize_as_")
def _resize_as_(self: Any, the_template: Any, *, memory_format: Any = None) -> Any:
    if not isinstance(self, SparseTensor) or not isinstance(the_template, SparseTensor):
        raise unsupported("resize_" if isinstance(self, SparseTensor) else "_nnz",
                          "SparseCPU" if isinstance(self, SparseTensor) else "CPU")
    return resize_as_sparse_(self, the_template)
