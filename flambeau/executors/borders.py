"""Where the elements of a padded dimension come from."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np


@lru_cache(256)
def border_index(mode: str, n: int, before: int, after: int) -> Any:
    """Which of n elements lies at each place of the dimension padded; negative widths crop."""
    positions = np.arange(-before, n + after)
    if mode == "replicate":
        return np.clip(positions, 0, n - 1)
    if mode == "circular":  # what a negative width cuts off is not wrapped around
        first, kept = max(0, -before), n - max(0, -before) - max(0, -after)
        return first + np.arange(-max(0, before), kept + max(0, after)) % max(kept, 1)
    period = max(2 * (n - 1), 1)
    positions %= period
    return np.minimum(positions, period - positions) if n > 1 else positions


@lru_cache(256)
def border_runs(mode: str, n: int, before: int, after: int) -> tuple[tuple[int, int, int, int], ...]:
    """The same as runs: (first place, count, first element, step from element to element)."""
    index = border_index(mode, n, before, after).tolist()
    runs, start = [], 0
    while start < len(index):
        end, step = start + 1, 0
        if end < len(index) and abs(index[end] - index[start]) <= 1:
            step = index[end] - index[start]
            while end < len(index) and index[end] - index[end - 1] == step:
                end += 1
        runs.append((start, end - start, index[start], step))
        start = end
    return tuple(runs)
