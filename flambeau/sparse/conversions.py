"""Between layouts: ``to_sparse``, ``to_dense``, ``coalesce``, ``to_sparse_csr``, and asking for the parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import layouts
from .. import operators as ops
from ..operators.declaration.registry import api
from ..operators.interop.looking import look
from ..tensor import Tensor
from ..tensor.construct import from_array
from ..tensor.recording.history import detached
from .compressed import CompressedTensor
from .compressing import BLOCKED, NAMES, check_blocksize, compress
from .construct import positions
from .kernels import named, pick, spread
from .tensor import CooTensor, SparseTensor, coo, handles, unsupported


def _refuse(x: Tensor, what: str, expected: str) -> RuntimeError:
    name = x.layout.name
    return RuntimeError(f"{what} expected {expected} tensor layout but got {NAMES[name]}")


def _coo_only(x: Tensor, what: str) -> CooTensor:
    if not isinstance(x, CooTensor):
        raise _refuse(x, what, "sparse coordinate")
    return x


# --- the parts ----------------------------------------------------------------------------------------------


@handles("is_coalesced")
@api("Tensor")
def is_coalesced(self: Tensor) -> bool:
    """Whether the coordinates are known to ascend, none twice.

    >>> import flambeau as torch
    >>> torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,)).is_coalesced()
    False
    """
    return _coo_only(self, "is_coalesced")._coalesced


@handles("indices")
@api("Tensor")
def indices(self: Tensor) -> Tensor:
    """The coordinates (D, N) of a coalesced tensor.

    >>> import flambeau as torch
    >>> torch.eye(2).to_sparse().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    x = _coo_only(self, "indices")
    if not x._coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return detached(x._indices_)


@handles("values")
@api("Tensor")
def values(self: Tensor) -> Tensor:
    """The entries (N, *) of a sparse tensor, which is coalesced if it has coordinates.

    >>> import flambeau as torch
    >>> torch.eye(2).to_sparse().values()
    tensor([1., 1.])
    """
    if not isinstance(self, SparseTensor):
        raise _refuse(self, "values", "sparse")
    if isinstance(self, CooTensor) and not self._coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return named(self._entries, "Values")


@handles("_indices")
@api("Tensor")
def _indices(self: Tensor) -> Tensor:
    """The coordinates, coalesced or not."""
    return detached(_coo_only(self, "_indices")._indices_)


@handles("_values")
@api("Tensor")
def _values(self: Tensor) -> Tensor:
    """The entries, coalesced or not, without history."""
    return detached(_coo_only(self, "_values")._entries)


@api("Tensor")
def _nnz(self: Tensor) -> int:
    """How many entries a sparse tensor has."""
    raise unsupported("_nnz", "CPU")


@handles("sparse_dim")
@api("Tensor")
def sparse_dim(self: Tensor) -> int:
    """How many dimensions have coordinates.

    >>> import flambeau as torch
    >>> torch.ones(2, 3).to_sparse(1).sparse_dim()
    1
    """
    if isinstance(self, CooTensor):
        return self._indices_.shape[0]
    return 2 if isinstance(self, SparseTensor) else 0


@handles("dense_dim")
@api("Tensor")
def dense_dim(self: Tensor) -> int:
    """How many dimensions each entry has.

    >>> import flambeau as torch
    >>> torch.ones(2, 3).to_sparse(1).dense_dim()
    1
    """
    batch = self._plain.ndim - 1 if isinstance(self, CompressedTensor) else 0
    return self.ndim - sparse_dim(self) - batch


def _compressed_part(self: Tensor, what: str, layout: layouts.layout, kind: str, plain: bool) -> Tensor:
    blocked = layouts.sparse_bsr if layout is layouts.sparse_csr else layouts.sparse_bsc
    if not isinstance(self, CompressedTensor) or self.layout not in (layout, blocked):
        raise _refuse(self, what, f"sparse {kind} compressed")
    return detached(self._plain if plain else self._compressed)


