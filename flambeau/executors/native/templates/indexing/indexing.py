"""gather, scatter, index_select, ``x[i, j]``, index_put and their gradients as walks (``indexed.py``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....graph.geometry import Geometry
from .....graph.node import Signature
from .....graph.strides import row_major_strides
from ...llvm.emitter import BFLOAT16, FLOAT16, FLOAT32, Dtype
from ...movement.averaging import averaged
from ...movement.copying import Place, bits_of, copied, filled
from ...movement.indexed import Index, Side, walked
from ...plan import Call, Plan, Template
from ...recurrent.rounding import cleared, narrowed, widened
from ..shapes.movement import number_for, source_of

Shape = Sequence[int]


def _without(strides: Shape, dim: int) -> list[int]:
    """Strides that do not move along the dimension of the index."""
    return [0 if d == dim else s for d, s in enumerate(strides)]


def expanded(g: Geometry, shape: Shape) -> list[int]:
    """Strides of a broadcast operand."""
    lead = len(shape) - g.ndim
    strides = g.strides[-lead:] if lead < 0 else (*[0] * lead, *g.strides)
    sizes = g.shape[-lead:] if lead < 0 else (*[1] * lead, *g.shape)
    return [s if n == wanted else 0 for n, wanted, s in zip(sizes, shape, strides)]


def _traffic(signature: Signature, positions: Shape) -> float:
    size = signature.outputs[0].dtype.itemsize
    return 1.0 * signature.nbytes + math.prod(positions) * (size + 8.0)


def reading(signature: Signature, positions: Shape, call: Call) -> Plan:
    return Plan([call], traffic=_traffic(signature, positions))


def _accumulated(signature: Signature, positions: Shape, call: Call) -> Plan:
    """A walk that writes into zeros."""
    out = signature.outputs[0]
    return Plan([filled(Place((1,)), (out.numel,), out.dtype.itemsize), call],
                traffic=_traffic(signature, positions))


def added(signature: Signature, positions: Shape, dense: Side, strides: Shape, indices: Sequence[Index],
           wraps: bool = False, rounds: bool = False) -> Plan:
    """Values added to zeros; those of 16-bit types in single precision, rounded last unless ``rounds``."""
    out = signature.outputs[0]
    dtype = out.dtype.numpy
    if rounds or dtype not in (BFLOAT16, FLOAT16):
        call = walked("add", positions, dense, Side(strides), indices, out.dtype, wraps=wraps, rounds=rounds)
        return _accumulated(signature, positions, call)
    call = walked("add", positions, dense, Side(strides, place=0), indices, out.dtype, wraps=wraps)
    calls = [cleared(dtype, out.numel, 0), call, narrowed(dtype, out.numel, 0)]
    return Plan(calls, workspace=-(-4 * out.numel // 64) * 64,
                traffic=_traffic(signature, positions) + 12.0 * out.numel)


def _updated(signature: Signature, positions: Shape, call: Call) -> Plan:
    """A walk that writes into the first operand: in place, or into a copy of an operand that is a part."""
    g, out = signature.geometries[0], signature.outputs[0]
    traffic = _traffic(signature, positions)
    if g.is_dense and not g.offset and g.strides == out.strides:
        return Plan([call], in_place=[(0, 0)], traffic=traffic)
    copy = copied(Place(out.strides), source_of(g), g.shape, out.dtype.itemsize)
    return Plan([copy, call], traffic=traffic)


def _put_or_added(signature: Signature, positions: Shape, dense: Side, strides: Shape,
                  indices: Sequence[Index], action: str, wraps: bool = False,
                  factor: int | None = None) -> Plan:
    """A walk that writes into the first operand; sums of 16-bit types are taken in single precision."""
    g, out = signature.geometries[0], signature.outputs[0]
    dtype = out.dtype.numpy
    if action != "add" or dtype not in (BFLOAT16, FLOAT16) or not isinstance(dense.geometry, Geometry):
        return _updated(signature, positions, walked(action, positions, dense, Side(strides), indices,
                                                     out.dtype, wraps=wraps, factor=factor))
    call = walked("add", positions, dense, Side(strides, place=0), indices, out.dtype, wraps=wraps,
                  factor=factor)
    whole = g.is_dense and not g.offset and g.strides == out.strides
    copies = [] if whole else [copied(Place(out.strides), source_of(g), g.shape, out.dtype.itemsize)]
    calls = [*copies, widened(dtype, out.numel, 0, g if whole else None), call,
             narrowed(dtype, out.numel, 0)]
    return Plan(calls, workspace=-(-4 * out.numel // 64) * 64, in_place=[(0, 0)] if whole else (),
                traffic=_traffic(signature, positions) + 12.0 * out.numel)


def usable(signature: Signature, *positions: Geometry) -> bool:
    """Whether there is something to do, and every extent has an element for an index that is wrong."""
    g, out = signature.geometries[0], signature.outputs[0]
    return g.numel > 0 and out.numel > 0 and g.dtype is out.dtype and all(p.numel for p in positions)


# --- one index along a dimension ----------------------------------------------------------------------------

def _gather(signature: Signature) -> Plan | None:
    """out[..., j, ...] = x[..., index[..., j, ...], ...]."""
    x, index = signature.geometries
    out, dim = signature.outputs[0], signature.attributes[0]
    if not usable(signature, index) or not x.ndim or x.ndim != index.ndim:
        return None
    where = Index(1, index, index.strides, x.shape[dim], x.strides[dim])
    wraps = len(signature.attributes) > 1   # what was chosen by max, sort, ...
    return reading(signature, index.shape, walked("read", index.shape, Side(out.strides),
                                                   Side(_without(x.strides, dim), 0, x), [where], out.dtype,
                                                   wraps=wraps))


def _scattered(signature: Signature, dim: int, shape: Shape, action: str) -> Plan | None:
    """Zeros of ``shape``, and the first operand written or added at the second along ``dim``."""
    grad, index = signature.geometries
    out = signature.outputs[0]
    if not usable(signature, index) or not len(shape) or len(shape) != index.ndim:
        return None
    strides = row_major_strides(shape)
    where = Index(1, index, index.strides, shape[dim], strides[dim])
    dense = Side(grad.strides, 0, grad)
    if action == "add":
        return added(signature, index.shape, dense, _without(strides, dim), [where])
    call = walked(action, index.shape, dense, Side(_without(strides, dim)), [where], out.dtype)
    return _accumulated(signature, index.shape, call)


def _gather_backward(signature: Signature) -> Plan | None:
    dim, shape = signature.attributes
    return _scattered(signature, dim, shape, "add")


def _place(signature: Signature) -> Plan | None:
    shape, dim, accumulate = signature.attributes
    return _scattered(signature, dim, shape, "add" if accumulate else "write")


def _scatter(signature: Signature) -> Plan | None:
    """x[..., index[..., j, ...], ...] = src[..., j, ...], or with something added or multiplied."""
    x, index, src = signature.geometries
    out = signature.outputs[0]
    dim, reduce = (*signature.attributes, "add")[:2]
    if signature.operator.name == "scatter_add":
        reduce = "add"
    if not usable(signature, index) or not x.ndim or x.ndim != index.ndim:
        return None
    dense = _values(src, 2, index.shape, out, broadcast=False)
    if dense is None:
        return None
    where = Index(1, index, index.strides, x.shape[dim], out.strides[dim])
    return _put_or_added(signature, index.shape, dense, _without(out.strides, dim), [where],
                         reduce or "write")


_REDUCTIONS = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "greatest", "amin": "least"}


def _scatter_reduce(signature: Signature) -> Plan | None:
    """A copy of x, at whose positions the source is reduced; first cleared there, where x does not count."""
    x, index, src = signature.geometries
    out = signature.outputs[0]
    dim, reduce, include_self = signature.attributes
    dtype = out.dtype.numpy
    if not usable(signature, index) or src.dtype is not out.dtype or not x.ndim or x.ndim != index.ndim \
            or reduce not in _REDUCTIONS or (reduce == "mean" and dtype.kind in "iu"):
        return None
    where = Index(1, index, index.strides, x.shape[dim], out.strides[dim])
    calls = [copied(Place(out.strides), source_of(x), x.shape, out.dtype.itemsize)]
    to = Side(_without(out.strides, dim))
    if not include_self:
        start = bits_of(_start(reduce, np.dtype(dtype)), np.dtype(dtype))
        calls.append(walked("write", index.shape, Side([0] * index.ndim, start, constant=True), to, [where],
                            out.dtype))
    dense, narrow = Side(src.strides, 2, src), dtype in (BFLOAT16, FLOAT16)
    workspace = -(-4 * out.numel // 64) * 64 if narrow else 0
    to = to._replace(place=0) if narrow else to
    calls += [widened(dtype, out.numel, 0, None)] if narrow else []
    calls.append(walked(_REDUCTIONS[reduce], index.shape, dense, to, [where], out.dtype))
    if reduce == "mean":
        more, room = averaged(out, index.shape, where, dim, include_self, workspace,
                              FLOAT32 if narrow else dtype)
        calls, workspace = [*calls, *more], workspace + room
    calls += [narrowed(dtype, out.numel, 0)] if narrow else []
    return Plan(calls, workspace=workspace, traffic=_traffic(signature, index.shape) + signature.nbytes
                + 12.0 * out.numel * narrow)


def _start(reduce: str, dtype: Dtype) -> Any:
    """What leaves the first element as it is."""
    if reduce in ("amax", "amin"):
        limits: Any = np.iinfo(dtype) if dtype.kind in "iu" else None
        least, greatest = (limits.min, limits.max) if limits else (-np.inf, np.inf)
        return least if reduce == "amax" else greatest
    return 1 if reduce == "prod" else 0


def _values(g: Any, operand: int, shape: Shape, out: Geometry, broadcast: bool = True) -> Side | None:
    """What is written: a tensor or a number."""
    if isinstance(g, Geometry):
        if g.dtype is not out.dtype or not g.numel:
            return None
        return Side(expanded(g, shape) if broadcast or not g.ndim else g.strides, operand, g)
    return Side([0] * len(shape), operand, g) if number_for(g, out.dtype) else None


# --- a vector along a dimension -----------------------------------------------------------------------------

def _vector(index: Geometry, operand: int, shape: Shape, strides: Shape, dim: int) -> Index:
    """An index that is the same in all dimensions but one."""
    along = index.strides[0] if index.ndim else 0
    return Index(operand, index, [along if d == dim else 0 for d in range(len(shape))], shape[dim],
                 strides[dim])


def _index_select(signature: Signature) -> Plan | None:
    x, index = signature.geometries
    out, dim = signature.outputs[0], signature.attributes[0]
    if not usable(signature, index) or not x.ndim:
        return None
    call = walked("read", out.shape, Side(out.strides), Side(_without(x.strides, dim), 0, x),
                  [_vector(index, 1, x.shape, x.strides, dim)], out.dtype)
    return reading(signature, out.shape, call)


def _index_select_backward(signature: Signature) -> Plan | None:
    grad, index = signature.geometries
    out, (dim, shape) = signature.outputs[0], signature.attributes
    if not usable(signature, index) or not len(shape):
        return None
    return added(signature, grad.shape, Side(grad.strides, 0, grad), _without(out.strides, dim),
                  [_vector(index, 1, out.shape, out.strides, dim)])


def _index_update(signature: Signature) -> Plan | None:
    """index_add, index_copy, index_fill."""
    x, index, source = signature.geometries[:3]
    out, dim = signature.outputs[0], signature.attributes[0]
    name = signature.operator.name
    if not usable(signature, index) or not x.ndim:
        return None
    shape = (*x.shape[:dim], index.numel, *x.shape[dim + 1:])
    dense = _values(source, 2, shape, out)
    if dense is None or (name == "index_add" and not number_for(signature.geometries[3], out.dtype)):
        return None
    added = name == "index_add"
    return _put_or_added(signature, shape, dense, _without(out.strides, dim),
                         [_vector(index, 1, out.shape, out.strides, dim)], "add" if added else "write",
                         name == "index_fill", 3 if added else None)


# --- several index tensors ----------------------------------------------------------------------------------

class _Subscript:
    """x[..., i, j, ...]: the positions, where the indices' dimensions are among them."""

    def __init__(self, x_shape: Shape, x_strides: Shape, dims: tuple[int, ...], indices: Sequence[Geometry],
                 first: int) -> None:
        lead = _broadcast([i.shape for i in indices])
        rest = [d for d in range(len(x_shape)) if d not in dims]
        at = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
        before, after = rest[:at], rest[at:]
        self.shape = (*[x_shape[d] for d in before], *lead, *[x_shape[d] for d in after])
        self.strides = (*[x_strides[d] for d in before], *[0] * len(lead), *[x_strides[d] for d in after])
        self.indices = [Index(first + k, g, [*[0] * len(before), *expanded(g, lead), *[0] * len(after)],
                              x_shape[d], x_strides[d]) for k, (g, d) in enumerate(zip(indices, dims))]


