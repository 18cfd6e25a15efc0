"""Random integers: ``randint``, and how far they may range."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ... import devices, dtypes
from ...graph.geometry import Geometry, contiguous
from ...random_streams.few import FEW, WIDE, few_integers
from ...random_streams.integers import randint as draw_integers
from ...random_streams.integers import random_full
from ...tensor import Tensor, state
from ...tensor.generator import draw, draw_few, few_by_few, numbers_ahead
from ...tensor.samples.drawn import drawn_number
from ..calls.extents import sizes_of
from ..creation.creation import factory_geometry, like_geometry, usual_geometry
from ..declaration.definition import operator
from ..declaration.prices import draws
from ..declaration.registry import api
from .random import drawn, finished, in_memory_order, with_state


@operator("randint", with_state, kind="draw", price=draws(6.0))
def RANDINT(m: Any, state: Any, low: Any, high: Any, geometry: Geometry) -> Any:
    dtype = geometry.dtype.numpy
    return in_memory_order(geometry, lambda shape: draw_integers(state, shape, int(low), int(high), dtype))


few_by_few[RANDINT] = few_integers


@operator("random_full", with_state, kind="draw")
def RANDOM_FULL(m: Any, state: Any, geometry: Geometry) -> Any:
    return in_memory_order(geometry, lambda shape: random_full(state, shape, geometry.dtype.numpy))


_INTEGERS = {int}
_ONE = {shape: contiguous(shape, dtypes.int64) for shape in ((), (1,))}


def _few_integers(*args: Any) -> Any:
    """``randint(high, size)`` or ``randint(low, high, size)`` of few numbers, drawn at once; else None."""
    if len(args) == 2:
        args = 0, *args
    elif len(args) != 3:
        return None
    low, high, size = args
    if size.__class__ is not tuple or low.__class__ is not int or high.__class__ is not int \
            or not -_FIT <= low < high <= _FIT:
        return None
    if high - low < WIDE and size in _ONE and (ahead := numbers_ahead()) is not None:
        return drawn_number(ahead.one_integer(low, high), _ONE[size])
    if not {*map(type, size)} <= _INTEGERS or not 0 < prod(size) <= FEW or min(size, default=1) < 0:
        return None
    return draw_few(few_integers, contiguous(size, dtypes.int64, devices.resolve(None)), low, high)


def _integer_arguments(args: tuple[Any, ...], low: Any, high: Any,
                       size: Any) -> tuple[int, int, tuple[int, ...]]:
    """(low, high, size) from ``randint(high, size)`` and ``randint(low, high, size)``."""
    if len(args) == 3 and low is high is size is None and args[0].__class__ is args[1].__class__ is int:
        return args[0], args[1], sizes_of((), "randint", "size", args[2])
    values = list(args)
    if size is None:
        size = values.pop()
    numbers = values
    if high is None:
        high = numbers.pop()
    if low is None:
        low = numbers.pop() if numbers else 0
    return int(low), int(high), sizes_of((), "randint", "size", size)


def _shortly(function: Callable[..., Any]) -> Callable[..., Any]:
    """A short way to draw more (Note: hot functions, in ``recording/record.py``)."""
    def short(*args: Any, **kwargs: Any) -> Any:
        if 2 <= len(args) <= 3 and state.at_once is None and (size := args[-1]).__class__ is tuple \
                and (len(size) != 1 or (size[0].__class__ is int and size[0] > FEW)) \
                and "dtype" not in kwargs \
                and (g := usual_geometry(size, kwargs, dtypes.int64)) is not None \
                and g.numel > FEW and g.device is devices.CPU:
            low, high = (0, args[0]) if len(args) == 2 else args[:2]
            if low.__class__ is int and high.__class__ is int and -_FIT <= low < high <= _FIT:
                return finished(draw(RANDINT, None, (low, high), (g,)), False)
        return function(*args, **kwargs)
    return short


@api("torch", out=True, judge="first", quick=_few_integers, shorten=_shortly)
def randint(*args: Any, low: Any = None, high: Any = None, size: Any = None, generator: Any = None,
            dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
            pin_memory: bool = False) -> Tensor:
    """Integers of [low, high): ``randint(high, size)`` or ``randint(low, high, size)``.

    >>> import flambeau as torch
    >>> _ = torch.manual_seed(0); torch.randint(10, (3,))
    tensor([4, 9, 3])
    """
    low, high, shape = _integer_arguments(args, low, high, size)
    geometry = factory_geometry(shape, dtype or dtypes.int64, device, "randint")
    return _drawn_between(low, high, geometry, generator, requires_grad)


def _drawn_between(low: int, high: int, geometry: Geometry, generator: Any, requires_grad: bool) -> Tensor:
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if geometry.dtype.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    check_range(geometry.dtype, low, high - 1)
    return finished(drawn(RANDINT, generator, (low, high), geometry), requires_grad)


_FIT = 1 << 62  # surely in the range of the usual type


@cache
def _limits(d: dtypes.dtype) -> tuple[int, int]:
    return (0, 1) if d is dtypes.bool_ else (int(np.iinfo(d.numpy).min), int(np.iinfo(d.numpy).max))


def check_range(d: dtypes.dtype, first: int, last: int) -> None:
    """Raise PyTorch's error where a type cannot hold the first or the last of the integers."""
    if d.category >= dtypes.FLOATING or (-_FIT <= first and last <= _FIT and d is dtypes.int64):
        return
    low, high = _limits(d)
    if not low <= first <= high:
        raise RuntimeError("from is out of bounds for " + _c_type(d))
    if not low <= last <= high:
        raise RuntimeError("to - 1 is out of bounds for " + _c_type(d))


def _c_type(d: dtypes.dtype) -> str:
    return {"int64": "long", "int32": "int", "uint8": "unsigned char", "int8": "signed char",
            "int16": "short", "bool": "bool"}.get(d.name, d.name)


@api("torch", judge="first")
def randint_like(input: Tensor, *args: Any, low: Any = None, high: Any = None, dtype: Any = None,
                 layout: Any = None, device: Any = None, requires_grad: bool = False,
                 memory_format: Any = None, pin_memory: bool = False, generator: Any = None) -> Tensor:
    """Integers of [low, high) in a tensor's shape and type.

    >>> import flambeau as torch
    >>> torch.randint_like(torch.ones(2), 5) < 5
    tensor([True, True])
    """
    low, high, _ = _integer_arguments(args, low, high, ())
    return _drawn_between(low, high, like_geometry(input, dtype, device), generator, requires_grad)
