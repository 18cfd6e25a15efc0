"""Sparse matrices from their diagonals."""

from __future__ import annotations

from typing import Any

from .. import dtypes, layouts
from .. import operators as ops
from ..tensor import Tensor
from .construct import sparse_coo_tensor

_LAYOUTS = {layouts.sparse_coo: None, layouts.sparse_csr: "to_sparse_csr",
            layouts.sparse_csc: "to_sparse_csc"}


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """The sparse matrix whose diagonal ``offsets[i]`` is row i of ``diagonals`` (D, N).

    Element j of a row comes to column j; what lies outside of ``shape`` is left out.

    >>> import flambeau as torch
    >>> torch.sparse.spdiags(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([0, 1]), (2, 2)).to_dense()
    tensor([[1., 4.],
            [0., 2.]])
    """
    shape = tuple(shape)
    rows = diagonals.unsqueeze(0) if diagonals.ndim == 1 else diagonals
    if rows.ndim != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if offsets.ndim > 1:
        raise RuntimeError("Offsets must be scalar or vector")
    places = offsets.reshape(-1)
    if len(places) != len(rows):
        raise RuntimeError(f"Number of diagonals ({len(rows)}) does not match the number of offsets "
                           f"({len(places)})")
    if layout is not None and layout not in _LAYOUTS:
        raise RuntimeError("Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got "
                           f"{str(layout).removeprefix('torch.').title().replace('_', '')}")
    if offsets.dtype is not dtypes.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {dtypes.SCALAR_NAMES[offsets.dtype]}")
    if len(set(places.tolist())) < len(places):
        raise RuntimeError("Offset tensor contains duplicate values")

    columns = ops.arange(rows.shape[1], device=rows.device).expand(rows.shape)
    lines = columns - places.unsqueeze(1)
    inside = (lines >= 0) & (lines < shape[0]) & (columns < shape[1])
    positions = ops.stack([lines[inside], columns[inside]])
    found = sparse_coo_tensor(positions, rows[inside], shape)
    conversion = _LAYOUTS.get(layout)
    return found if conversion is None else getattr(found, conversion)()