def _broadcast(shapes: Sequence[Shape]) -> tuple[int, ...]:
    rank = max(len(s) for s in shapes)
    padded = [(*[1] * (rank - len(s)), *s) for s in shapes]
    return tuple([next((n for n in own if n != 1), 1) for own in zip(*padded)])


def _index(signature: Signature) -> Plan | None:
    x, *indices = signature.geometries
    if not usable(signature, *indices):
        return None
    out = signature.outputs[0]
    found = _Subscript(x.shape, x.strides, signature.attributes[0], indices, 1)
    call = walked("read", found.shape, Side(out.strides), Side(found.strides, 0, x), found.indices, out.dtype,
                  wraps=True)
    return reading(signature, found.shape, call)


def _index_backward(signature: Signature) -> Plan | None:
    grad, *indices = signature.geometries
    if not usable(signature, *indices):
        return None
    out = signature.outputs[0]
    found = _Subscript(out.shape, out.strides, signature.attributes[0], indices, 1)
    return added(signature, found.shape, Side(grad.strides, 0, grad), found.strides, found.indices, True)


def _index_put(signature: Signature) -> Plan | None:
    x, values, *indices = signature.geometries
    if not usable(signature, *indices):
        return None
    out = signature.outputs[0]
    dims, accumulate = signature.attributes
    found = _Subscript(x.shape, out.strides, dims, indices, 2)
    dense = _values(values, 1, found.shape, out)
    if dense is None or not math.prod(found.shape):
        return None
    return _put_or_added(signature, found.shape, dense, found.strides, found.indices,
                         "add" if accumulate else "write", True)


