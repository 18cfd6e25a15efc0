"""Fused multiply-add and rounding to the types of tensors: the arithmetic that PyTorch compiles to."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

FLOAT16 = np.dtype(np.float16)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
_SPLIT = 2.0**27 + 1.0


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether a type has 16 bits, so that PyTorch computes in float32 and rounds."""
    return dtype == FLOAT16 or dtype == BFLOAT16


def rounded(values: Array, dtype: np.dtype[Any]) -> Array:
    """``values`` in ``dtype``; to 16 bits by way of float32, as PyTorch converts."""
    if values.dtype == dtype:
        return values
    if is_half(dtype):
        return values.astype(FLOAT32, copy=False).astype(dtype)
    return values.astype(dtype)


def scaled(values: Array, factor: float, offset: float) -> Array:
    """``values * factor + offset`` in float64 with a single rounding (a fused multiply-add).

    The product and the sum are taken apart into a value and its exact error (Dekker 1971, Knuth's two-sum).
    """
    product = values * factor
    if offset == 0.0:
        return product
    total = product + offset
    if factor == 1.0:
        return total
    with np.errstate(over="ignore", invalid="ignore"):
        correction = _product_error(values, factor, product)
        part = total - product
        correction += (product - (total - part)) + (offset - part)
        exact = total + correction
    return np.where(np.isfinite(exact), exact, total)


def _product_error(values: Array, factor: float, product: Array) -> Array:
    big = values * _SPLIT
    high = big - (big - values)
    low = values - high
    scale = factor * _SPLIT
    factor_high = scale - (scale - factor)
    factor_low = factor - factor_high
    error = high * factor_high - product
    error += high * factor_low
    error += low * factor_high
    error += low * factor_low
    return error


def scaled32(values: Array, factor: float, offset: float) -> Array:
    """The same for float32 values; factor and offset are rounded to float32 first."""
    wide = np.multiply(values, float(np.float32(factor)), dtype=FLOAT64)
    wide += float(np.float32(offset))
    return wide.astype(FLOAT32)


def _c_library(function: Callable[[float], float]) -> Callable[[Array], Array]:
    def apply(values: Array) -> Array:
        return np.fromiter(map(function, values.ravel().tolist()), FLOAT64, values.size).reshape(values.shape)
    return apply


# The C library's functions, which PyTorch calls in float64. NumPy's vectorised ones differ from them in the
# last bit (log: of one value in 700; log1p and exp: in 15; tan: in 200), which only a float64 result shows;
# these cost 50 ns.
exact_log = _c_library(math.log)
exact_log1p = _c_library(math.log1p)
exact_exp = _c_library(math.exp)
exact_tan = _c_library(math.tan)
