"""Orthogonal polynomials by their three-term recurrences, each element with a degree of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .blocks import Array

__all__ = ["orthogonal"]

HIGHEST = 2.0 ** 31    # degrees from here on have no end that one could wait for
Step = Callable[[Any, Any, Any, Any], Any]


def _chebyshev(x: Any, last: Any, before: Any, k: Any) -> Any:
    return 2 * x * last - before


# family -> (the polynomial of degree 1, the next one from x, p_k, p_(k-1) and k)
_FAMILIES: dict[str, tuple[Callable[[Any], Any], Step]] = {
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


def family_of(family: str, x: Any) -> tuple[Callable[[Any], Any], Step, Any]:
    """A family's polynomial of degree 1, its recurrence, and where it is computed for x."""
    if family.startswith("shifted_"):
        return (*_FAMILIES[family[8:]], 2 * x - 1)
    return (*_FAMILIES[family], x)


def orthogonal(x: Any, n: Any, family: str) -> Array:
    """The polynomial of degree n at x; 0 for negative degrees. ``shifted_`` families take 2x - 1."""
    x, n = np.broadcast_arrays(x, n)
    wanted = x.dtype
    point, degree = x.astype(np.float64), np.trunc(n)
    first, step, point = family_of(family, point)
    before, last = np.ones_like(point), first(point)
    result = np.where(degree == 0, 1.0, np.where(degree == 1, last, 0.0))
    for k in range(1, int(degree.max(initial=0, where=degree < HIGHEST))):
        before, last = last, step(point, last, before, k)
        result = np.where(degree == k + 1, last, result)
    return result.astype(wanted)