# --- the flattened tensor -----------------------------------------------------------------------------------

def _flat(index: Geometry, operand: int, count: int) -> Index:
    return Index(operand, index, index.strides, count, 1)


def _take(signature: Signature) -> Plan | None:
    x, index = signature.geometries
    out = signature.outputs[0]
    if not usable(signature, index) or not x.is_contiguous:
        return None
    call = walked("read", index.shape, Side(out.strides), Side([0] * index.ndim, 0, x),
                  [_flat(index, 1, x.numel)], out.dtype, wraps=True)
    return reading(signature, index.shape, call)


def _take_backward(signature: Signature) -> Plan | None:
    grad, index = signature.geometries
    out = signature.outputs[0]
    if not usable(signature, index) or grad.shape != index.shape:
        return None
    return added(signature, index.shape, Side(grad.strides, 0, grad), [0] * index.ndim,
                  [_flat(index, 1, out.numel)], True)


def _put(signature: Signature) -> Plan | None:
    x, index, source = signature.geometries
    out = signature.outputs[0]
    if not usable(signature, index) or not out.is_contiguous or source.shape != index.shape \
            or source.dtype is not out.dtype:
        return None
    return _put_or_added(signature, index.shape, Side(source.strides, 2, source), [0] * index.ndim,
                         [_flat(index, 1, x.numel)], "add" if signature.attributes[0] else "write", True)


