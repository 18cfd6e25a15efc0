"""Ranges of numbers: arange, linspace, logspace.

Note: rounding of ranges. PyTorch's numbers to the last bit: schedules are made of them, and products of a
thousand of them.

* ``arange`` goes on in groups, the 8 numbers (4 of float64, 16 of the half types) that lie in a register: the
  first of a group is rounded, the others are counted from there. The last numbers, where there are not two
  groups more, are counted from the start.
* Products are not rounded before they are added, but in half types everything is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from ... import devices, dtypes
from ...graph.geometry import Geometry, contiguous
from ...graph.node import Signature
from ...graph.operator import Operator
from ...tensor import Tensor, record, record_numbers
from ...tensor.batching import any_batched, levels, rules
from ...tensor.warned import warn
from ..calls.number_range import check_number
from ..calls.out import store
from ..declaration.registry import api
from .creation import leaf, usual_geometry


def _arange_kernel(m: Any, start: Any, step: Any, geometry: Geometry) -> Any:
    numpy_type = geometry.dtype.numpy
    if geometry.dtype.category < dtypes.FLOATING:
        return (int(start) + m.arange(geometry.numel) * int(step)).astype(numpy_type)
    return _in_groups(start, step, geometry.numel, np.dtype(numpy_type))


_GROUPS = {2: 16, 4: 8, 8: 4}                                       # by bytes of an element
_WIDER = {4: np.float64, 8: np.longdouble}                          # in which products are as if not rounded


def _in_groups(start: Any, step: Any, n: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """start + i step (Note: rounding of ranges)."""
    work = _WIDER.get(dtype.itemsize, np.float32)
    first, width = work(start), work(step)
    size = _GROUPS.get(dtype.itemsize, 1)
    i = np.arange(n)
    grouped = n - n % (2 * size)
    ahead = i[:grouped] % size
    begins = (first + width * (i[:grouped] - ahead).astype(work)).astype(dtype)
    return np.concatenate([(begins.astype(work) + width * ahead.astype(work)).astype(dtype),
                           (first + width * i[grouped:].astype(work)).astype(dtype)])


def _price(signature: Signature) -> float:
    """Floating numbers are computed in wider types, or in those that NumPy has no instructions for."""
    out = signature.outputs[0]
    return 10e3 + 10.0 * out.numel if out.dtype.category >= dtypes.FLOATING else 0.0


ARANGE = Operator("arange", _arange_kernel, lambda operands, attributes: attributes[0], ("start", "step"),
                  price=_price)


def _number(x: Any) -> Any:
    return x.item() if hasattr(x, "item") else x


def _shortly(function: Callable[..., Any]) -> Callable[..., Any]:
    """A short way for ``arange(3)`` and ``arange(2, 5)``, mostly."""
    def short(*bounds: Any, **kwargs: Any) -> Any:
        count = len(bounds)
        if (count == 1 or (count == 2 and bounds[1].__class__ is int)) and bounds[0].__class__ is int \
                and "dtype" not in kwargs:
            start, end = bounds if count == 2 else (0, bounds[0])
            if start <= end and (g := usual_geometry((end - start,), kwargs, dtypes.int64)) is not None:
                return record_numbers(ARANGE, (start, 1), (g,))
        return function(*bounds, **kwargs)
    return short


def require_ranges_of(dtype: dtypes.dtype) -> None:
    """Refuse types that have no ranges, in PyTorch's words."""
    if dtype is dtypes.bool_ or dtype.is_complex or dtype in dtypes.FLOAT8:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dtypes.SCALAR_NAMES[dtype]}'")


