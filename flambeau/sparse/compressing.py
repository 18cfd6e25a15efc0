"""Compressed layouts, of single elements or of blocks, in batches or not: how entries and places correspond.

    layout      compressed, plain    entries
    CSR, CSC    rows, columns        (*batch, nnz, *dense)
    BSR, BSC    rows, columns        (*batch, nnz, *block, *dense)

of blocks the rows and columns are those of a matrix of blocks; in CSC and BSC columns and rows are exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import dtypes, layouts
from ..autograd.grad_mode import inference_mode
from ..graph.storage import Storage
from ..operators.creation.ranges import arange
from ..operators.declaration.registry import api
from ..operators.interop.looking import look
from ..operators.reductions.sorting import searchsorted
from ..tensor import Tensor
from ..tensor.construct import from_array
from .compressed import CompressedTensor, compressed
from .kernels import spread
from .tensor import CooTensor

BLOCKED = (layouts.sparse_bsr, layouts.sparse_bsc)
BY_ROW = (layouts.sparse_csr, layouts.sparse_bsr)
NAMES = {"strided": "Strided", "sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc",
         "sparse_bsr": "SparseBsr", "sparse_bsc": "SparseBsc"}
WORDS = {"sparse_csr": ("crow", "col"), "sparse_csc": ("ccol", "row"), "sparse_bsr": ("crow", "col"),
         "sparse_bsc": ("ccol", "row")}


def block_places(x: CompressedTensor) -> np.ndarray[Any, Any]:
    """Batch coordinates, row and column of each entry (a block is one entry): (batch dims + 2, total)."""
    starts, plain = look(x._compressed, "crow_indices"), look(x._plain, "col_indices")
    return _places(starts, plain, x._layout in BY_ROW).astype(np.int64)


def _places(starts: Any, plain: Any, by_row: bool) -> np.ndarray[Any, Any]:
    batch, count = plain.shape[:-1], plain.shape[-1]
    steps = np.diff(starts.reshape(-1, starts.shape[-1]), axis=1)
    lines = np.arange(steps.shape[1])
    major = np.concatenate([np.repeat(lines, each) for each in steps] or [lines[:0]])
    where = [np.repeat(row, count) for row in np.indices(batch).reshape(len(batch), prod(batch))]
    pair = (major, plain.reshape(-1)) if by_row else (plain.reshape(-1), major)
    return np.stack([*where, *pair])


@api("torch")
def _convert_indices_from_csr_to_coo(crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False,
                                     transpose: bool = False) -> Tensor:
    """The coordinates (batch dims + 2, N) of entries given by where rows begin and by columns; with
    ``transpose`` column before row.

    >>> import flambeau as torch
    >>> torch._convert_indices_from_csr_to_coo(torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1]))
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    starts, plain = look(crow_indices, "crow_indices"), look(col_indices, "col_indices")
    return from_array(_places(starts, plain, not transpose).astype(np.int32 if out_int32 else np.int64))