@handles("crow_indices")
@api("Tensor")
def crow_indices(self: Tensor) -> Tensor:
    """Where the rows of a CSR tensor begin: (rows + 1).

    >>> import flambeau as torch
    >>> torch.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return _compressed_part(self, "crow_indices", layouts.sparse_csr, "row", False)


@handles("col_indices")
@api("Tensor")
def col_indices(self: Tensor) -> Tensor:
    """The columns (N) of a CSR tensor's entries.

    >>> import flambeau as torch
    >>> torch.eye(2).to_sparse_csr().col_indices()
    tensor([0, 1])
    """
    return _compressed_part(self, "col_indices", layouts.sparse_csr, "row", True)


@handles("ccol_indices")
@api("Tensor")
def ccol_indices(self: Tensor) -> Tensor:
    """Where the columns of a CSC tensor begin: (columns + 1).

    >>> import flambeau as torch
    >>> torch.eye(2).to_sparse_csc().ccol_indices()
    tensor([0, 1, 2])
    """
    return _compressed_part(self, "ccol_indices", layouts.sparse_csc, "column", False)


@handles("row_indices")
@api("Tensor")
def row_indices(self: Tensor) -> Tensor:
    """The rows (N) of a CSC tensor's entries.

    >>> import flambeau as torch
    >>> torch.eye(2).to_sparse_csc().row_indices()
    tensor([0, 1])
    """
    return _compressed_part(self, "row_indices", layouts.sparse_csc, "column", True)


# --- coalescing ---------------------------------------------------------------------------------------------


@handles("coalesce")
@api("Tensor")
def coalesce(self: Tensor) -> CooTensor:
    """The same tensor with ascending coordinates, entries of the same place added up; this looks.

    >>> import flambeau as torch
    >>> torch.sparse_coo_tensor([[1, 0, 1]], [1., 2., 3.]).coalesce().values()
    tensor([2., 4.])
    """
    x = _coo_only(self, "coalesce")
    return x if x._coalesced else sorted_coo(x._indices_, x._entries, x.shape, "Coalesce")


def sorted_coo(places: Tensor, entries: Tensor, shape: Any, name: str) -> CooTensor:
    """Entries added up by place, in ascending order of the places."""
    found, first, group = np.unique(positions(places, shape), return_index=True, return_inverse=True)
    # In room for all, as PyTorch leaves them.
    coordinates = np.zeros(places.shape, np.int64)
    coordinates[:, :first.size] = look(places, "coalesce")[:, first]
    summed = spread(entries, from_array(group.reshape(1, -1)), (found.size, *entries.shape[1:]))
    return coo(from_array(coordinates)[:, :first.size], named(summed, name), shape, True)


# --- between layouts ----------------------------------------------------------------------------------------


@handles("to_dense")
@api("Tensor")
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor with all its elements.

    >>> import flambeau as torch
    >>> torch.sparse_coo_tensor([[1, 1]], [1., 2.], (3,)).to_dense()
    tensor([0., 3., 0.])
    """
    dense = spread(self._elements(), self._places(), self.shape) if isinstance(self, SparseTensor) else self
    return dense if dtype is None else dense.to(dtype)


@handles("to_sparse", "to_sparse_coo")
@api("Tensor", aliases=("to_sparse_coo",))
def to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None,
              dense_dim: int | None = None) -> Any:
    """The elements that are not 0 (of the first ``sparse_dim`` dimensions), with coordinates; this looks.

    >>> import flambeau as torch
    >>> torch.tensor([0., 2., 0.]).to_sparse()
    tensor(indices=tensor([[1]]),
           values=tensor([2.]),
           size=(3,), nnz=1, layout=torch.sparse_coo)
    """
    if layout is not None and layout is not layouts.sparse_coo:
        return _to_compressed(self, layout, blocksize, dense_dim)
    if isinstance(self, CooTensor):
        return self
    if isinstance(self, CompressedTensor):
        in_order = self.layout is layouts.sparse_csr
        found = coo(self._places(), self._elements(), self.shape, in_order)
        return found if in_order else coalesce(found)
    count = self.ndim if sparse_dim is None else sparse_dim
    if not 0 <= count <= self.ndim:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{self.ndim}] range, but "
                           f"{count} is given")
    present = (look(self, "to_sparse") != 0).any(tuple(range(count, self.ndim)))
    places = from_array(np.stack(np.nonzero(present)) if count else np.zeros((0, int(present)), np.int64))
    return coo(places, named(pick(self, places), "ToSparse"), self.shape, True)


layouts.SPARSE_FACTORIES["to_sparse"] = to_sparse


