"""Counting elements: histc, histogram, histogramdd, bincount. Their ranges or sizes are data: these are
looks."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from ... import dtypes, return_types
from ...tensor import Tensor
from ...tensor.batching import by_example
from ...tensor.construct import from_array
from ..calls.out import Out
from ..creation.ranges import linspace
from ..declaration.registry import api
from ..declaration.undifferentiable import finding_without_derivative, found_in
from ..interop.looking import look

_HISTOGRAM = finding_without_derivative("histogram")
_EDGES = finding_without_derivative("_histogramdd_bin_edges")
_COUNTS_BY_NUMBER = finding_without_derivative("_histogramdd_from_bin_cts")
_COUNTS_BY_EDGES = finding_without_derivative("_histogramdd_from_bin_tensors")


def _require_real(input: Tensor, name: str, refused: Any = dtypes.LOW_PRECISION) -> None:
    """Refuse integers, complex numbers and the types in ``refused``."""
    if not input.is_floating_point() or input.dtype in refused:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.SCALAR_NAMES[input.dtype]}'")


def _counts(values: Any, edges: Any, weights: Any) -> Any:
    """How many values (or how much weight) lie in each bin; the last bin includes its right edge."""
    bins = len(edges) - 1
    position = np.searchsorted(edges, values, "right") - 1
    position = np.where(values == edges[-1], bins - 1, position)
    inside = (position >= 0) & (position < bins) & (values <= edges[-1])
    found = np.bincount(position[inside], None if weights is None else weights[inside], bins)
    return found.astype(values.dtype)


def _span(values: Any) -> tuple[float, float]:
    """The range of the data."""
    return (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)


def _even_edges(low: float, high: float, bins: int, values: Any) -> Any:
    """The edges of equal bins, rounded as ``linspace`` rounds in the values' type."""
    return look(linspace(low, high, bins + 1, dtype=dtypes.from_numpy_dtype(values.dtype)), "histogram")


def _outer_edges(name: str, low: float, high: float, margin: float = 0.5) -> tuple[float, float]:
    """The range of a histogram, which is never empty."""
    if not (isfinite(low) and isfinite(high)):
        raise RuntimeError(f"{name}: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min")
    return (low - margin, high + margin) if low == high else (low, high)


_HIST = Out("torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
            "{result} and hist {out}")