@api("torch")
def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each of ``size`` rows begins (size + 1) among entries whose rows (N) are in order.

    >>> import flambeau as torch
    >>> torch._convert_indices_from_coo_to_csr(torch.tensor([0, 0, 2]), 3)
    tensor([0, 2, 2, 3])
    """
    if input.ndim != 1:
        raise RuntimeError(f"Input is supposed to be a vector, but got {input.ndim} dimensional tensor.")
    if input.dtype.category != dtypes.INTEGER:
        raise NotImplementedError("\"convert_indices_from_coo_to_csr_cpu\" not implemented for "
                                  f"'{dtypes.SCALAR_NAMES[input.dtype]}'")
    lines = arange(size + 1, dtype=input.dtype, device=input.device)
    return searchsorted(input, lines).to(dtypes.int32 if out_int32 else dtypes.int64)


# By the storage of the columns: what the coordinates were found from, and they. Iterations multiply by the
# same matrix again and again, and to find them costs more than a small product.
_found: WeakKeyDictionary[Storage, tuple[Any, Tensor, Any]] = WeakKeyDictionary()


def element_places(x: CompressedTensor) -> Tensor:
    """The coordinates of each element, in the order of ``element_entries``; those found last if right."""
    starts, plain = x._compressed, x._plain
    if starts._storage.exposed or plain._storage.exposed:
        return _element_places(x)       # others may write there unseen
    source = (starts._storage.node, plain._storage.node, starts._geometry, plain._geometry, x._layout,
              x._blocksize)
    known = _found.get(plain._storage)
    if known is not None and all(map(is_, known[0], source[:5])) and known[0][5] == source[5]:
        storage = known[1]._storage
        if storage.node is known[2] and not storage.exposed:    # nobody wrote to what was handed out
            return known[1]
    with inference_mode(False):     # gradients may need them later
        places = _element_places(x)
    _found[plain._storage] = source, places, places._storage.node
    return places


def _element_places(x: CompressedTensor) -> Tensor:
    places = block_places(x)
    if x._layout in BLOCKED:
        high, wide = x._blocksize
        count = places.shape[1]
        places = np.repeat(places, high * wide, axis=1)
        inner = np.tile(np.indices((high, wide)).reshape(2, -1), count)
        places[-2:] = places[-2:] * np.array([[high], [wide]]) + inner
    return from_array(places)


def element_entries(x: CompressedTensor) -> Tensor:
    """The entries one by one: (total, *dense)."""
    lead = x._plain.ndim + 2 * (x._layout in BLOCKED)
    return x._entries if lead == 1 else x._entries.reshape(-1, *x._entries.shape[lead:])


def compress(x: CooTensor, layout: layouts.layout,
             blocksize: Sequence[int] | None = None) -> CompressedTensor:
    """A coalesced tensor with coordinates (*batch, row, column) in a compressed layout; this looks."""
    places = look(x._indices_, "to_sparse_csr")
    batch, (rows, columns) = x.shape[:places.shape[0] - 2], x.shape[places.shape[0] - 2:places.shape[0]]
    high, wide = blocksize or (1, 1)
    which = np.zeros(places.shape[1], np.int64)
    for d, extent in enumerate(batch):
        which = which * extent + places[d]
    pair, counts = (places[-2] // high, places[-1] // wide), (rows // high, columns // wide)
    if layout not in BY_ROW:
        pair, counts = pair[::-1], counts[::-1]
    key = (which * counts[0] + pair[0]) * counts[1] + pair[1]
    kept, inverse = np.unique(key, return_inverse=True)
    line, minor = np.divmod(kept, max(counts[1], 1))
    of_batch, major = np.divmod(line, max(counts[0], 1))
    total = prod(batch)
    sizes = np.bincount(of_batch, minlength=total)
    if total and (sizes != sizes[0]).any():
        raise RuntimeError("Expect the same number of specified elements per batch.")
    count = int(sizes[0]) if total else 0
    starts = np.zeros((total, counts[0] + 1), np.int64)
    np.add.at(starts, (of_batch, major + 1), 1)
    dense = x.shape[places.shape[0]:]
    if blocksize is None:
        entries = x._entries.index_select(0, from_array(np.argsort(key, kind="stable")))
        entries = entries.reshape(*batch, count, *dense) if batch else entries
    else:
        inside = from_array(np.stack([inverse.reshape(-1), places[-2] % high, places[-1] % wide]))
        entries = spread(x._entries, inside, (kept.size, high, wide, *dense))
        entries = entries.reshape(*batch, count, high, wide, *dense)
    return compressed(from_array(starts.cumsum(1).reshape(*batch, counts[0] + 1)),
                      from_array(minor.reshape(*batch, count).copy()), entries, x.shape, layout)


def check_blocksize(x: Tensor, layout: layouts.layout, blocksize: Any, dense_dim: int) -> Sequence[int]:
    """The block size of a conversion, which must divide the matrix."""
    name = NAMES[layout.name]
    if blocksize is None:
        raise RuntimeError(f"dense_to_sparse: conversion from {NAMES[x.layout.name]} to {name} without "
                           "blocksize argument given is not supported")
    if len(blocksize) != 2 or min(blocksize) <= 0:
        raise RuntimeError(f"dense_to_{layout.name}: blocksize needs to be a tuple of two positive integers, "
                           f"got {tuple(blocksize)}")
    end = x.ndim - dense_dim
    rows, columns = x.shape[end - 2:end]
    if rows % blocksize[0] or columns % blocksize[1]:
        raise RuntimeError(f"dense_to_{layout.name}: tensor sparse size ({rows},{columns}) must be divisible "
                           f"by given blocksize ({blocksize[0]},{blocksize[1]})")
    return tuple(blocksize)
