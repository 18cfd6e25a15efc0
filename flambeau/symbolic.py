"""``torch.sym_*``: functions on sizes that work on plain Python numbers, which sizes are here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


def sym_int(a: Any) -> int:
    """``a`` towards zero.

    >>> sym_int(-2.7)
    -2
    """
    return int(a)


def sym_float(a: Any) -> float:
    """``a`` as a floating-point number."""
    return float(a)


def sym_not(a: Any) -> bool:
    """Whether ``a`` is false."""
    return not a


def sym_sqrt(a: Any) -> float:
    """The square root."""
    return math.sqrt(a)


def sym_max(a: Any, b: Any) -> Any:
    """The greater of two numbers; floating where one of them is.

    >>> sym_max(3, 2.0)
    3.0
    """
    found = max(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; floating where one of them is."""
    found = min(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def sym_sum(args: Iterable[Any]) -> Any:
    """The sum of numbers."""
    return sum(args)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """``t`` if ``b`` is true, else ``f``.

    >>> sym_ite(False, 1, 2)
    2
    """
    return t if b else f


FUNCTIONS = (sym_int, sym_float, sym_not, sym_sqrt, sym_max, sym_min, sym_sum, sym_ite)
