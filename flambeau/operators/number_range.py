"""Which numbers fit an element type."""

from __future__ import annotations

from typing import Any

from .. import dtypes

_SPOKEN = {"uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t"}


def check_number(value: Any, dtype: dtypes.dtype) -> None:
    """Raise where a number does not fit an element type; unsigned types take negative numbers."""
    if isinstance(value, complex) and not dtype.is_complex:
        raise RuntimeError(f"value cannot be converted to type {_SPOKEN.get(dtype.name, dtype.name)} without "
                           "overflow")
    if dtype.category == dtypes.INTEGER and isinstance(value, (int, float)) and not isinstance(value, bool):
        limits = dtypes.iinfo(dtype)
        low = limits.min if dtype.is_signed else -limits.max - 1
        if not low <= value <= limits.max:
            raise RuntimeError(f"value cannot be converted to type {_SPOKEN.get(dtype.name, dtype.name)} "
                               "without overflow")
