"""Units of time, and numbers with as many figures as mean something."""

from __future__ import annotations

import math

_UNITS = {"ns": ("nanosecond", 1e-9), "us": ("microsecond", 1e-6), "ms": ("millisecond", 1e-3),
          "s": ("second", 1.0)}


def select_unit(t: float) -> tuple[str, float]:
    """The unit that suits a time in seconds, and how long it is.

    >>> select_unit(2.5e-5)
    ('us', 1e-06)
    """
    unit = next((unit for unit in ("s", "ms", "us") if t >= _UNITS[unit][1]), "ns" if t > 0 else "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u: str) -> str:
    """``"us"`` is a microsecond."""
    return _UNITS[u][0]


def trim_sigfig(x: float, n: int) -> float:
    """``x`` rounded to ``n`` figures.

    >>> trim_sigfig(1234.5, 2)
    1200.0
    """
    if not x:
        return 0.0
    return float(round(x, n - 1 - math.floor(math.log10(abs(x)))))
