"""Blocks of many arrays copied into rows of one: how samples become a batch.

To copy a small block with NumPy costs more than its elements do. So once that has cost as much as the
compiler's start (Note: rent or buy), all blocks are copied by one native call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..config import settings

Array = np.ndarray[Any, Any]

# Modelled nanoseconds of NumPy.
_BLOCK, _BYTE, _COMPILER = 1.5e3, 0.4, 30e6
_spent = 0.0
_native: Callable[[int], Callable[..., None]] | None = None


def gather(rows: Array, positions: list[int], values: list[Array], offsets: list[int], shape: Sequence[int],
           strides: Sequence[int]) -> None:
    """Let row p of dense rows be what is read of a flat value from an offset on, for each of the positions.

    Strides are in elements, and negative where a dimension is read backwards.
    """
    if not rows.size:
        return
    extents, steps = _three(tuple(shape), tuple(strides))
    if settings.executor == "auto" and len(extents) == 3 and _may_be_native(rows, len(positions)):
        assert _native is not None
        _native(rows.itemsize)(rows, positions, values, offsets, extents, steps)
        return
    _with_numpy(rows.reshape(len(rows), *shape), positions, values, offsets, strides)


def _with_numpy(rows: Array, positions: list[int], values: list[Array], offsets: list[int],
                strides: Sequence[int]) -> None:
    shape, size, first = rows.shape[1:], rows.itemsize, values[0]
    steps = [step * size for step in strides]
    if min(steps, default=0) >= 0 and all(value is first for value in values):
        count = len(first) - sum([(n - 1) * step for n, step in zip(shape, strides)])
        rows[positions] = np.ndarray((count, *shape), rows.dtype, first, 0, (size, *steps))[offsets]
        return
    for p, value, offset in zip(positions, values, offsets):
        rows[p] = np.ndarray(shape, rows.dtype, value, offset * size, steps)


def _may_be_native(rows: Array, count: int) -> bool:
    """Whether blocks are copied natively from now on."""
    global _spent, _native
    if _native is None:
        _spent += count * _BLOCK + rows.nbytes * _BYTE
        if _spent < _COMPILER:
            return False
        try:
            from .native.gathering import gatherer  # needs llvmlite, which may not be there
            _native = gatherer
        except ImportError:
            _spent = -np.inf
            return False
    return rows.itemsize in (1, 2, 4, 8)


@lru_cache(1 << 10)
def _three(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Three dimensions that are read as these are; more, if it takes more."""
    extents, steps = [1], [1]
    for n, s in zip(shape[::-1], strides[::-1]):
        if n == 1:
            continue
        if extents[-1] == 1:
            extents[-1], steps[-1] = n, s
        elif s == steps[-1] * extents[-1]:
            extents[-1] *= n
        else:
            extents.append(n)
            steps.append(s)
    missing = [1] * (3 - len(extents))
    return (*missing, *extents[::-1]), (*missing, *steps[::-1])
