"""Orthogonal polynomials by their three-term recurrences, each element with a degree of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .blocks import Array

__all__ = ["orthogonal"]

Step = Callable[[Array, Array, Array, int], Array]


def _chebyshev(x: Array, last: Array, before: Array, k: int) -> Array:
    return 2 * x * last - before


# family -> (the polynomial of degree 1, the next one from x, p_k, p_(k-1) and k)
_FAMILIES: dict[str, tuple[Callable[[Array], Array], Step]] = {
    "chebyshev_t": (lambda x: x, _chebyshev),
    "chebyshev_u": (lambda x: 2 * x, _chebyshev),
    "chebyshev_v": (lambda x: 2 * x - 1, _chebyshev),
    "chebyshev_w": (lambda x: 2 * x + 1, _chebyshev),
    "hermite_h": (lambda x: 2 * x, lambda x, last, before, k: 2 * x * last - 2 * k * before),
    "hermite_he": (lambda x: x, lambda x, last, before, k: x * last - k * before),
    "laguerre_l": (
        lambda x: 1 - x,
        lambda x, last, before, k: ((2 * k + 1 - x) * last - k * before) / (k + 1),
    ),
    "legendre_p": (lambda x: x, lambda x, last, before, k: ((2 * k + 1) * x * last - k * before) / (k + 1)),
}


def orthogonal(x: Any, n: Any, family: str) -> Array:
    """The polynomial of degree n at x; 0 for negative degrees. ``shifted_`` families take 2x - 1."""
    x, n = np.broadcast_arrays(x, n)
    wanted = x.dtype
    point, degree = x.astype(np.float64), np.trunc(n)
    if family.startswith("shifted_"):
        family, point = family[8:], 2 * point - 1
    first, step = _FAMILIES[family]
    before, last = np.ones_like(point), first(point)
    result = np.where(degree == 0, 1.0, np.where(degree == 1, last, 0.0))
    for k in range(1, int(degree.max(initial=0))):
        before, last = last, step(point, last, before, k)
        result = np.where(degree == k + 1, last, result)
    return result.astype(wanted)