# --- rows of a table ----------------------------------------------------------------------------------------

def _in_table(table: Geometry, index: Geometry) -> tuple[list[int], Index]:
    """Rows (V, D) at indices (*): strides of the table over (*, D), and the index."""
    (rows, _), (step, across) = table.shape, table.strides
    return [0] * index.ndim + [across], Index(1, index, (*index.strides, 0), rows, step)


def _embedding(signature: Signature) -> Plan | None:
    """Rows of (V, D) at indices (*): (*, D)."""
    table, index = signature.geometries
    out = signature.outputs[0]
    if not usable(signature, index):
        return None
    strides, where = _in_table(table, index)
    call = walked("read", out.shape, Side(out.strides), Side(strides, 0, table), [where], out.dtype)
    return reading(signature, out.shape, call)


def _embedding_backward(signature: Signature) -> Plan | None:
    """Gradients (*, D) added up by row; the padding row, which gets none, is cleared again.

    Sums of 16-bit types are rounded at each step, as PyTorch's are.
    """
    grad, index = signature.geometries
    out, (_, padding) = signature.outputs[0], signature.attributes
    *shape, _ = grad.shape
    if not usable(signature, index) or shape != [*index.shape]:
        return None
    strides, where = _in_table(out, index)
    plan = added(signature, grad.shape, Side(grad.strides, 0, grad), strides, [where], rounds=True)
    rows, width = out.shape
    if padding is None or not 0 <= padding < rows:
        return plan
    cleared_row = filled(Place((1,), padding * width), (width,), out.dtype.itemsize)
    return Plan([*plan.calls, cleared_row], workspace=plan.workspace, traffic=plan.traffic)


TEMPLATES: dict[str, Template] = {
    "gather": _gather, "gather_backward": _gather_backward, "value_selecting_reduction": _place,
    "scatter": _scatter, "scatter_add": _scatter, "scatter_reduce": _scatter_reduce,
    "scatter_means": _scatter_reduce,
    "embedding": _embedding, "embedding_dense_backward": _embedding_backward,
    "index_select": _index_select, "index_select_backward": _index_select_backward,
    "index_add": _index_update, "index_copy": _index_update, "index_fill": _index_update,
    "index": _index, "index_backward": _index_backward, "index_put": _index_put,
    "take": _take, "take_backward": _take_backward, "put": _put,
}
