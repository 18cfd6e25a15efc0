"""Which numbers fit an element type."""

from __future__ import annotations

from typing import Any

from .. import dtypes


def _refused(dtype: dtypes.dtype) -> RuntimeError:
    integer = dtype.category == dtypes.INTEGER and dtype is not dtypes.int32
    return RuntimeError("value cannot be converted to type "
                        f"{dtype.name + '_t' if integer else dtypes.c_name(dtype)} without overflow")


def check_number(value: Any, dtype: dtypes.dtype) -> None:
    """Raise where a number does not fit an element type; unsigned types take negative numbers."""
    if isinstance(value, complex) and not dtype.is_complex:
        raise _refused(dtype)
    if dtype.category == dtypes.INTEGER and isinstance(value, (int, float)) and not isinstance(value, bool):
        limits = dtypes.iinfo(dtype)
        low = limits.min if dtype.is_signed else -limits.max - 1
        if not low <= value <= limits.max:
            raise _refused(dtype)
