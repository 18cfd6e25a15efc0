"""Order: sort, argsort, msort, topk, searchsorted, bucketize, isin."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes, return_types
from ...graph.geometry import Geometry, contiguous, dense_like
from ...tensor import Tensor, check_dim, record
from ..calls.out import EXACT, EXACT_APART, Out
from ..declaration.definition import NUMBERS, arithmetic_dtype, operand_dtype, operator, result_dtype
from ..declaration.domain import not_implemented
from ..declaration.prices import TIES, per_element
from ..declaration.registry import api
from . import ties
from .along import place

COUNTED = 32768     # integers in one row, from which on they are


def _sorted_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    g = operands[0]
    return dense_like(g.shape, g, g.dtype), dense_like(g.shape, g, dtypes.int64)


def order_along(m: Any, x: Any, dim: int, descending: bool) -> Any:
    """Indices that sort x along ``dim``, equal elements in their order, NaN as the largest."""
    if not descending:
        return m.argsort(x, axis=dim, kind="stable")
    turned = *[slice(None)] * (dim % x.ndim), slice(None, None, -1)     # NumPy's ``flip`` takes much longer
    return x.shape[dim] - 1 - m.argsort(x[turned], axis=dim, kind="stable")[turned]


def _sort_price(signature: Any) -> float:
    return 0.0 if signature.attributes[2] else per_element(TIES)(signature)


@operator("sort", _sorted_geometry, compute=operand_dtype, non_differentiable_outputs=(1,), price=_sort_price)
def SORT(m: Any, input: Any, dim: int, descending: bool, stable: bool) -> Any:
    if not input.ndim:
        return input, m.int64(0)
    indices = order_along(m, input, dim, descending)
    values = m.take_along_axis(input, indices, axis=dim)
    if stable or input.shape[dim] <= ties.SHORT or not ties.are_there(m.moveaxis(values, dim, -1)):
        return values, indices
    indices = unstable_order(input, indices, dim)
    return m.take_along_axis(input, indices, axis=dim), indices


def unstable_order(x: Any, order: Any, dim: int) -> Any:
    """``order``, which keeps the order of equal elements of x along ``dim``, without that."""
    order = np.moveaxis(order, dim, -1)
    shape, n = order.shape, order.shape[-1]
    order = order.reshape(-1, n).copy()
    ordered = np.take_along_axis(np.moveaxis(x, dim, -1).reshape(-1, n), order, axis=-1)
    rows = ties.tied(ordered)
    order[rows] = ties.sorted_places(ties.ranks(ordered[rows], order[rows]))
    return np.moveaxis(order.reshape(shape), -1, dim)


@SORT.derivative("input", keeps="output1")
def _(ctx: Any, grads: Any, indices: Tensor) -> Any:
    return None if grads[0] is None else place(grads[0], indices, indices.shape, ctx.attributes[0])


def _keeps_order(g: Geometry, dim: int, descending: bool) -> bool:
    """Whether PyTorch keeps the order of equal elements unasked: it sorts by counting digits, or nothing, as
    all are one element that is expanded.
    """
    if g.ndim == 1 and g.numel >= COUNTED and g.dtype.category == dtypes.INTEGER and not descending:
        return True
    return g.ndim > 0 and g.strides[dim] == 0


def _refuse_complex(g: Geometry, message: str) -> None:
    if g.dtype.is_complex:
        raise RuntimeError(message)


@api("torch", "Tensor", out=EXACT_APART, judge="first")
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The elements in order along ``dim``, and the indices they had; ``stable``: equal ones keep their order.

    >>> import flambeau as torch
    >>> torch.sort(torch.tensor([3, 1, 2])).values
    tensor([1, 2, 3])
    """
    _refuse_complex(input._geometry, " Sort does not support complex dtypes on CPU")
    d = check_dim(dim, input._geometry.ndim)
    attributes = d, bool(descending), bool(stable) or _keeps_order(input._geometry, d, descending)
    return return_types.made("sort", record(SORT, (input,), attributes))


