"""Products of matrices, vectors and batches of them.

Every one is C = A B with axes of four kinds: of the batch, of rows (in A and C), of columns (in B and C) and
of the depth. Axes that lie in memory like one are merged: a batch times a single matrix is one product. Views
are absorbed by packing, whatever their strides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....graph.geometry import Geometry
from ....graph.node import Signature
from ..llvm.emitter import FLOAT32, FLOAT64
from ..plan import Plan
from ..products.blocking import Matrix, Problem, Target, product_plan
from ..products.epilogue import ITEM, Added, Arguments, Operand, Scaled
from ..products.lanes import FLOATING

# How a summand enters; see operators/matmul_add.py.
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
        return all(own == inner.extent * other for own, other in zip(self[1:], inner[1:]))

    def exchanged(self) -> Axis:
        return self._replace(a=self.b, b=self.a)


class _Summand(NamedTuple):
    position: int
    geometry: Geometry
    numbers: tuple[int, int] | None     # operands beta and alpha


def product(signature: Signature, a: int, b: int, batch: Sequence[Axis], row: Axis, column: Axis,
            depth: tuple[int, int, int], summand: _Summand | None = None,
            alpha: int | None = None) -> Problem | None:
    """Operand a times operand b; ``depth``: extent, stride in A, stride in B."""
    output = signature.outputs[0]
    source, target = signature.geometries[a].dtype.numpy, output.dtype.numpy
    compute = FLOAT64 if source == FLOAT64 else FLOAT32
    if source not in FLOATING or target not in FLOATING or not output.numel or not depth[0] or output.offset \
            or signature.geometries[b].dtype.numpy != source or (target == FLOAT64) != (source == FLOAT64):
        return None
    batch, row, column = _merged(batch, row, column)
    left, right = (a, depth[1]), (b, depth[2])
    if (column.extent == 1 and row.extent > 1) or (column.c != 1 and row.c == 1 and row.extent > 1):
        # The transposed product has adjacent columns.
        row, column, left, right = column.exchanged(), row.exchanged(), right, left
        batch = [axis.exchanged() for axis in batch]
    if len(batch) > ITEM:
        return None
    items = [Axis(1, 0, 0, 0, 0)] * (ITEM - len(batch)) + batch
    epilogue: Arguments | None = None
    if summand is not None:
        strides = (*[axis.s for axis in items], row.s, column.s if column.extent > 1 else 0)
        epilogue = Added(Operand(summand.position, summand.geometry, strides), compute, summand.numbers)
    elif alpha is not None:
        epilogue = Scaled(compute, alpha)
    geometries = signature.geometries
    return Problem(
        row.extent, column.extent, depth[0], tuple([axis.extent for axis in items]),
        Matrix(left[0], geometries[left[0]], row.a, left[1], tuple([axis.a for axis in items])),
        Matrix(right[0], geometries[right[0]], right[1], column.b, tuple([axis.b for axis in items])),
        Target(row.c, column.c if column.extent > 1 else 1, tuple([axis.c for axis in items])),
        source, target, compute, epilogue)


def _merged(batch: Sequence[Axis], row: Axis, column: Axis) -> tuple[list[Axis], Axis, Axis]:
    """Batch axes joined to the rows, to the columns or to each other where they lie like one."""
    left: list[Axis] = []
    for axis in reversed([axis for axis in batch if axis.extent > 1]):
        if axis.b == 0 and (row.extent == 1 or axis.holds(row)):
            row = axis if row.extent == 1 else row._replace(extent=row.extent * axis.extent)
        elif axis.a == 0 and (column.extent == 1 or axis.holds(column)):
            column = axis if column.extent == 1 else column._replace(extent=column.extent * axis.extent)
        elif left and axis.holds(left[0]):
            left[0] = left[0]._replace(extent=axis.extent * left[0].extent)
        else:
            left.insert(0, axis)
    return left, row, column


def _aligned(g: Geometry, shape: Sequence[int]) -> list[int]:
    """Strides of an operand that broadcasts to a shape."""
    lead = len(shape) - g.ndim
    return [0] * lead + [0 if n == 1 else s for n, s in zip(g.shape, g.strides)]


# --- operators ----------------------------------------------------------------------------------------------


def _linear(signature: Signature) -> Problem | None:
    x, w, bias = signature.geometries
    out = signature.outputs[0]
    if x.ndim == 0:
        return None
    added = _aligned(bias, out.shape) if isinstance(bias, Geometry) else [0] * out.ndim
    batch = [Axis(n, a, 0, c, s) for n, a, c, s in zip(out.shape[:-1], x.strides, out.strides, added)]
    column = Axis(w.shape[0], 0, w.strides[0], out.strides[-1], added[-1])
    row = batch.pop() if batch else Axis(1, 0, 0, 0)
    summand = _Summand(2, bias, None) if isinstance(bias, Geometry) else None
    return product(signature, 0, 1, batch, row, column, (x.shape[-1], x.strides[-1], w.strides[1]), summand)


def _matmul(signature: Signature) -> Problem | None:
    a, b = signature.geometries
    return _matrices(signature, 0, 1, a, b)


def _matrices(signature: Signature, i: int, j: int, a: Geometry, b: Geometry,
              summand: _Summand | None = None, alpha: int | None = None) -> Problem | None:
    """(..., M, K) by (..., K, N), leading dimensions broadcast."""
    out = signature.outputs[0]
    added = _aligned(summand.geometry, out.shape) if summand is not None else [0] * out.ndim
    outer = out.shape[:-2]
    left = [0] * (out.ndim - a.ndim) + [0 if n == 1 else s for n, s in zip(a.shape[:-2], a.strides)]
    right = [0] * (out.ndim - b.ndim) + [0 if n == 1 else s for n, s in zip(b.shape[:-2], b.strides)]
    batch = [Axis(*of) for of in zip(outer, left, right, out.strides, added)]
    row = Axis(out.shape[-2], a.strides[-2], 0, out.strides[-2], added[-2])
    column = Axis(out.shape[-1], 0, b.strides[-1], out.strides[-1], added[-1])
    return product(signature, i, j, batch, row, column, (a.shape[-1], a.strides[-1], b.strides[-2]), summand,
                   alpha)


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
    added = _aligned(summand.geometry, out.shape)[0] if summand is not None else 0
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
    added = _aligned(g, out.shape) if summand is not None else [0, 0]
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
