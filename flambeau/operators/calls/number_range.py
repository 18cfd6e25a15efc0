"""Which numbers fit an element type."""

from __future__ import annotations

from math import isfinite
from typing import Any

from ... import dtypes
from ...type_info import finfo, iinfo


def _refused(dtype: dtypes.dtype) -> RuntimeError:
    integer = dtype.category == dtypes.INTEGER and dtype is not dtypes.int32
    return RuntimeError("value cannot be converted to type "
                        f"{dtype.name + '_t' if integer else dtypes.c_name(dtype)} without overflow")


_PYTHONS = (int, float, bool, complex)


def plain_number(value: Any) -> Any:
    """Python's own number for one of NumPy's, or of a class made of Python's, such as an ``IntEnum``."""
    kind = value.__class__
    if kind in _PYTHONS:
        return value
    if hasattr(value, "item"):
        return value.item()
    found = next((one for one in _PYTHONS if isinstance(value, one)), None)
    if found is None:
        raise TypeError(f"must be Number, not {kind.__name__}")     # worded where it is judged
    return found(value)


def check_number(value: Any, dtype: dtypes.dtype) -> None:
    """Raise where a number does not fit an element type.

    Unsigned types take negative integers, down to the opposite of their largest number, floating types what
    is not finite, truth values everything.
    """
    kind = value.__class__
    if kind not in _PYTHONS:
        value = plain_number(value)
        kind = value.__class__
    if kind is bool or dtype is dtypes.bool_:
        return
    if kind is int and not -1 << 63 <= value < 1 << 64:
        raise OverflowError("int too big to convert" if value > 0 else
                            "can't convert negative int to unsigned")
    if kind is complex:
        if not dtype.is_complex and value.imag != 0:
            raise _refused(dtype)
        value = value.real
    if dtype.category >= dtypes.FLOATING:
        if not isfinite(value) or abs(value) <= _largest(dtype):
            return
    elif dtype.category == dtypes.INTEGER:
        low, high = _LIMITS[dtype]
        if low <= value <= high and (value >= 0 or dtype.is_signed or value.__class__ is int):
            return
    else:
        return
    raise _refused(dtype)


def number_for(value: Any, dtype: dtypes.dtype) -> Any:
    """A number as the elements of a tensor of this type are computed with; raises where it does not fit."""
    kind = value.__class__
    if (kind is float or kind is int) and dtype.category >= dtypes.FLOATING and -2 <= value <= 2:
        return value    # of any type
    if kind not in _PYTHONS:
        value = plain_number(value)
    check_number(value, dtype)
    if value.__class__ is complex and not dtype.is_complex:
        value = value.real if dtype is not dtypes.bool_ else bool(value)
    if dtype.category != dtypes.INTEGER:
        return float(value) if value.__class__ is int and abs(value) >> 53 else value
    value = value if value.__class__ is bool else int(value)
    return value + _LIMITS[dtype][1] + 1 if value < 0 and not dtype.is_signed else value


def _largest(dtype: dtypes.dtype) -> float:
    found = _MAXIMA.get(dtype)
    if found is None:
        found = _MAXIMA[dtype] = float(finfo(dtype).max)
    return found


_MAXIMA: dict[dtypes.dtype, float] = {dtypes.float64: float("inf"), dtypes.complex128: float("inf")}


def _limits(dtype: dtypes.dtype) -> tuple[int, int]:
    limits = iinfo(dtype)
    return limits.min if dtype.is_signed else -limits.max, limits.max


_LIMITS = {dtype: _limits(dtype) for dtype in (
    dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint16, dtypes.uint32,
    dtypes.uint64)}
