"""Rules of indexing for a batch in front: the batch is one more index, or examples have rows of their own."""

from __future__ import annotations

from typing import Any

from ..operators.creation.ranges import arange
from ..operators.indexing.index_operators import index_shape, indexed_shape, put, read
from ..tensor import Tensor
from ..tensor.batching import batched
from .batching import Call, strip
from .batching_layers import folded, unfolded
from .batching_rules import raised, rule


@rule("index_select")
def _index_select(call: Call) -> Any:
    dim, ndim = call.attributes[0], call.ndim(0)
    if ndim == 0 or call.ndim(1) == 0:
        return None
    x, index = call.front(0), call.operands[1]
    if not call.has[1]:
        return call.again(x, index, attributes=(dim + 1,))
    index = index.reshape(call.size, *[1] * dim, -1, *[1] * (ndim - dim - 1))
    shape = [n if d != dim + 1 else index.shape[d] for d, n in enumerate(x.shape)]
    return x.gather(dim + 1, index.expand(shape))


@rule("index_select_backward")
def _index_select_backward(call: Call) -> Any:
    dim, shape = call.attributes
    if call.has[1]:
        return None
    return call.again(call.front(0), call.operands[1], attributes=(dim + 1, (call.size, *shape)))


@rule("index_add", "index_copy", "index_fill")
def _index_write(call: Call) -> Any:
    if call.has[1] or call.ndim(0) == 0 or (call.operator.name == "index_fill" and call.has[2]):
        return None
    source = call.operands[2] if call.operator.name == "index_fill" else call.front(2)
    return call.again(call.front(0), call.operands[1], source, *call.operands[3:],
                      attributes=(call.attributes[0] + 1,))


@rule("take")
def _take(call: Call) -> Any:
    if not call.has[0]:
        return call.again(*call.operands)
    flat = call.operands[0].reshape(call.size, -1)
    index = call.front(1)
    count = flat.shape[1]
    index = index.where(index >= 0, index + count).reshape(call.size, -1)
    return flat.gather(1, index).reshape(call.size, *call.geometries[1].shape)


def _offsets(call: Call, rows: int, ndim: int) -> Tensor:
    """Where each example's rows begin in a table of all, (B, 1, ...) with ``ndim`` ones."""
    return (arange(call.size) * rows).reshape(call.size, *[1] * ndim)


@rule("embedding")
def _embedding(call: Call) -> Any:
    """Tables of all examples are one table, in which each example has its rows."""
    if not call.has[0]:
        return call.again(*call.operands)
    if call.attributes[0] is not None:
        return None
    table, indices = call.operands[0], call.front(1)
    return call.again(folded(table), indices + _offsets(call, table.shape[1], call.ndim(1)))


@rule("embedding_dense_backward")
def _embedding_backward(call: Call) -> Any:
    rows, padding = call.attributes
    if padding is not None:
        return None
    indices = call.front(1) + _offsets(call, rows, call.ndim(1))
    found = call.again(call.front(0), indices, attributes=(rows * call.size, None))
    return unfolded(found, call.size)


@rule("searchsorted")
def _searchsorted(call: Call) -> Any:
    if not call.has[0] and call.operands[2] is None and call.ndim(0) == 1:
        return call.again(*call.operands)
    if call.operands[2] is None and call.ndim(0) == call.ndim(1):
        return call.again(call.front(0), call.front(1), None)
    return None


@rule("isin")
def _isin(call: Call) -> Any:
    return None if call.has[1] else call.again(*call.operands)


def _leading(x: Tensor, dims: tuple[int, ...]) -> tuple[Tensor, list[int]]:
    """x (B, ...) with the dimensions of an example ``dims`` right after the batch, and the order of its
    dimensions."""
    order = [0, *[d + 1 for d in dims], *[d for d in range(1, x.ndim) if d - 1 not in dims]]
    return x.permute(order), order


def _positions(call: Call, first: int) -> tuple[list[Any], int]:
    """The batch's own index and the index operands, to be broadcast, and how many dimensions these have."""
    count = len(call.operands)
    ndim = max(call.ndim(i) for i in range(first, count))
    own = arange(call.size).reshape(call.size, *[1] * ndim)
    return [own, *[call.aligned(i, ndim) for i in range(first, count)]], ndim


def _adjacent(dims: tuple[int, ...]) -> bool:
    return dims == tuple(range(dims[0], dims[0] + len(dims)))


@rule("index")
def _index(call: Call) -> Any:
    """The batch is one more index, broadcast against the others."""
    dims = call.attributes[0]
    x, _ = _leading(call.front(0), dims)
    indices, ndim = _positions(call, 1)
    found = read(x, indices, tuple(range(len(dims) + 1)))
    if not _adjacent(dims) or not dims[0]:
        return found
    before = range(ndim + 1, ndim + 1 + dims[0])    # what stands before the indexed dimensions
    rest = range(ndim + 1 + dims[0], found.ndim)
    return found.permute(0, *before, *range(1, ndim + 1), *rest)


@rule("index_put")
def _index_put(call: Call) -> Any:
    dims, accumulate = call.attributes
    x, order = _leading(call.front(0), dims)
    indices, ndim = _positions(call, 2)
    geometries: list[Any] = call.geometries
    wanted = indexed_shape(geometries[0].shape, dims, index_shape([g.shape for g in geometries[2:]]))
    values = call.operands[1]
    if not call.has[1]:
        values = values.expand(call.size, *wanted)
    elif call.ndim(1) > len(wanted):
        return None
    else:
        values = raised(values, len(wanted)).expand(call.size, *wanted)
    if _adjacent(dims) and dims[0]:
        at = dims[0] + 1
        values = values.permute(0, *range(at, at + ndim), *range(1, at), *range(at + ndim, values.ndim))
    found = put(x, values, indices, tuple(range(len(dims) + 1)), accumulate)
    return found.permute([order.index(d) for d in range(len(order))])


@rule("index_backward")
def _index_backward(call: Call) -> Any:
    dims, shape = call.attributes
    grad, *indices = [batched(x, call.level) if has else x for x, has in zip(call.operands, call.has)]
    return strip(put(grad.new_zeros(shape), grad, indices, dims, True), call.level)[0]
