"""Along one dimension by an index tensor: index_select, index_add, index_copy, index_fill."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...graph.geometry import Geometry, contiguous, dense_like
from ...tensor import Tensor, check_dim, record, record_pair
from ..calls.number_range import check_number, number_for
from ..calls.out import EXACT, Out
from ..declaration.definition import contiguous_as_first, operator
from ..declaration.registry import api, in_place
from . import bounds
from .filling import once, repeated_dims, warn_expanded

_NAMES = dtypes.SCALAR_NAMES


def check_vector(name: str, index: Tensor) -> None:
    """An index along a dimension is a vector (or a scalar) of integers."""
    writes = name.endswith("_")
    if index.ndim > 1:
        more = f", but got dim: {index.ndim} with type: {_NAMES[index.dtype]} and size: {list(index.shape)}"
        raise IndexError(f"{name}(): Index is supposed to be a vector{more if writes else ''}")
    if index.dtype.name not in ("int64", "int32"):
        wanted = f"int32/int64 for index but got: {_NAMES[index.dtype]}" if writes else \
            "int32 or int64 for index"
        raise RuntimeError(f"{name}(): Expected dtype {wanted}")


_OUT_OF_RANGE = IndexError, "index out of range in self"


def _select_words(shape: tuple[int, ...], dim: int, extent: int) -> tuple[type[Exception], str]:
    """PyTorch's error for a position that ``index_select`` does not find: it reads columns in another way."""
    if len(shape) > 1 and (dim == 1 or 0 in shape):
        return RuntimeError, f"INDICES element is out of DATA bounds, id={{}} axis_dim={extent}"
    return _OUT_OF_RANGE


def _add_words(ndim: int, dim: int, extent: int, is_int64: bool) -> tuple[type[Exception], str]:
    """The same of ``index_add``, which scatters along the first and the last of several dimensions."""
    if is_int64 and ndim > 1 and dim in (0, ndim - 1):
        return RuntimeError, bounds.out_of_bounds(dim, extent)
    return _OUT_OF_RANGE


def _along(x: Tensor, dim: int, index: Tensor) -> tuple[Tensor, int, Tensor]:
    """Tensor, dimension and index with at least one dimension."""
    return x, check_dim(dim, x.ndim), index if index.ndim else index.reshape(1)


# --- index_select -------------------------------------------------------------------------------------------


def _select_geometry(operands: Any, attributes: Any) -> Geometry:
    g, index = operands
    dim = attributes[0]
    shape = (*g.shape[:dim], index.numel, *g.shape[dim + 1:]) if g.ndim else ()
    return contiguous(shape, g.dtype, g.device)


@operator("index_select", _select_geometry)
def INDEX_SELECT(m: Any, input: Any, index: Any, dim: int) -> Any:
    extent = input.shape[dim] if input.ndim else 1
    bounds.require(index, 0, extent, *_select_words(input.shape, dim, extent))
    return m.take(input, index, dim) if input.ndim else input


def _select_backward_kernel(m: Any, grad: Any, index: Any, dim: int, shape: tuple[int, ...]) -> Any:
    return m.add_at(shape, (dim,), [index], m.wide(grad)) if shape else grad


INDEX_SELECT_BACKWARD = operator("index_select_backward", lambda operands, attributes: contiguous(
    attributes[1], operands[0].dtype, operands[0].device))(_select_backward_kernel)