@api("torch", "Tensor", judge="first")
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that put the elements in order along ``dim``.

    >>> import flambeau as torch
    >>> torch.argsort(torch.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    return sort(input, dim, descending, stable)[1]


@api("torch", "Tensor", out=EXACT)
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension.

    >>> import flambeau as torch
    >>> torch.msort(torch.tensor([[3, 1], [2, 5]]))
    tensor([[2, 1],
            [3, 5]])
    """
    return sort(input, stable=not input.requires_grad, dim=0)[0]     # or gradients tell equal elements apart


# --- topk ---------------------------------------------------------------------------------------------------


def _topk_geometry(operands: Any, attributes: Any) -> tuple[Geometry, Geometry]:
    g = operands[0]
    k, dim = attributes[:2]
    if not 0 <= k <= (g.shape[dim] if g.ndim else 1):
        raise RuntimeError("selected index k out of range")
    shape = [k if d == dim else n for d, n in enumerate(g.shape)]
    return contiguous(shape, g.dtype, g.device), contiguous(shape, dtypes.int64, g.device)


@operator("topk", _topk_geometry, compute=operand_dtype, non_differentiable_outputs=(1,),
          price=per_element(TIES))
def TOPK(m: Any, input: Any, k: int, dim: int, largest: bool, in_order: bool) -> Any:
    if not input.ndim:
        return input, m.int64(0)
    if not k:
        none = m.zeros([0 if d == dim else n for d, n in enumerate(input.shape)], m.int64)
        return none.astype(input.dtype), none
    is_last = dim == input.ndim - 1     # nothing is to be moved, which takes as long as to select a few
    rows = input if is_last else m.moveaxis(input, dim, -1)
    if input.size == input.shape[dim] and _selects(k, in_order, input.size):
        found = _top_of_row(input.reshape(-1), k, largest)
        if found is not None:
            if input.ndim == 1:
                return input[found], found
            shape = *input.shape[:dim], k, *input.shape[dim + 1:]
            return input.reshape(-1)[found].reshape(shape), found.reshape(shape)
    indices = _top(m, rows.reshape(-1, rows.shape[-1]), k, largest, in_order).reshape(*rows.shape[:-1], k)
    if not is_last:
        indices = m.moveaxis(indices, -1, dim)
    return m.take_along_axis(input, indices, axis=dim), indices


def _top(m: Any, x: Any, k: int, largest: bool, in_order: bool) -> Any:
    """The places of the k largest (or smallest) elements of rows."""
    n = x.shape[1]
    more = min(k + 1, n)        # an element more: it may equal the last one
    if 0 < k and k * 8 < n:  # a partition first: only so many elements need sorting
        candidates = m.argpartition(x, n - more if largest else more - 1, axis=1)
        candidates = candidates[:, n - more:] if largest else candidates[:, :more]
        chosen = order_along(m, m.take_along_axis(x, candidates, axis=1), 1, largest)
        indices = m.take_along_axis(candidates, chosen, axis=1)
    else:
        indices = order_along(m, x, 1, largest)[:, :more]
    rows = ties.tied(m.take_along_axis(x, indices, axis=1)) if _selects(k, in_order, n) \
        else np.full(len(x), k > 0)
    indices = indices[:, :k]
    if rows.any():
        some = x[rows]
        order = order_along(m, some, 1, largest)
        rank = ties.ranks(m.take_along_axis(some, order, axis=1), order)
        indices[rows] = ties.top_places(rank, k, in_order)
    return indices


def _selects(k: int, in_order: bool, n: int) -> bool:
    """Whether k of n elements are not left as introselect finds them."""
    return in_order or k * ties.FEW <= n


def _top_of_row(x: Any, k: int, largest: bool) -> Any:
    """The places of the k largest (or smallest) elements of one row, if none of them are equal, or NaN."""
    n = len(x)
    more, some = min(k + 1, n), None
    if k * 8 < n:
        some = x.argpartition(n - more)[n - more:] if largest else x.argpartition(more - 1)[:more]
    order = (x if some is None else x[some]).argsort()
    order = order[:-more - 1:-1] if largest else order[:more]
    found = order if some is None else some[order]
    values = x[found]
    if np.equal(values[1:], values[:-1]).any() or np.not_equal(values, values).any():
        return None
    return found[:k].copy()     # fresh arrays become values as they are


@TOPK.derivative("input", keeps="output1")
def _(ctx: Any, grads: Any, indices: Tensor) -> Any:
    return (
        None
        if grads[0] is None
        else place(grads[0], indices, ctx.operand_geometry(0).shape, ctx.attributes[1])
    )


@api("torch", "Tensor", out=EXACT_APART, judge="first")
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) elements along ``dim``, in order, and their indices.

    >>> import flambeau as torch
    >>> torch.topk(torch.tensor([1., 5., 3.]), 2).indices
    tensor([1, 2])
    """
    _refuse_complex(input._geometry, " topk does not support complex dtypes on CPU")
    if input._geometry.dtype.category == dtypes.BOOL:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if isinstance(k, Tensor):
        k = int(k)
    attributes = (k, check_dim(dim, input._geometry.ndim), bool(largest), bool(sorted))
    return return_types.made("topk", record(TOPK, (input,), attributes))


# --- searching ----------------------------------------------------------------------------------------------


def _search_geometry(operands: Any, attributes: Any) -> Geometry:
    boundaries, values = operands[:2]
    shape = values.shape if isinstance(values, Geometry) else ()
    return contiguous(shape, dtypes.int32 if attributes[1] else dtypes.int64, boundaries.device)


def _search_dtype(operands: Any) -> Any:
    return None if isinstance(operands[2], Geometry) else arithmetic_dtype(result_dtype(operands[:2]))


@operator("searchsorted", _search_geometry, compute=_search_dtype)
def SEARCHSORTED(m: Any, sorted_sequence: Any, values: Any, sorter: Any, right: bool, out_int32: bool) -> Any:
    side = "right" if right else "left"
    if sorter is not None:
        sorted_sequence = m.take_along_axis(sorted_sequence, sorter, axis=-1)
    if sorted_sequence.ndim == 1:
        return m.searchsorted(sorted_sequence, values, side)
    if not values.size:
        return m.zeros(values.shape, np.int64)
    rows = sorted_sequence.reshape(values.size // values.shape[-1], sorted_sequence.shape[-1])
    found = [m.searchsorted(row, some, side) for row, some in zip(rows, values.reshape(len(rows), -1))]
    return m.array(found, np.int64).reshape(values.shape)


_PLACES = Out(
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) "
    "depending on whether out_int32 flag is True, but we got output tensor's dtype {Out} and out_int32 flag "
    "is {is_int}")


@api("torch", out=_PLACES, judge="first")
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where elements would be inserted to keep each innermost row in order.

    >>> import flambeau as torch
    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
    """
    g = sorted_sequence._geometry
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right "
            "was True"
        )
    if isinstance(input, Tensor):
        v = input._geometry
        if v.ndim == 0 and g.ndim != 1:
            raise RuntimeError(
                "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is "
                f"1, but we got boundaries tensor dim({g.ndim}) and input value's dim(0) numel(1)")
        if g.ndim != 1 and (v.ndim != g.ndim or v.shape[:-1] != g.shape[:-1]):
            raise RuntimeError(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
                "of boundaries tensor and input value tensor must match, but we got boundaries tensor "
                f"{list(g.shape)} and input value tensor {list(v.shape)}"
            )
    elif g.ndim != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, "
            f"but we got boundaries tensor dim({g.ndim}) and input value's dim(0) numel(1)"
        )
    if sorter is not None:
        _check_sorter(g, sorter._geometry)
    if g.dtype.is_complex:
        raise RuntimeError("torch.searchsorted(): complex is not supported")
    if input.is_complex() if isinstance(input, Tensor) else isinstance(input, complex):
        raise not_implemented("searchsorted_out_cpu", dtypes.complex64)
    attributes = (right or side == "right", out_int32)
    return record(SEARCHSORTED, (sorted_sequence, input, sorter), attributes)


def _check_sorter(g: Geometry, sorter: Geometry) -> None:
    if sorter.shape != g.shape:
        raise RuntimeError(
            f"torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(g.shape)}and got sorter tensor {list(sorter.shape)}"
        )
    if sorter.dtype is not dtypes.int64:
        raise RuntimeError(
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
            f"{dtypes.SCALAR_NAMES[sorter.dtype]}"
        )


@api("torch", out=_PLACES, judge="first")
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The index of the bucket between sorted ``boundaries`` that each element falls into.

    >>> import flambeau as torch
    >>> torch.bucketize(torch.tensor([3, 6, 9]), torch.tensor([1, 3, 5, 7, 9]))
    tensor([1, 3, 4])
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    for x in (input, boundaries):
        if isinstance(x, Tensor) and x.is_complex():
            raise NotImplementedError('"searchsorted_out_cpu" not implemented for '
                                      f"'{dtypes.SCALAR_NAMES[x.dtype]}'")
    return record(SEARCHSORTED, (boundaries, input, None), (right, out_int32))


# --- isin ---------------------------------------------------------------------------------------------------


def _isin_geometry(operands: Any, attributes: Any) -> Geometry:
    elements, test = operands
    device = (elements if isinstance(elements, Geometry) else test).device
    return contiguous(elements.shape if isinstance(elements, Geometry) else (), dtypes.bool_, device)


@operator("isin", _isin_geometry, compute=lambda operands: arithmetic_dtype(result_dtype(operands)))
def ISIN(m: Any, elements: Any, test_elements: Any, invert: bool) -> Any:
    if elements.size * test_elements.size > _FEW:
        return m.isin(elements, test_elements, invert=invert)
    found = (elements[..., None] == test_elements.reshape(-1)).any(-1)
    return ~found if invert else found


_FEW = 1 << 12      # pairs of elements that are compared one by one


@api("torch", out=EXACT, judge="first")
def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is among ``test_elements``.

    >>> import flambeau as torch
    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2]))
    tensor([False,  True, False])
    """
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError(
            "isin() received an invalid combination of arguments - got "
            f"({type(elements).__name__}, {type(test_elements).__name__})"
        )
    for x in (elements, test_elements):
        if isinstance(x, Tensor) and x._geometry.dtype.category in (dtypes.COMPLEX, dtypes.BOOL):
            raise RuntimeError(
                f"Unsupported input type encountered for isin(): {dtypes.SCALAR_NAMES[x.dtype]}"
            )
        if not isinstance(x, (Tensor, *NUMBERS)):
            raise TypeError(f"isin(): argument must be Tensor, not {type(x).__name__}")
    return record(ISIN, (elements, test_elements), (invert,))