@api("torch", "Tensor", out=_HIST, judge="first")
@by_example
def histc(input: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """How many elements lie in each of ``bins`` equal parts of [min, max], or of the data's range: (bins).

    >>> import flambeau as torch
    >>> torch.histc(torch.tensor([1., 2., 1.]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    _require_real(input, "histogram_cpu", ())
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    values = look(input, "histc").reshape(-1)
    if input.dtype in dtypes.LOW_PRECISION:
        values = values.astype(np.float32)
    span = _span(values) if min == max else (float(min), float(max))
    low, high = _outer_edges("torch.histc", *span, 1.0)
    return from_array(_equal_counts(values, bins, low, high, None), input.dtype)


def _equal_counts(values: Any, bins: int, low: float, high: float, weights: Any, edges: Any = None) -> Any:
    """As ``_counts``, for bins of equal widths: each value's is computed, not searched for.

    Where ``edges`` are given, which are rounded, a value next to one lies on the side that it tells.
    """
    inside = (values >= low) & (values <= high)
    chosen = values[inside].astype(np.float64)
    position = np.minimum(((chosen - low) * bins / (high - low)).astype(np.int64), bins - 1)
    if edges is not None:
        position -= (values[inside] < edges[position]) & (position > 0)
        position += (values[inside] >= edges[position + 1]) & (position < bins - 1)
    found = np.bincount(position, None if weights is None else weights[inside], bins)
    return found.astype(values.dtype)


def _density(hist: Any, *edges: Any) -> Any:
    """Counts over the volumes of their cells, whose integral is 1."""
    volume = np.ones(())
    for each in edges:
        volume = np.multiply.outer(volume, np.diff(each))
    return (hist / hist.sum() / volume).astype(hist.dtype)


def _types_differ(name: str, input: Tensor, x: Tensor, d: int = 0) -> str:
    given, other = dtypes.c_name(input.dtype), dtypes.c_name(x.dtype)
    if name == "weight":
        return ("torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have "
                f"the same dtype, but got input({given}), and weight({other})")
    return ("torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with "
            f"dtype {given} and bins for dimension {d} with dtype {other}")


@api("torch", "Tensor", out=True, judge="first")
@by_example
def histogram(
    input: Tensor, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """Counts of elements (or sums of weights) in bins, (B), and the bins' edges, (B + 1).

    >>> import flambeau as torch
    >>> torch.histogram(torch.tensor([1., 2., 1.]), bins=4, range=(0., 3.)).hist
    tensor([0., 2., 1., 0.])
    """
    _check_types(input, bins=bins)
    _require_real(input, "histogramdd")
    _check_types(input, weight=weight)
    if weight is not None:
        _check_weight([input.numel(), 1], weight.reshape(-1))
    values = look(input, "histogram").reshape(-1)
    weights = None if weight is None else look(weight, "histogram").reshape(-1)
    if isinstance(bins, Tensor):
        edges = look(bins, "histogram").astype(values.dtype)
        hist = _counts(values, edges, weights)
    else:
        _check_bins([bins])
        low, high = _outer_edges("torch.histogramdd", *(map(float, range) if range else _span(values)))
        edges = _even_edges(low, high, bins, values)
        hist = _equal_counts(values, bins, low, high, weights, edges)
    if density:
        hist = _density(hist, edges)
    sources = input, weight, bins if isinstance(bins, Tensor) else None
    results = (found_in(from_array(x), _HISTOGRAM, *sources) for x in (hist, edges.copy()))
    return return_types.TYPES["histogram"](*results)


def _check_bins(bins: Sequence[int]) -> None:
    for d, n in enumerate(bins):
        if n <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {n} for dimension {d}")


@api("torch", "Tensor", judge="first")
def histogramdd(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """Counts of points, the rows of (..., D), in the cells of a D-dimensional grid, and the grid's edges.

    >>> import flambeau as torch
    >>> torch.histogramdd(torch.tensor([[0., 1.], [1., 0.]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    _require_real(input, "histogramdd")
    _check_points(input, bins, weight)
    count = input.shape[-1]
    points = look(input, "histogramdd").reshape(-1, count)
    weights = None if weight is None else look(weight, "histogramdd").reshape(-1)
    edges = _grid(points, [bins] * count if isinstance(bins, int) else list(bins), range)
    hist = _cell_counts(points, edges, weights)
    if density:
        hist = _density(hist, *edges)
    tensors = [] if isinstance(bins, int) else [b for b in bins if isinstance(b, Tensor)]
    ends = [from_array(e) for e in edges]
    if not tensors:
        ends = [found_in(e, _EDGES, input, weight) for e in ends]
    kind = _COUNTS_BY_EDGES if tensors else _COUNTS_BY_NUMBER
    counts = found_in(from_array(hist), kind, input, weight, *tensors)
    return return_types.TYPES["histogramdd"](counts, tuple(ends))


def _check_types(input: Tensor, **others: Any) -> None:
    for name, x in others.items():
        if isinstance(x, Tensor) and x.dtype is not input.dtype:
            raise RuntimeError(_types_differ(name, input, x))


def _check_points(input: Tensor, bins: Any, weight: Tensor | None) -> None:
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    for d, x in enumerate([] if isinstance(bins, int) else bins):
        if isinstance(x, Tensor) and x.dtype is not input.dtype:
            raise RuntimeError(_types_differ("bins", input, x, d))
    if weight is not None:
        _check_types(input, weight=weight)
        _check_weight(input.shape, weight)


def _check_weight(points: Sequence[int], weight: Tensor) -> None:
    if weight.shape != tuple(points[:-1]):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input "
            "tensor excluding its innermost dimension, but got input with shape "
            f"{list(points)} and weight with shape {list(weight.shape)}"
        )


def _cell_counts(points: Any, edges: Sequence[Any], weights: Any) -> Any:
    """As ``_counts``, of points (N, D) in a grid with these edges in each of the D dimensions."""
    shape = [len(e) - 1 for e in edges]
    cell = np.zeros(len(points), np.int64)
    inside = np.ones(len(points), bool)
    for values, e in zip(points.T, edges):
        position = np.where(values == e[-1], len(e) - 2, np.searchsorted(e, values, "right") - 1)
        inside &= (values >= e[0]) & (values <= e[-1])
        cell = cell * (len(e) - 1) + position
    found = np.bincount(cell[inside], None if weights is None else weights[inside], int(np.prod(shape)))
    return found.reshape(shape).astype(points.dtype)


def _grid(points: Any, bins: Sequence[Any], limits: Any) -> list[Any]:
    """The edges in each dimension: those that were given, or so many equal bins within the limits."""
    if len(bins) != points.shape[1]:
        raise RuntimeError(
            f"torch.histogramdd(): expected {points.shape[1]} sequences of bin edges for a "
            f"{points.shape[1]}-dimensional histogram but got {len(bins)}"
        )
    if isinstance(bins[0], Tensor):
        return [look(b, "histogramdd").astype(points.dtype) for b in bins]
    _check_bins(bins)
    edges = []
    for d, n in enumerate(bins):
        given = map(float, limits[2 * d : 2 * d + 2]) if limits else _span(points[:, d])
        low, high = _outer_edges("torch.histogramdd", *given)
        edges.append(_even_edges(low, high, n, points))
    return edges


@api("torch", "Tensor")
@by_example
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often (or with how much weight) each number from 0 on occurs.

    >>> import flambeau as torch
    >>> torch.bincount(torch.tensor([1, 3, 1]))
    tensor([0, 2, 0, 1])
    """
    if input.dtype.category >= dtypes.FLOATING or input.dtype is dtypes.bool_:
        raise NotImplementedError(
            f"\"bincount_cpu\" not implemented for '{dtypes.SCALAR_NAMES[input.dtype]}'"
        )
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if input.ndim != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    values = look(input, "bincount")
    if values.size and values.min() < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return from_array(np.bincount(values, minlength=minlength).astype(np.int64))
    if weights.ndim != 1 or weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    dtype = weights.dtype if weights.dtype is dtypes.float32 else dtypes.float64
    found = np.bincount(values, look(weights, "bincount").astype(np.float64), minlength)
    return from_array(found.astype(dtype.numpy))