@INDEX_SELECT.derivative("input", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return record_pair(INDEX_SELECT_BACKWARD, grad, index, (ctx.attributes[0], ctx.operand_geometry(0).shape))


@INDEX_SELECT_BACKWARD.derivative("grad", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return record_pair(INDEX_SELECT, grad, index, (ctx.attributes[0],))


@api("torch", "Tensor", out=Out("{name}(): self and result must have the same scalar type", apart=True))
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The positions ``index`` of one dimension: (N, M) with K indices along dimension 0 gives (K, M).

    >>> import flambeau as torch
    >>> torch.tensor([10, 20, 30]).index_select(0, torch.tensor([2, 0]))
    tensor([30, 10])
    """
    g, given = input._geometry, index._geometry
    if given.ndim == 1 and given.dtype is dtypes.int64 and g.numel and g.ndim and dim.__class__ is int \
            and -g.ndim <= dim < g.ndim:     # mostly
        d, limits = dim % g.ndim, bounds.known_range(index)
        if limits is None or 0 <= limits[0] <= limits[1] < _extent(g.shape, d):
            return record_pair(INDEX_SELECT, input, index, (d,))
    check_vector("index_select", index)
    input, d, index = _along(input, dim, index)
    if input.ndim == 0 and index.numel() != 1:
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel()} "
                           "value(s)")
    if input.ndim > 1 and not input.numel():
        check_for_none(input.shape[d], index)
    extent = input.shape[d] if input.ndim else 1
    bounds.check_index(index, 0, extent, *_select_words(input.shape, d, extent))
    return record_pair(INDEX_SELECT, input, index, (d,))


_extent = tuple.__getitem__     # of a Size, whose own method looks for slices


def check_for_none(extent: int, index: Tensor) -> None:
    """PyTorch's words for positions of a tensor without elements."""
    if not extent and index.numel():
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    bounds.check_index(index, 0, extent, *_select_words((0, 0), 0, extent))


# --- writing along a dimension ------------------------------------------------------------------------------


def _where(dim: int, index: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * dim, index)


@operator("index_add", contiguous_as_first, owns=(0,))
def INDEX_ADD(m: Any, input: Any, index: Any, source: Any, alpha: Any, dim: int) -> Any:
    if input.ndim > 1 and not input.size:
        return input    # wherever the indices point
    extent = input.shape[dim] if input.ndim else 1
    bounds.require(index, 0, extent, *_add_words(input.ndim, dim, extent, index.dtype.itemsize == 8))
    source = source if alpha == 1 else source * m.asarray(alpha).astype(source.dtype)
    if input.ndim == 0:
        return input + source.reshape(-1).sum(dtype=input.dtype)
    return m.add_at(input.shape, (dim,), [index], m.wide(source), m.wide(input))


@INDEX_ADD.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return grad


@INDEX_ADD.derivative("source", keeps="index", holds="source")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    alpha = ctx.numbers[3]
    found = index_select(grad, ctx.attributes[0], index).expand(ctx.operand_geometry(2).shape)
    return found if alpha == 1 else found * alpha


def check_source(name: str, x: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    """Raise where ``source`` is not a slice of x for each index."""
    if x.dtype is not source.dtype:
        raise RuntimeError(f"{name}_(): self ({_NAMES[x.dtype]}) and source ({_NAMES[source.dtype]}) must "
                           "have the same scalar type")
    if source.ndim and dim >= source.ndim:
        raise RuntimeError(f"{name}_(): Indexing dim {dim} is out of bounds of the source tensor with dim "
                           f"{source.ndim}")
    if index.numel() != (source.shape[dim] if source.ndim else 1):
        if not source.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        raise RuntimeError(f"{name}_(): Number of indices ({index.numel()}) should be equal to "
                           f"source.size(dim): ({source.shape[dim]}), for dim: {dim}")
    if source.ndim != x.ndim or any(
            a != b for d, (a, b) in enumerate(zip(source.shape, x.shape)) if d != dim):
        raise RuntimeError("source tensor shape must match self tensor shape, excluding the specified "
                           f"dimension. Got self.shape = {list(x.shape)} source.shape = {list(source.shape)}")


@api("torch", "Tensor", out=EXACT, inplace="apart", judge="first")
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """``input`` with ``alpha * source`` added at positions of a dimension; positions may repeat.

    >>> import flambeau as torch
    >>> torch.zeros(3).index_add(0, torch.tensor([0, 0, 2]), torch.ones(3))
    tensor([2., 0., 1.])
    """
    check_vector("index_add_", index)
    input, d, index = _along(input, dim, index)
    check_source("index_add", input, d, index, source)
    check_number(alpha, input.dtype)
    if input.ndim < 2 or input.numel():
        extent = input.shape[d] if input.ndim else 1
        bounds.check_index(index, 0, extent,
                           *_add_words(input.ndim, d, extent, index._geometry.dtype is dtypes.int64))
    return record(INDEX_ADD, (input, index, source, alpha), (d,))


def _copy_message(dim: int, size: int) -> str:
    return "index_copy_(): " + bounds.out_of_bounds(dim, size)


@operator("index_copy", contiguous_as_first, owns=(0,))
def INDEX_COPY(m: Any, input: Any, index: Any, source: Any, dim: int) -> Any:
    if not input.size:
        return input    # wherever the indices point
    extent = input.shape[dim] if input.ndim else 1
    bounds.require(index, 0, extent, IndexError, _copy_message(dim, extent))
    row = input if input.ndim else input.reshape(1)
    row[_where(dim, index)] = source
    return input


@INDEX_COPY.derivative("input", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return index_fill(grad, ctx.attributes[0], index, 0)


@INDEX_COPY.derivative("source", keeps="index", holds="source")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return index_select(grad, ctx.attributes[0], index).expand(ctx.operand_geometry(2).shape)


@api("torch", "Tensor", out=EXACT, inplace="apart")
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """``input`` with ``source`` at the positions ``index`` of a dimension.

    >>> import flambeau as torch
    >>> torch.zeros(3).index_copy(0, torch.tensor([2]), torch.ones(1))
    tensor([0., 0., 1.])
    """
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if index.dtype.name != "int64":
        raise RuntimeError("index_copy_(): Expected a long tensor for index, but got "
                           f"{_NAMES[index.dtype]}")
    input, d, index = _along(input, dim, index)
    if input.dtype is not source.dtype:
        raise RuntimeError(f"index_copy_(): self and source expected to have the same dtype, but got (self) "
                           f"{_NAMES[input.dtype]} and (source) {_NAMES[source.dtype]}")
    if source.ndim == 0 and index.numel() != 1:
        raise IndexError("index_copy_(): When source is scalar, index should have one element (got "
                         f"{index.numel()})")
    if source.ndim != input.ndim and source.ndim and input.ndim:
        raise IndexError("index_copy_(): When source and destination are not scalars, their dimensionality "
                         f"must match. Source dimensionality ({source.ndim}), destination dimensionality "
                         f"({input.ndim})")
    if (
        source.ndim
        and input.ndim
        and any(a != b for k, (a, b) in enumerate(zip(source.shape, input.shape)) if k != d)
    ):
        raise RuntimeError("index_copy_(): Source/destination tensor must have same slice shapes. "
                           "Destination slice shape: "
                           f"{' '.join(map(str, input.shape))} at dimension {d} and source slice shape: "
                           f"{' '.join(map(str, source.shape))} at dimension 0.")
    if source.ndim and index.numel() != source.shape[d]:
        raise IndexError(f"index_copy_(): Number of indices ({index.numel()}) should be equal to "
                         f"source.size(dim) ({source.shape[d]})")
    if input.numel() or not _is_anywhere(input, d, index):
        extent = input.shape[d] if input.ndim else 1
        bounds.check_index(index, 0, extent, IndexError, _copy_message(d, extent))
    return record(INDEX_COPY, (input, index, source), (d,))


def _filled_geometry(operands: Any, attributes: Any) -> Geometry:
    return dense_like(operands[0].shape, operands[0], operands[0].dtype)


@operator("index_fill", _filled_geometry, owns=(0,))
def INDEX_FILL(m: Any, input: Any, index: Any, value: Any, dim: int) -> Any:
    extent = input.shape[dim] if input.ndim else 1
    bounds.require(index, -extent, extent, IndexError, bounds.out_of_bounds(dim, extent))
    row = input if input.ndim else input.reshape(1)
    row[_where(dim, index)] = value
    return input


@INDEX_FILL.derivative("input", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return index_fill(grad, ctx.attributes[0], index, 0)


@INDEX_FILL.derivative("value", keeps="index")
def _(ctx: Any, grad: Tensor, index: Tensor) -> Tensor:
    return (grad - index_fill(grad, ctx.attributes[0], index, 0)).sum()


@api("torch", "Tensor")
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """``input`` with ``value`` at the positions ``index`` of a dimension.

    >>> import flambeau as torch
    >>> torch.zeros(3).index_fill(0, torch.tensor([1]), 5)
    tensor([0., 5., 0.])
    """
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if index.dtype is not dtypes.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError("index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                           f"{value.ndim} dimension(s).")
    if not input.is_complex() and (value.is_complex() if isinstance(value, Tensor) else
                                   isinstance(value, complex)):
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    input, d, index = _along(input, dim, index)
    extent = input.shape[d] if input.ndim else 1
    if input.numel() == 0 and _is_anywhere(input, d, index):
        return input.clone()
    bounds.check_index(index, -extent, extent, IndexError, bounds.out_of_bounds(d, extent))
    kind = input._geometry.dtype
    if isinstance(value, Tensor) and value.dtype is not kind and kind.category == dtypes.INTEGER:
        value = value.item()    # which has to fit
    if not isinstance(value, Tensor):
        value = number_for(value, kind)
    return record(INDEX_FILL, (input, index, value), (d,))


def _is_anywhere(x: Tensor, d: int, index: Tensor) -> bool:
    """Whether indices into an empty tensor may point anywhere: nothing is there in another dimension."""
    if index.numel():
        _require_room(x, d, index.numel())
    return not index.numel() or any(n == 0 for k, n in enumerate(x.shape) if k != d)


def _require_room(x: Tensor, d: int, count: int) -> None:
    """Raise where the memory of an empty tensor does not reach what PyTorch would read as its rows."""
    sizes, strides = list(x.shape), list(x.stride())
    sizes[d], strides[d] = count, 0
    if 0 in sizes:
        return
    itemsize, held = x.element_size(), x._storage.geometry
    wanted = (1 + sum([(n - 1) * s for n, s in zip(sizes, strides)])) * itemsize
    if wanted + x._geometry.offset * itemsize > held.nbytes:
        raise RuntimeError(f"setStorage: sizes {sizes}, strides {strides}, storage offset "
                           f"{x._geometry.offset}, and itemsize {itemsize} requiring a storage size of "
                           f"{wanted + x._geometry.offset * itemsize} are out of bounds for storage of size "
                           f"{held.nbytes}")


_index_filled = in_place(index_fill, "index_fill_", kind="apart")


@api("Tensor")
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """In-place version of ``index_fill``. Of an expanded tensor, an element is filled that is so anywhere.

    >>> import flambeau as torch
    >>> torch.zeros(2).index_fill_(0, torch.tensor([1]), 1)
    tensor([0., 1.])
    """
    if 0 in self._geometry.strides and (repeated := repeated_dims(self)):
        warn_expanded("index_fill_")
        if check_dim(dim, self.ndim) in repeated:
            index = index * 0
        _index_filled(once(self, repeated), dim, index, value)
        return self
    filled: Tensor = _index_filled(self, dim, index, value)
    return filled
