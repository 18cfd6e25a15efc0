"""Products with banded matrices: each new element is a weighted sum of a few neighbours (resampling)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import dtype as Dtype
from ...graph.geometry import Geometry
from ...graph.operator import Operator
from ...tensor import Tensor, record
from ...tensor.construct import from_array
from ..creation.memory_formats import suggested_geometry
from ..declaration.definition import operator
from ..declaration.prices import per_element


class Band:
    """A matrix (n, count) whose columns are zero except for a few rows that follow one another.

    ``tables(dtype)``: the table of the matrix, and its transpose's, with which gradients are multiplied.
    A table is (1 + taps, count), flat: where each column's nonzero rows start, then the weights of the taps,
    their bits as integers like the starts. A row beyond the last one stands for it, with a weight of 0.
    """

    __slots__ = ("n", "starts", "weights", "_tables")

    def __init__(self, n: int, starts: Any, weights: Any) -> None:
        self.n = n
        self.starts = np.asarray(starts, np.int64)      # (count)
        self.weights = weights                          # (taps, count)
        self._tables: dict[Any, tuple[Any, Any]] = {}

    @property
    def count(self) -> int:
        """How many columns there are."""
        return len(self.starts)

    def is_identity(self) -> bool:
        """Whether the product is the operand."""
        return self.n == self.count and bool(np.array_equal(self.starts, np.arange(self.n))) \
            and bool(np.all(self.weights[0] == 1)) and not np.any(self.weights[1:])

    def tables(self, dtype: Dtype) -> tuple[Any, Any]:
        """Its table and the transpose's."""
        found = self._tables.get(dtype)
        if found is None:
            found = _table(self.starts, self.weights, dtype), _table(*self._transposed(), dtype)
            self._tables[dtype] = found
        return found

    def _transposed(self) -> tuple[Any, Any]:
        """For each row the first column that it is in, and its weights from there on."""
        count = self.count
        tap, column = np.nonzero(self.weights)
        row = np.minimum(self.starts[column] + tap, self.n - 1)
        first = np.full(self.n, count)
        np.minimum.at(first, row, column)
        offset = column - first[row]
        weights = np.zeros((int(offset.max(initial=0)) + 1, self.n))
        np.add.at(weights, (offset, row), self.weights[tap, column])
        return np.minimum(first, count - 1), weights


def band_of(n: int, rows: Any, weights: Any) -> Band:
    """The band of weights (taps, count) at rows (taps, count), ascending in a column; the border stands for
    rows outside.
    """
    inside = np.clip(rows, 0, n - 1)
    used = np.where(weights != 0, inside, n)
    starts = np.minimum(used.min(0), n - 1)
    offset = np.where(weights != 0, inside - starts, 0)
    found = np.zeros((int(offset.max(initial=0)) + 1, len(starts)))
    np.add.at(found, (offset, np.broadcast_to(np.arange(len(starts)), offset.shape)), weights)
    return Band(n, starts, found)


def _table(starts: Any, weights: Any, dtype: Dtype) -> Any:
    numpy_type = np.dtype(dtype.numpy)
    flat = np.empty(starts.size + weights.size, f"i{numpy_type.itemsize}")
    flat[:starts.size] = starts
    flat[starts.size:].view(numpy_type)[...] = weights.reshape(-1)
    return flat


def _geometry(operands: Any, attributes: Any) -> Geometry:
    x, (count, dim) = operands[0], attributes
    shape = list(x.shape)
    shape[dim] = count
    return suggested_geometry(shape, x)


def _banded(m: Any, input: Any, table: Any, transpose: Any, count: int, dim: int) -> Any:
    """input[..., n, ...] times a matrix (n, count) along ``dim``, which is counted from the end."""
    starts, *taps = table.reshape(-1, count)
    shape = (-1, *[1] * (-1 - dim))
    total = None
    for k, bits in enumerate(taps):
        part = np.take(input, np.minimum(starts + k, input.shape[dim] - 1), axis=dim)
        part *= bits.view(input.dtype).reshape(shape)
        total = part if total is None else np.add(total, part, out=total)
    return total


def _gradient(ctx: Any, grad: Tensor, table: Tensor, transpose: Tensor) -> Tensor:
    _, dim = ctx.attributes
    return record(BANDED, (grad, transpose, table), (ctx.operand_geometry(0).shape[dim], dim))


BANDED = operator("banded_product", _geometry, price=per_element(4.0))(_banded)
AVERAGES = operator("banded_product", _geometry, price=per_element(4.0))(_banded)   # of adaptive pooling
BANDED.derivative("input", keeps="table transpose", once=False)(_gradient)
AVERAGES.derivative("input", keeps="table transpose", formal="input")(_gradient)


def banded_product(x: Tensor, dim: int, band: Band, kind: Operator | None = None) -> Tensor:
    """x times the band along one dimension."""
    table, transpose = band.tables(x.dtype)
    return record(kind or BANDED,
                  (x, from_array(table, device=x.device), from_array(transpose, device=x.device)),
                  (band.count, dim - x.ndim if dim >= 0 else dim))
