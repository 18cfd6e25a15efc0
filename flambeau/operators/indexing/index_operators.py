"""Reading and writing at positions given by index tensors: ``x[i, j]`` and ``index_put``.

One operator for each number of index tensors, so that a derivative can keep them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry, contiguous, dense_like, intern
from ...graph.operator import Operator
from ...graph.strides import dense_strides
from ...size import Size
from ...tensor import Tensor, record, record_pair
from ..declaration.definition import broadcast_shapes
from .bounds import check_index, known_range, out_of_bounds, require


def index_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The broadcast shape of index tensors."""
    try:
        return broadcast_shapes(shapes)
    except RuntimeError:
        listed = ", ".join(str(list(s)) for s in shapes)
        raise IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                         f"{listed}") from None


def indexed_shape(shape: Sequence[int], dims: tuple[int, ...], lead: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of ``x[...]`` with index tensors in ``dims``: in their place if adjacent, else in front."""
    rest = [n for d, n in enumerate(shape) if d not in dims]
    at = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    return (*rest[:at], *lead, *rest[at:])


def _key(dims: tuple[int, ...], indices: Any) -> tuple[Any, ...]:
    key: list[Any] = [slice(None)] * (dims[-1] + 1)
    for d, index in zip(dims, indices):
        key[d] = index
    return tuple(key)


def _in_words(error: IndexError, dims: tuple[int, ...]) -> IndexError:
    """NumPy's complaint about an index in PyTorch's words, which count the index tensors."""
    return IndexError(re.sub(r"axis (\d+)", lambda axis: f"dimension {dims.index(int(axis[1]))}", str(error)))


def _read_kernel(m: Any, input: Any, *rest: Any) -> Any:
    *indices, dims = rest
    try:
        if len(dims) == 1:
            return m.take(input, indices[0], dims[0])
        return input[_key(dims, indices)]
    except IndexError as error:
        if not input.size and all(input.shape[d] for d in dims):
            return input[_key(dims, [0 * index for index in indices])]  # nothing is read, wherever that is
        raise _in_words(error, dims) from None


def _add_kernel(m: Any, grad: Any, *rest: Any) -> Any:
    *indices, dims, shape = rest
    if not grad.size:
        indices = [0 * index for index in indices]
    return m.add_at(shape, dims, list(indices), m.wide(grad))


def _put_kernel(m: Any, input: Any, values: Any, *rest: Any) -> Any:
    *indices, dims, accumulate = rest
    if not input.size and all(input.shape[d] for d in dims):
        return input    # nothing is written, wherever that is
    if not accumulate:
        try:
            input[_key(dims, indices)] = values
        except IndexError as error:
            raise _in_words(error, dims) from None
        return input
    for number, (d, index) in enumerate(zip(dims, indices)):
        n = input.shape[d]
        require(index, -n, n, IndexError, out_of_bounds(number, n))
    lead = m.broadcast_shapes(*[i.shape for i in indices])
    values = m.broadcast_to(values, indexed_shape(input.shape, dims, lead))
    return m.add_at(input.shape, dims, list(indices), m.wide(values), m.wide(input))


def _read_geometry(operands: Any, attributes: Any) -> Geometry:
    g, *indices = operands
    dims = attributes[0]
    lead = index_shape([i.shape for i in indices])
    shape = indexed_shape(g.shape, dims, lead)
    in_order = g.family.plain and not (0 in shape or 1 in shape)
    for i in indices:
        in_order = in_order and i.family.plain
    if in_order:
        return contiguous(shape, g.dtype, g.device)
    at = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    read = indexed_shape(g.strides, dims, (0,) * len(lead))
    strides = dense_strides(shape, [read, *[_strides_of_index(i, shape, at, len(lead)) for i in indices]])
    return intern(Size(shape), strides, 0, g.dtype, g.device)


def _strides_of_index(g: Geometry, shape: tuple[int, ...], at: int, ndim: int) -> tuple[int, ...]:
    """The strides of an index with dimensions of size 1 around its own, read as a tensor of ``shape``."""
    own = (*[0] * (ndim - g.ndim), *[s if n == m else 0 for n, s, m in
                                     zip(g.shape, g.strides, shape[at + ndim - g.ndim:])])
    outside, inside = (shape[at] * own[0], own[-1]) if own else (1, 1)
    return (*[outside if n == 1 else 0 for n in shape[:at]], *own,
            *[inside if n == 1 else 0 for n in shape[at + ndim:]])


def _put_geometry(operands: Any, attributes: Any) -> Geometry:
    g, values, *indices = operands
    if values.dtype is not g.dtype:
        raise RuntimeError("Index put requires the source and destination dtypes match, got "
                           f"{dtypes.SCALAR_NAMES[g.dtype]} for the destination and "
                           f"{dtypes.SCALAR_NAMES[values.dtype]} for the source.")
    wanted = indexed_shape(g.shape, attributes[0], index_shape([i.shape for i in indices]))
    if values.numel != 1:
        require_broadcast(values.shape, wanted)
    return dense_like(g.shape, g, g.dtype)


def require_broadcast(shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Raise where values of a shape cannot be written to what a subscript chose."""
    if not _broadcasts(shape, wanted):
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast "
                           f"to indexing result of shape {list(wanted)}")


