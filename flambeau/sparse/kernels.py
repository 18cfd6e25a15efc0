"""The operators under sparse tensors: spreading entries, picking them, products."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..graph.geometry import Geometry, contiguous
from ..operators.declaration.definition import operator
from ..operators.declaration.prices import per_element
from ..operators.sequences.embedding import sum_rows
from ..tensor import Tensor, record
from ..tensor.aliasing.views import view, view_operator

_BLOCK = 1 << 22  # products that a matrix product holds at a time


def _wide(values: Any) -> Any:
    """16-bit floating numbers are summed in float32."""
    narrow = values.dtype.itemsize == 2 and values.dtype.kind not in "iu"
    return values.astype(np.float32) if narrow else values


def _linear(indices: Any, extents: tuple[int, ...]) -> Any:
    """Coordinates (D, N) as positions (N) in a contiguous tensor."""
    for d, extent in enumerate(extents):
        row = indices[d]
        if row.size and (row.min() < 0 or row.max() >= extent):
            bad = row.min() if row.min() < 0 else row.max()
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {extent} but found "
                               f"index {bad}")
    if not extents:
        return np.zeros(indices.shape[1], np.int64)
    strides = np.cumprod((1, *extents[:0:-1]))[::-1]
    return strides.astype(np.int64) @ indices.astype(np.int64)


def _spread_geometry(operands: Any, attributes: Any) -> Geometry:
    return contiguous(attributes[0], operands[0].dtype, operands[0].device)


@operator("sparse_spread", _spread_geometry, grad_name="ToDenseBackward0")
def SPREAD(m: Any, values: Any, indices: Any, shape: tuple[int, ...]) -> Any:
    """Entries (N, *) added up at coordinates (D, N) of a tensor of zeros of ``shape``."""
    extents = shape[:indices.shape[0]]
    rows = _wide(values).reshape(values.shape[0], prod(values.shape[1:]))
    total = sum_rows(m, _linear(indices, extents), rows, prod(extents))
    return total.reshape(shape).astype(values.dtype, copy=False)


@SPREAD.derivative("values", keeps="indices")
def _(ctx: Any, grad: Tensor, indices: Tensor) -> Tensor:
    return pick(grad, indices)


def _pick_geometry(operands: Any, attributes: Any) -> Geometry:
    source, indices = operands
    return contiguous((indices.shape[1], *source.shape[indices.shape[0]:]), source.dtype, source.device)


@operator("sparse_pick", _pick_geometry, grad_name="SparseMaskBackward0")
def PICK(m: Any, source: Any, indices: Any) -> Any:
    """The elements of a tensor at coordinates (D, N): (N, *)."""
    if indices.shape[0] == 0:
        return np.repeat(source[None], indices.shape[1], axis=0)
    return source[tuple(indices)]


@PICK.derivative("source", keeps="indices")
def _(ctx: Any, grad: Tensor, indices: Tensor) -> Tensor:
    return spread(grad, indices, ctx.operand_geometry(0).shape)


def _product_geometry(operands: Any, attributes: Any) -> Geometry:
    values, _, dense = operands
    if values.dtype is not dense.dtype:
        raise RuntimeError(f"addmm: Expected mat1 and mat2 to have the same dtype, but got {values.dtype!r} "
                           f"and {dense.dtype!r}")
    return contiguous((attributes[0], dense.shape[1]), dense.dtype, dense.device)


@operator("sparse_product", _product_geometry, grad_name="MmBackward0", price=per_element(20.0))
def PRODUCT(m: Any, values: Any, indices: Any, dense: Any, rows: int) -> Any:
    """The matrix with entries (N) at (2, N), times a dense one (K, M): (rows, M)."""
    left, right = _wide(values), _wide(dense)
    step = max(1, _BLOCK // max(1, dense.shape[1]))
    total = np.zeros((rows, dense.shape[1]), right.dtype)
    for start in range(0, values.shape[0], step):
        part = slice(start, start + step)
        products = left[part, None] * right[indices[1, part]]
        total += sum_rows(m, indices[0, part], products, rows)
    return total.astype(dense.dtype, copy=False)


@PRODUCT.derivative("values", keeps="indices dense")
def _(ctx: Any, grad: Tensor, indices: Tensor, dense: Tensor) -> Tensor:
    left = grad.index_select(0, indices[0])
    return (left * dense.conj().index_select(0, indices[1])).sum(1)


@PRODUCT.derivative("dense", keeps="values indices")
def _(ctx: Any, grad: Tensor, values: Tensor, indices: Tensor) -> Tensor:
    return product(values.conj(), indices.flip(0), grad, ctx.operand_geometry(2).shape[0])


def spread(values: Tensor, indices: Tensor, shape: tuple[int, ...]) -> Tensor:
    """See ``SPREAD``."""
    return record(SPREAD, (values, indices), (tuple(shape),))


def pick(source: Tensor, indices: Tensor) -> Tensor:
    """See ``PICK``."""
    return record(PICK, (source, indices))


def product(values: Tensor, indices: Tensor, dense: Tensor, rows: int) -> Tensor:
    """See ``PRODUCT``."""
    return record(PRODUCT, (values, indices, dense), (rows,))


# --- names for history --------------------------------------------------------------------------------------

def _name(grad_name: str) -> Any:
    made = view_operator("sparse_entries", lambda geometry: geometry, grad_name=grad_name)
    made.derivative("input")(lambda ctx, grad: grad)
    return made


_NAMES = {name: _name(f"{name}Backward{int(name == 'ToSparse')}") for name in (
    "SparseCooTensorWithDimsAndTensors", "SparseCompressedTensor", "Coalesce", "Values", "Add", "Sub",
    "SparseSum", "SparseSoftmax", "SparseLogSoftmax", "SparseSparseMatmul", "T", "Transpose", "Permute",
    "SparseAddmm", "Addmm", "Cat", "Select", "IndexSelect", "Unsqueeze", "Mul", "ToSparse", "Mm", "Mv",
    "SparseMmReduceImpl")}


def named(entries: Tensor, name: str) -> Tensor:
    """The same tensor, with a grad_fn of the name that PyTorch gives it."""
    return view(_NAMES[name], entries)
