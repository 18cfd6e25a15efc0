"""Elements by rank: kthvalue, median, nanmedian, mode, quantile, nanquantile."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes, return_types
from ...graph.geometry import Geometry
from ...tensor import Tensor, check_dim, record
from ...tensor.batching import BatchedTensor
from ..calls.out import Out
from ..declaration.definition import operand_dtype, operator
from ..declaration.domain import not_implemented
from ..declaration.prices import TIES, per_element
from ..declaration.registry import api
from . import ties
from .along import PICK
from .extrema import indexed_geometry, indexed_operator, one_dim, refuse_complex, shared_evenly_by_all
from .reduction import reduction_geometry
from .sorting import unstable_order


def _choose(m: Any, x: Any, positions: Any, dim: int, keepdim: bool) -> Any:
    """Values and indices of one element for each row; ``positions`` keep the dimension."""
    if dim == x.ndim - 1 and x.flags.c_contiguous:      # the same as below, at a third of the cost of calls
        flat = x.reshape(-1)
        starts = np.arange(0, flat.size, x.shape[-1]).reshape(positions.shape)
        values = flat[starts + positions]
    else:
        values = m.take_along_axis(x, positions, axis=dim)
    return (values, positions) if keepdim else (values.squeeze(dim), positions.squeeze(dim))


# --- kthvalue -----------------------------------------------------------------------------------------------


def _kth_kernel(m: Any, input: Any, dim: int, keepdim: bool, k: int) -> Any:
    if not input.ndim:
        return input, m.int64(0)
    positions = _at_rank(input.argpartition(k - 1, dim), k - 1, dim)
    return _choose(m, input, _among_equal(input, positions, k - 1, dim), dim, keepdim)


def _among_equal(x: Any, positions: Any, k: int, dim: int) -> Any:
    """The positions of rank k that PyTorch names, given any."""
    chosen = np.take_along_axis(x, positions, axis=dim)
    equal = (x == chosen) | ((x != x) & (chosen != chosen))
    rows = np.moveaxis(np.count_nonzero(equal, axis=dim, keepdims=True) > 1, dim, -1)[..., 0]
    if rows.any():
        some = np.moveaxis(x, dim, -1)[rows]
        order = some.argsort(axis=-1, kind="stable")
        rank = ties.ranks(np.take_along_axis(some, order, axis=-1), order)
        positions = positions.copy()
        np.moveaxis(positions, dim, -1)[rows, 0] = ties.place_at_rank(rank, k)
    return positions


def _at_rank(x: Any, k: int, dim: int) -> Any:
    return x[(*[slice(None)] * dim, slice(k, k + 1))]


KTHVALUE = indexed_operator("kthvalue", _kth_kernel, price=per_element(TIES))


@api("torch", "Tensor", out=Out(apart=True), judge="first")
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element (counted from 1) along ``dim``, and its index.

    >>> import flambeau as torch
    >>> torch.kthvalue(torch.tensor([3., 1., 2.]), 2).values
    tensor(2.)
    """
    g = input._geometry
    refuse_complex(g, "kthvalue_cpu")
    if g.dtype is dtypes.bool_:
        raise not_implemented("kthvalue_cpu", g.dtype)
    dim = check_dim(dim, g.ndim)
    if g.ndim and g.shape[dim] == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {dim} to have non-zero size.")
    if not 1 <= k <= (g.shape[dim] if g.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    return return_types.made("kthvalue", record(KTHVALUE, (input,), (dim, keepdim, k)))


# --- median -------------------------------------------------------------------------------------------------


def _median_position(m: Any, x: Any, dim: int, ignore_nan: bool) -> Any:
    """Index of the lower median of each row: where there are NaNs, of a NaN, or of the median of the rest."""
    if not _has_nan(x):
        k = (x.shape[dim] - 1) // 2
        ordered = x.copy()
        ordered.partition(k, dim)
        found = _at_rank(ordered, k, dim)
        before = np.count_nonzero(x < found, axis=dim, keepdims=True)
        equal = x == found
        if (before == k).all():         # the first of equal ones
            return equal.argmax(axis=dim, keepdims=True)
        return (equal & (equal.cumsum(axis=dim) == k + 1 - before)).argmax(axis=dim, keepdims=True)
    order = m.argsort(x, axis=dim, kind="stable")
    n = x.shape[dim]
    shape = [1 if d == dim else extent for d, extent in enumerate(x.shape)]
    rank = np.full(shape, (n - 1) // 2)
    if x.dtype.kind == "f":
        numbers = n - np.isnan(x).sum(axis=dim, keepdims=True)
        rank = np.maximum(numbers - 1, 0) // 2 if ignore_nan else np.where(numbers < n, numbers, rank)
    return m.take_along_axis(order, rank, axis=dim)


def _has_nan(x: Any) -> bool:
    if x.dtype.kind != "f" or not x.size:
        return False
    greatest = x.item(x.argmax())       # NaN if there is any
    return bool(greatest != greatest)


def _median_kernel(m: Any, input: Any, dim: int, keepdim: bool, ignore_nan: bool) -> Any:
    if not input.ndim:
        return input, m.int64(0)
    return _choose(m, input, _median_position(m, input, dim, ignore_nan), dim, keepdim)


MEDIAN_DIM = indexed_operator("median", _median_kernel, price=per_element(TIES, 20e3),
                              grad_name="MedianBackward1")
NANMEDIAN_DIM = indexed_operator("nanmedian", _median_kernel, price=per_element(TIES, 20e3),
                                 grad_name="NanmedianBackward1")


def _median_all_kernel(m: Any, input: Any, dims: Any, keepdim: bool, ignore_nan: bool) -> Any:
    flat = input.reshape(-1)
    if flat.size and not _has_nan(flat):
        k = (flat.size - 1) // 2
        ordered = flat.copy()
        ordered.partition(k)
        return ordered[k] if ordered[k] else flat[(flat == 0).argmax()]     # of zeros the first one
    return flat[_median_position(m, flat, 0, ignore_nan)[0]] if flat.size else m.nan


def _median_all_geometry(operands: Any, attributes: Any) -> Geometry:
    return reduction_geometry(operands, (*attributes[:2], operands[0].dtype))


MEDIAN = operator("median", _median_all_geometry, compute=operand_dtype)(_median_all_kernel)
NANMEDIAN = operator("nanmedian", _median_all_geometry, compute=operand_dtype)(_median_all_kernel)
MEDIAN.derivative("input", keeps="input output")(shared_evenly_by_all)
NANMEDIAN.derivative("input", keeps="input output")(shared_evenly_by_all)


def _median(name: str, whole: Any, along: Any, input: Tensor, dim: int | None, keepdim: bool) -> Any:
    g = input._geometry
    refuse_complex(g, "median_cpu")
    if g.dtype.category == dtypes.BOOL:
        raise NotImplementedError("\"median_cpu\" not implemented for 'Bool'")
    ignore_nan = name == "nanmedian"
    if dim is None:
        return record(whole, (input,), (tuple(range(g.ndim)), False, ignore_nan))
    found = one_dim(input, dim, "median()")
    return return_types.made(name, record(along, (input,), (found, keepdim, ignore_nan)))


@api("torch", "Tensor", out=True, judge="first")
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median (the lower one of two), of all elements or along ``dim`` with indices.

    >>> import flambeau as torch
    >>> torch.median(torch.tensor([1., 4., 2., 3.]))
    tensor(2.)
    """
    return _median("median", MEDIAN, MEDIAN_DIM, input, dim, keepdim)


@api("torch", "Tensor", out=True, judge="first")
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of the elements that are not NaN.

    >>> import flambeau as torch
    >>> torch.nanmedian(torch.tensor([1., torch.nan, 3.]))
    tensor(1.)
    """
    return _median("nanmedian", NANMEDIAN, NANMEDIAN_DIM, input, dim, keepdim)


# --- mode ---------------------------------------------------------------------------------------------------


def _mode_kernel(m: Any, input: Any, dim: int, keepdim: bool) -> Any:
    """In sorted order equal elements are neighbours: the end of the longest run (the first such) is the
    mode."""
    if not input.ndim:
        return input, m.int64(0)
    order = unstable_order(input, m.argsort(input, axis=dim, kind="stable"), dim)
    ordered = m.moveaxis(m.take_along_axis(input, order, axis=dim), dim, -1)
    positions = np.arange(ordered.shape[-1])
    starts = np.ones(ordered.shape, bool)
    starts[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    length = positions - np.maximum.accumulate(np.where(starts, positions, 0), axis=-1)
    best = m.moveaxis(m.argmax(length, axis=-1)[..., None], -1, dim)
    return _choose(m, input, m.take_along_axis(order, best, axis=dim), dim, keepdim)


MODE = indexed_operator("mode", _mode_kernel, indexed_geometry, price=per_element(5 * TIES, 60e3))


@api("torch", "Tensor", out=True, judge="first")
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along ``dim`` (the smallest of equally frequent ones), and its last index.

    >>> import flambeau as torch
    >>> torch.mode(torch.tensor([2, 1, 2, 3])).values
    tensor(2)
    """
    refuse_complex(input._geometry, "mode_cpu")
    return return_types.made("mode", record(MODE, (input,), (one_dim(input, dim, "mode()"), keepdim)))


# --- quantile -----------------------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    q = _check_quantile(name, input, q, interpolation)
    ndim = input.ndim
    if dim is None:
        x = input.reshape(-1)
        kept_shape = [1] * ndim
    else:
        dim = check_dim(dim, ndim)
        kept_shape = [1 if d == dim else n for d, n in enumerate(input.shape)]
        order = [d for d in range(ndim) if d != dim] + ([dim] if ndim else [])
        x = input.permute(order) if ndim else input.reshape(1)
    values = _ranked(x, q.reshape(-1), interpolation, name == "nanquantile")
    count = values.shape[-1]
    lead = () if q.ndim == 0 else (count,)
    turned = values.permute(values.ndim - 1, *range(values.ndim - 1))
    rest = kept_shape if keepdim else [n for d, n in enumerate(input.shape) if dim is not None and d != dim]
    return turned.reshape([*lead, *rest])


def _ranked(x: Tensor, q: Tensor, interpolation: str, ignore_nan: bool) -> Tensor:
    """The quantiles q of the rows of x, as a last dimension."""
    ordered = x.sort(stable=True, dim=-1)[0]
    last = x.shape[-1] - 1
    nan = x.isnan()
    if ignore_nan:
        ranks = (q * (last - nan.sum(-1, True))).clamp(min=0)
    else:
        ranks = (q * last).expand(*x.shape[:-1], q.shape[0]).masked_fill(nan.any(-1, True), last)
    if interpolation in ("lower", "higher", "nearest"):
        found = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}[interpolation]()
        return _at(ordered, found)
    below = ranks.floor()
    weight: Any = 0.5 if interpolation == "midpoint" else ranks - below
    low, high = _at(ordered, below), _at(ordered, ranks.ceil())
    return low + (high - low) * weight if interpolation == "midpoint" else low.lerp(high, weight)


def _at(ordered: Tensor, ranks: Tensor) -> Tensor:
    return record(PICK, (ordered, ranks.to(dtypes.int64)), (ordered.ndim - 1, True))


def _check_quantile(name: str, input: Tensor, q: Any, interpolation: str) -> Tensor:
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        return input.new_full((), q)
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q.dtype is not input.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if q.numel() and q.__class__ is not BatchedTensor and not bool(((q >= 0) & (q <= 1)).all()):
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    return q


_SAME = Out("{name}() out tensor must be same dtype as the input tensor")


@api("torch", "Tensor", out=_SAME, judge="first")
def quantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The values below which the parts ``q`` of the elements lie, between neighbours by ``interpolation``.

    >>> import flambeau as torch
    >>> torch.quantile(torch.tensor([0., 1., 2., 3.]), 0.5)
    tensor(1.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


@api("torch", "Tensor", out=_SAME, judge="first")
def nanquantile(
    input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """Quantiles of the elements that are not NaN.

    >>> import flambeau as torch
    >>> torch.nanquantile(torch.tensor([1., torch.nan, 3.]), 0.5)
    tensor(2.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)
