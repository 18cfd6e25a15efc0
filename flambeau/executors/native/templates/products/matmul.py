"""Products of matrices, vectors and batches of them.

Every one is C = A B with axes of four kinds: of the batch, of rows (in A and C), of columns (in B and C) and
of the depth. Axes that lie in memory like one are merged: a batch times a single matrix is one product. Views
are absorbed by packing, whatever their strides.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .....dtypes import dtype
from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...llvm.emitter import FLOAT32, FLOAT64, Dtype
from ...llvm.lanes import FLOATING
from ...plan import Plan
from ...products.blocking import Matrix, Problem, Target, product_plan
from ...products.epilogue import ITEM, Added, Arguments, Operand, Scaled

# How a summand enters; see operators/products/matmul_add.py.
_IGNORE, _PLAIN, _SCALED = range(3)


class Axis(NamedTuple):
    """An axis of the result: its extent, and strides in A, B, C and the summand (0: it does not have it)."""

    extent: int
    a: int
    b: int
    c: int
    s: int = 0

    def holds(self, inner: Axis) -> bool:
        """Whether this axis continues ``inner`` in every operand."""
        n = inner.extent
        return self.c == n * inner.c and self.a == n * inner.a and self.b == n * inner.b \
            and self.s == n * inner.s

    def repeated(self, count: int) -> Axis:
        """This axis joined to one of ``count`` that continues it."""
        return Axis(self.extent * count, self.a, self.b, self.c, self.s)

    def exchanged(self) -> Axis:
        return Axis(self.extent, self.b, self.a, self.c, self.s)


class _Summand(NamedTuple):
    position: int
    geometry: Geometry
    numbers: tuple[int, int] | None     # operands beta and alpha


def product(signature: Signature, a: int, b: int, batch: Sequence[Axis], row: Axis, column: Axis,
            depth: tuple[int, int, int], summand: _Summand | None = None,
            alpha: int | None = None) -> Problem | None:
    """Operand a times operand b; ``depth``: extent, stride in A, stride in B."""
    output, geometries = signature.outputs[0], signature.geometries
    types = _types(geometries[a].dtype, geometries[b].dtype, output.dtype)
    if types is None or not output.numel or not depth[0] or output.offset:
        return None
    source, target, compute = types
    if batch:
        batch, row, column = _merged(batch, row, column)
    left, right = (a, depth[1]), (b, depth[2])
    if (column.extent == 1 and row.extent > 1) or (column.c != 1 and row.c == 1 and row.extent > 1):
        # The transposed product has adjacent columns.
        row, column, left, right = column.exchanged(), row.exchanged(), right, left
        batch = [axis.exchanged() for axis in batch]
    if len(batch) > ITEM:
        return None
    extents, in_a, in_b, in_c, in_s = zip(*[_ONE] * (ITEM - len(batch)), *batch) if batch else _NO_BATCH
    epilogue: Arguments | None = None
    if summand is not None:
        strides = (*in_s, row.s, column.s if column.extent > 1 else 0)
        epilogue = Added(Operand(summand.position, summand.geometry, strides), compute, summand.numbers)
    elif alpha is not None:
        epilogue = Scaled(compute, alpha)
    return Problem(
        row.extent, column.extent, depth[0], extents,
        Matrix(left[0], geometries[left[0]], row.a, left[1], in_a),
        Matrix(right[0], geometries[right[0]], right[1], column.b, in_b),
        Target(row.c, column.c if column.extent > 1 else 1, in_c),
        source, target, compute, epilogue)


_ONE = Axis(1, 0, 0, 0, 0)
_NO_BATCH = tuple(zip(*[_ONE] * ITEM))


@functools.cache
def _types(a: dtype, b: dtype, out: dtype) -> tuple[Dtype, Dtype, Dtype] | None:
    """The types of both operands, of the result and of the sums, if there is a native form."""
    source, target = a.numpy, out.numpy
    if a is not b or source not in FLOATING or target not in FLOATING \
            or (target == FLOAT64) != (source == FLOAT64):
        return None
    return source, target, FLOAT64 if source == FLOAT64 else FLOAT32


def _merged(batch: Sequence[Axis], row: Axis, column: Axis) -> tuple[list[Axis], Axis, Axis]:
    """Batch axes joined to the rows, to the columns or to each other where they lie like one."""
    left: list[Axis] = []
    for axis in reversed(batch):
        if axis.extent == 1:
            continue
        if axis.b == 0 and (row.extent == 1 or axis.holds(row)):
            row = axis if row.extent == 1 else row.repeated(axis.extent)
        elif axis.a == 0 and (column.extent == 1 or axis.holds(column)):
            column = axis if column.extent == 1 else column.repeated(axis.extent)
        elif left and axis.holds(left[0]):
            left[0] = left[0].repeated(axis.extent)
        else:
            left.insert(0, axis)
    for i, axis in enumerate(left):
        if axis.b == 0 and axis.extent > row.extent and 1 not in (axis.c, row.c):
            left[i], row = row, axis    # either may be the rows of a single matrix B: fewer products
    return left, row, column


def _aligned(g: Geometry, ndim: int) -> list[int]:
    """Strides of an operand that broadcasts to a shape of so many dimensions."""
    lead = ndim - g.ndim
    return [0] * lead + [0 if n == 1 else s for n, s in zip(g.shape, g.strides)]


# --- operators ----------------------------------------------------------------------------------------------
# Shapes are unpacked, not indexed: planning a new shape is on the way of each step that has one.


def _linear(signature: Signature) -> Problem | None:
    x, w, bias = signature.geometries
    out = signature.outputs[0]
    if x.ndim == 0 or not out.numel:
        return None
    n, k = w.shape
    across, down = w.strides
    summand = _Summand(2, bias, None) if isinstance(bias, Geometry) else None
    if x.is_contiguous and out.is_contiguous and (summand is None or bias.ndim == 1):
        column = Axis(n, 0, across, 1, 0 if summand is None or bias.numel == 1 else bias.strides[0])
        return product(signature, 0, 1, (), Axis(out.numel // n, k, 0, n), column, (k, 1, down), summand)
    none = [0] * out.ndim
    added = none if summand is None else _aligned(bias, out.ndim)
    *outer, _ = out.shape
    batch = list(map(Axis, outer, x.strides, none, out.strides, added))
    row = batch.pop() if batch else _ONE
    column = Axis(n, 0, across, out.strides[-1], added[-1])
    return product(signature, 0, 1, batch, row, column, (k, x.strides[-1], down), summand)


def _matmul(signature: Signature) -> Problem | None:
    a, b = signature.geometries
    return _matrices(signature, 0, 1, a, b)


def _matrices(signature: Signature, i: int, j: int, a: Geometry, b: Geometry,
              summand: _Summand | None = None, alpha: int | None = None) -> Problem | None:
    """(..., M, K) by (..., K, N), leading dimensions broadcast."""
    out = signature.outputs[0]
    if not out.numel:
        return None
    ndim = out.ndim
    *outer, m, n = out.shape
    down, across = b.strides[-2:]
    if outer and summand is None and b.ndim == 2 and a.is_contiguous and out.is_contiguous:
        k = a.shape[-1]
        return product(signature, i, j, (), Axis(out.numel // n, k, 0, n), Axis(n, 0, across, 1),
                       (k, 1, down), None, alpha)
    added = _aligned(summand.geometry, ndim) if summand is not None else [0] * ndim
    batch: list[Axis] = []
    if outer:
        left, right = _aligned(a, ndim), _aligned(b, ndim)
        batch = list(map(Axis, outer, left, right, out.strides, added))
    row = Axis(m, a.strides[-2], 0, out.strides[-2], added[-2])
    column = Axis(n, 0, across, out.strides[-1], added[-1])
    return product(signature, i, j, batch, row, column, (a.shape[-1], a.strides[-1], down), summand, alpha)


def _with_summand(signature: Signature) -> tuple[_Summand | None, int | None]:
    mode, = signature.attributes
    if mode == _IGNORE:
        return None, 4
    return _Summand(0, signature.geometries[0], (3, 4) if mode == _SCALED else None), None


def _addmm(signature: Signature) -> Problem | None:
    g, a, b = signature.geometries[:3]
    if g.dtype is not a.dtype:
        return None
    return _matrices(signature, 1, 2, a, b, *_with_summand(signature))


def _vector(signature: Signature, i: int, summand: _Summand | None = None,
            alpha: int | None = None) -> Problem | None:
    """(N, K) by (K)."""
    a, v = signature.geometries[i:i + 2]
    out = signature.outputs[0]
    added = _aligned(summand.geometry, out.ndim)[0] if summand is not None else 0
    row = Axis(a.shape[0], a.strides[0], 0, out.strides[0], added)
    return product(signature, i, i + 1, [], row, Axis(1, 0, 0, 1), (a.shape[1], a.strides[1], v.strides[0]),
                   summand, alpha)


def _mv(signature: Signature) -> Problem | None:
    return _vector(signature, 0)


def _addmv(signature: Signature) -> Problem | None:
    return _vector(signature, 1, *_with_summand(signature))


def _dot(signature: Signature) -> Problem | None:
    a, b = signature.geometries
    return product(signature, 0, 1, [], Axis(1, 0, 0, 1), Axis(1, 0, 0, 1),
                   (a.shape[0], a.strides[0], b.strides[0]))


def _addr(signature: Signature) -> Problem | None:
    g, a, b = signature.geometries[:3]
    if not (g.dtype is a.dtype is b.dtype):
        return None
    summand, alpha = _with_summand(signature)
    out = signature.outputs[0]
    added = _aligned(g, out.ndim) if summand is not None else [0, 0]
    row = Axis(a.shape[0], a.strides[0], 0, out.strides[0], added[0])
    column = Axis(b.shape[0], 0, b.strides[0], out.strides[1], added[1])
    return product(signature, 1, 2, [], row, column, (1, 0, 0), summand, alpha)


_PROBLEMS: dict[str, Callable[[Signature], Problem | None]] = {
    "linear": _linear, "mm": _matmul, "bmm": _matmul, "matmul": _matmul, "addmm": _addmm, "baddbmm": _addmm,
    "mv": _mv, "addmv": _addmv, "dot": _dot, "addr": _addr,
}


def problem_of(signature: Signature) -> Problem | None:
    """The product that a signature is; who fuses what follows into it adds that as ``after``."""
    return _PROBLEMS[signature.operator.name](signature)


def _plan(signature: Signature) -> Plan | None:
    problem = problem_of(signature)
    return None if problem is None else product_plan(problem)


TEMPLATES = dict.fromkeys(_PROBLEMS, _plan)
