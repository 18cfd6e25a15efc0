"""The namespace ``m`` of kernels in the interpreter: NumPy's functions, and what NumPy lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import *  # noqa: F403
from numpy import abs, all, any, max, min, round  # noqa: A004, F401

from .arrays import strided  # noqa: F401
from .products import linear, matmul  # noqa: F401
from .reductions import sum  # noqa: A004, F401
from .special import erf, erfc, lgamma  # noqa: F401

Array = np.ndarray[Any, Any]


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return np.reciprocal(np.sqrt(x))


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow: exp is taken of negative numbers only."""
    if np.iscomplexobj(x):
        return 1 / (1 + np.exp(-x))
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(np.result_type(x), copy=False)


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def cast(x: Any, numpy_type: Any) -> Any:
    """The elements of x converted to another type."""
    return x.astype(numpy_type)


def reinterpret(flat: Array, numpy_type: Any) -> Array:
    """The bytes of a flat array as elements of another type."""
    return flat if flat.dtype == numpy_type else flat.view(np.uint8).view(numpy_type)