@handles("to_sparse_csr")
@api("Tensor")
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> CompressedTensor:
    """The elements that are not 0, row by row; this looks.

    >>> import flambeau as torch
    >>> torch.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return _to_compressed(self, layouts.sparse_csr, None, dense_dim)


@handles("to_sparse_csc")
@api("Tensor")
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> CompressedTensor:
    """The elements that are not 0, column by column; this looks.

    >>> import flambeau as torch
    >>> torch.eye(2).to_sparse_csc().values()
    tensor([1., 1.])
    """
    return _to_compressed(self, layouts.sparse_csc, None, dense_dim)


@handles("to_sparse_bsr")
@api("Tensor")
def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> CompressedTensor:
    """The blocks that are not all 0, by rows of blocks; this looks.

    >>> import flambeau as torch
    >>> torch.eye(4).to_sparse_bsr((2, 2)).col_indices()
    tensor([0, 1])
    """
    return _to_compressed(self, layouts.sparse_bsr, blocksize, dense_dim)


@handles("to_sparse_bsc")
@api("Tensor")
def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> CompressedTensor:
    """The blocks that are not all 0, by columns of blocks; this looks.

    >>> import flambeau as torch
    >>> torch.eye(2).to_sparse_bsc((2, 1)).values().shape
    torch.Size([2, 2, 1])
    """
    return _to_compressed(self, layouts.sparse_bsc, blocksize, dense_dim)


def _to_compressed(self: Tensor, layout: layouts.layout, blocksize: Any = None,
                   wanted: int | None = None) -> CompressedTensor:
    blocked, name = layout in BLOCKED, f"to_{layout.name}"
    if isinstance(self, CompressedTensor):
        same = self.layout is layout
        if same and (not blocked or blocksize is None or tuple(blocksize) == self._blocksize):
            return self
        if self.layout in BLOCKED and not blocked:
            raise RuntimeError(f"sparse_compressed_to_{layout.name}: expected SparseCsr or SparseCsc layout "
                               f"but got {NAMES[self.layout.name]}")
        if self.layout in BLOCKED and blocksize is not None and tuple(blocksize) != self._blocksize:
            raise RuntimeError(f"{name}: conversion from {NAMES[self.layout.name]} to "
                               f"{NAMES[layout.name]} with "
                               f"blocksize changed from {list(self._blocksize)} to {list(blocksize)} is not "
                               "supported")
        blocksize = self._blocksize if self.layout in BLOCKED and blocksize is None else blocksize
    dense = dense_dim(self) if self._sparse else wanted or 0
    if self.ndim - dense < 2:
        raise RuntimeError(f"{name}: expected a tensor with at least two dimensions that are not dense, but "
                           f"got one with {self.ndim} dimensions")
    size = check_blocksize(self, layout, blocksize, dense) if blocked else None
    return compress(coalesce(to_sparse(self, None if self._sparse else self.ndim - dense)), layout, size)


def like_layout(x: CooTensor, other: Tensor) -> Any:
    """A tensor in another's layout."""
    if not isinstance(other, CompressedTensor):
        return x
    return _to_compressed(x, other.layout, other._blocksize if other.layout in BLOCKED else None)


@handles("sparse_mask")
@api("Tensor")
def sparse_mask(self: Tensor, mask: Tensor) -> Any:
    """The elements of a tensor at the places of a sparse one.

    >>> import flambeau as torch
    >>> torch.tensor([5., 6.]).sparse_mask(torch.sparse_coo_tensor([[1]], [1.], (2,)))
    tensor(indices=tensor([[1]]),
           values=tensor([6.]),
           size=(2,), nnz=1, layout=torch.sparse_coo)
    """
    if not isinstance(mask, SparseTensor):
        raise RuntimeError("sparse_mask: expected mask to be sparse")
    if self.shape != mask.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size "
                           f"{list(self.shape)} but mask has size {list(mask.shape)}")
    if isinstance(self, SparseTensor):
        found = sampled(coalesce(to_sparse(self)), mask._places())
    else:
        found = pick(self, mask._places())
    return mask._with(found if found.shape == mask._entries.shape else found.reshape(mask._entries.shape))


def sampled(x: CooTensor, places: Tensor) -> Tensor:
    """The elements of a coalesced tensor at other places; 0 where it has none; this looks."""
    have, wanted = positions(x._indices_, x.shape), positions(places, x.shape)
    if not have.size:
        return x._entries.new_zeros((wanted.size, *x._entries.shape[1:]))
    at = np.minimum(np.searchsorted(have, wanted), have.size - 1)
    found = from_array(have[at] == wanted).reshape(-1, *[1] * (x._entries.ndim - 1))
    return ops.where(found, x._entries.index_select(0, from_array(at)), x._entries.new_zeros(()))