def _broadcasts(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    lead = len(shape) - len(wanted)
    if any(n != 1 for n in shape[:max(lead, 0)]):
        return False
    return all(n in (1, w) for n, w in zip(shape[::-1], wanted[::-1]))


def _names(count: int) -> tuple[str, ...]:
    return tuple([f"index{i}" for i in range(count)])


@cache
def read_operator(count: int) -> Operator:
    """``input[indices]`` with so many index tensors."""
    names = _names(count)
    op = Operator("index", _read_kernel, _read_geometry, ("input", *names))

    @op.derivative("input", keeps=" ".join(names))
    def _(ctx: Any, grad: Tensor, *indices: Tensor) -> Tensor:
        return record(
            add_operator(count), (grad, *indices), (ctx.attributes[0], ctx.operand_geometry(0).shape)
        )

    return op


@cache
def add_operator(count: int) -> Operator:
    """Zeros with ``grad`` added at the indices: the gradient of reading."""
    names = _names(count)
    op = Operator("index_backward", _add_kernel, lambda operands, attributes: contiguous(
        attributes[1], operands[0].dtype, operands[0].device), ("grad", *names))

    @op.derivative("grad", keeps=" ".join(names))
    def _(ctx: Any, grad: Tensor, *indices: Tensor) -> Tensor:
        return record(read_operator(count), (grad, *indices), (ctx.attributes[0],))
    return op


@cache
def put_operator(count: int) -> Operator:
    """``input`` with ``values`` written (or added) at the indices."""
    names = _names(count)
    op = Operator("index_put", _put_kernel, _put_geometry, ("input", "values", *names), owns=(0,))

    @op.derivative("input", keeps=" ".join(names))
    def _(ctx: Any, grad: Tensor, *indices: Tensor) -> Tensor:
        dims, accumulate = ctx.attributes
        return grad if accumulate else put(grad, grad.new_zeros(()), indices, dims, False)

    @op.derivative("values", keeps=" ".join(names))
    def _(ctx: Any, grad: Tensor, *indices: Tensor) -> Tensor:
        found = read(grad, indices, ctx.attributes[0])
        shape = ctx.operand_geometry(1).shape
        while found.ndim < len(shape):  # leading extents of 1 that the values had
            found = found.unsqueeze(0)
        return found
    return op


def check_known(x: Tensor, indices: Any, dims: tuple[int, ...], within: tuple[int, ...] = ()) -> None:
    """That the indices fit together, and the bounds of those that are values already.

    ``within``: the numbers of those that cannot be out of bounds.
    """
    if len(indices) == 1:
        if within or _fits(x, indices[0], dims[0]):
            return
    elif not within and _all_fit(x, indices, dims):
        return
    index_shape([index._geometry.shape for index in indices])
    shape = tuple(x._geometry.shape)    # a ``Size`` takes longer to index
    # Where nothing is read, only a dimension without elements is complained about.
    empty = 0 in shape or not all(index._geometry.numel for index in indices)
    for number, (d, index) in enumerate(zip(dims, indices)):
        if number in within:
            continue
        n = shape[d]
        if n == 0 and index._geometry.numel:
            raise IndexError("index is out of bounds for dimension with size 0")
        if not empty:
            check_index(index, -n, n, IndexError, out_of_bounds(number, n))


def _fits(x: Tensor, index: Tensor, dim: int) -> bool:
    """Whether an index of one dimension is within bounds, as far as is known; false, too, if x is empty."""
    g, limits = x._geometry, known_range(index)
    if not g.numel or limits is None:
        return g.numel > 0
    n = _extent(g.shape, dim)
    return -n <= limits[0] and limits[1] < n


def _all_fit(x: Tensor, indices: Any, dims: tuple[int, ...]) -> bool:
    """Whether index tensors of one shape are within bounds, as far as is known; false if there are none."""
    g, shape = x._geometry, indices[0]._geometry.shape
    if not g.numel:
        return False
    for index, d in zip(indices, dims):
        if index._geometry.shape != shape:
            return False
        limits, n = known_range(index), _extent(g.shape, d)
        if limits is None and not index._geometry.numel:
            return False
        if limits is not None and not -n <= limits[0] <= limits[1] < n:
            return False
    return True


_extent = tuple.__getitem__     # of a Size, whose own method looks for slices


def read_rows(x: Tensor, index: Tensor) -> Tensor:
    """``x`` at an index tensor in its first dimension."""
    limits, n = known_range(index), x._geometry.family.first
    if 0 in x._geometry.shape or (limits is not None and (limits[0] < -n or limits[1] >= n)):
        check_known(x, (index,), _FIRST)
    return record_pair(read_operator(1), x, index, (_FIRST,))


_FIRST = (0,)


def read(x: Tensor, indices: Any, dims: tuple[int, ...]) -> Tensor:
    """``x`` at index tensors in ``dims``."""
    if len(dims) == 1:
        return record_pair(read_operator(1), x, indices[0], (dims,))
    return record(read_operator(len(dims)), (x, *indices), (dims,))


def put(x: Tensor, values: Tensor, indices: Any, dims: tuple[int, ...], accumulate: bool) -> Tensor:
    """``x`` with values written or added at index tensors in ``dims``."""
    g = values._geometry
    if g.numel == 1 and g.ndim:
        values = values.reshape(())
    return record(put_operator(len(dims)), (x, values, *indices), (dims, bool(accumulate)))