@api("torch", judge="first", shorten=_shortly)
def arange(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The numbers from ``start`` to before ``end``, ``step`` apart.

    >>> import flambeau as torch
    >>> torch.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    start, end, step = _number(start), _number(end), _number(step)
    if end is None:
        start, end = 0, start
    if out is not None:
        made = arange(start, end, step, dtype=out.dtype, device=out.device)
        return store(made, out, "arange")
    if dtype is None:
        dtype = (
            dtypes.int64
            if all(isinstance(x, int) for x in (start, end, step))
            else dtypes.get_default_dtype()
        )
    for x in (start, end, step):
        if isinstance(x, complex):
            check_number(x, dtypes.float64)
        if not isinstance(x, (int, float)):
            raise TypeError(f"arange(): argument must be Number, not {type(x).__name__}")
    require_ranges_of(dtype)
    if step == 0 or math.isnan(step):
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is dtypes.int64:  # whose numbers are cut first
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
        count = -((start - end) // step) if step > 0 else -((end - start) // -step)
    else:
        count = math.ceil((end - start) / step)
    made = record(ARANGE, (start, step), (contiguous((count,), dtype, devices.resolve(device)),))
    return leaf(made) if requires_grad else made


@api("torch", out=True, judge="first")
def range(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers from ``start`` to ``end``, both included (deprecated in PyTorch: use ``arange``).

    >>> import flambeau as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.range(1, 4)
    tensor([1., 2., 3., 4.])
    """
    warn("torch.range is deprecated and will be removed in a future release because its behavior is "
         "inconsistent with Python's range builtin. Instead, use torch.arange, which produces values in "
         "[start, end).")
    start, end, step = _number(start), _number(end), _number(step)
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    count = math.floor((end - start) / step) + 1
    g = contiguous((count,), dtype or dtypes.get_default_dtype(), devices.resolve(device))
    out = record(ARANGE, (start, step), (g,))
    return leaf(out) if requires_grad else out


def _linspace_kernel(m: Any, start: Any, end: Any, base: Any, geometry: Geometry) -> Any:
    n, numpy_type = geometry.numel, geometry.dtype.numpy
    half_type = geometry.dtype in dtypes.LOW_PRECISION
    work = m.dtype(m.float32) if half_type and base is not None else m.dtype(numpy_type)
    if geometry.dtype.category < dtypes.FLOATING:
        first, last = int(start), int(end)
        step = m.float32(last - first) / m.float32(max(n - 1, 1))
        work = m.dtype(m.float32)
        i = m.arange(n)
        half = max(n // 2, 1)
        values = m.where(i < half, first + step * i.astype(work), last - step * (n - 1 - i).astype(work))
        if base is None:
            return m.trunc(values).astype(numpy_type)
        return m.power(m.float64(base), values).astype(numpy_type)
    first, last = work.type(start), work.type(end)
    i = m.arange(n)
    step = (last - first) / work.type(max(n - 1, 1))
    exact = work.kind == "f" and base is None
    wide = _WIDER.get(work.itemsize, work.type) if exact else work.type
    before, after = (k.astype(step.real.dtype) for k in (i, n - 1 - i))
    values = m.where(i < n // 2, wide(first) + wide(step) * before, wide(last) - wide(step) * after)
    values = values.astype(work)
    if n == 1:
        values = m.full(1, first)
    if base is not None:
        values = m.power(work.type(base), values)
    return values.astype(numpy_type)


LINSPACE = Operator(
    "linspace", _linspace_kernel, lambda operands, attributes: attributes[0], ("start", "end", "base"),
    price=_price,
)


def _spaced(
    name: str, start: Any, end: Any, steps: int, base: Any, dtype: Any, device: Any, requires_grad: bool
) -> Tensor:
    steps = index(steps)
    if dtype is dtypes.bool_:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    for which, x in (("start", start), ("end", end)):
        if isinstance(x, Tensor) and x.ndim:
            raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {which} "
                               f"with {x.ndim} dimension(s).")
    start, end = _number(start), _number(end)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if dtype is not None and not dtype.is_complex and complex in (start.__class__, end.__class__):
        inferred = dtypes.c_name(dtypes.get_default_dtype().to_complex())
        raise RuntimeError(f"torch.{name}(): inferred dtype {inferred} can't be safely cast to passed dtype "
                           f"{dtypes.SCALAR_NAMES[dtype]}")
    found = dtype or (
        dtypes.get_default_dtype().to_complex()
        if isinstance(start, complex) or isinstance(end, complex)
        else dtypes.get_default_dtype()
    )
    out = record(LINSPACE, (start, end, base), (contiguous((steps,), found, devices.resolve(device)),))
    return leaf(out) if requires_grad else out


@api("torch", out=True, judge="first")
def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, layout: Any = None, device: Any = None,
             requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """``steps`` numbers from ``start`` to ``end``, evenly spaced.

    >>> import flambeau as torch
    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if levels and any_batched((start, end)):
        return rules.each(linspace, (start, end, steps), {"dtype": dtype, "device": device})
    return _spaced("linspace", start, end, steps, None, dtype, device, requires_grad)


@api("torch", out=True, judge="first")
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """``base`` to the power of ``steps`` evenly spaced numbers.

    >>> import flambeau as torch
    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    if levels and any_batched((start, end)):
        return rules.each(logspace, (start, end, steps, base), {"dtype": dtype, "device": device})
    return _spaced("logspace", start, end, steps, base, dtype, device, requires_grad)
