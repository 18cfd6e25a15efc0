"""Blocks of many arrays copied into rows of one: how samples become a batch.

To copy a small block with NumPy costs more than its elements do. So once that has cost as much as the
compiler's start (Note: rent or buy), all blocks are copied by one native call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ..config import settings
from ..graph.geometry import Family
from . import native

Array = np.ndarray[Any, Any]

# Modelled nanoseconds of NumPy, and of native code that is to be compiled, or lies on disk.
_BLOCK, _BYTE, _COMPILER, _KEPT = 1.5e3, 0.4, 30e6, 2e6
_spent = 0.0
_native: Callable[[int], Callable[..., None]] | None = None


def gather(rows: Array, value: Array, offsets: Any, shape: Sequence[int],
           strides: Sequence[int]) -> None:
    """Let dense rows be what is read of a flat value from these offsets on."""
    if not rows.size:
        return
    if (plan := _natively(rows, len(offsets), shape, strides, 0)) is not None:
        line = np.array([[value.__array_interface__["data"][0], len(value), 0, 0]])
        _copied(rows, line, offsets, None, plan)
        return
    out, size = rows.reshape(len(rows), *shape), rows.itemsize
    steps = [step * size for step in strides]
    if min(steps, default=0) >= 0:
        count = len(value) - sum([(n - 1) * step for n, step in zip(shape, strides)])
        out[...] = np.ndarray((count, *shape), rows.dtype, value, 0, (size, *steps))[offsets]
        return
    for p, offset in enumerate(offsets):
        out[p] = np.ndarray(shape, rows.dtype, value, offset * size, steps)


def gather_each(rows: Array, positions: Array | None, values: Callable[[], Sequence[Array]],
                table: Array, shape: Sequence[int], strides: Sequence[int]) -> None:
    """The same of a value for each row, some dimensions backwards.

    ``table``, a line per row: where the value begins, how many elements it has, the offset, and the
    dimensions to be read backwards, a bit each. ``positions``: which rows, if not one after the other.
    """
    if not rows.size:
        return
    flips = int(np.bitwise_or.reduce(table[:, 3]))
    if (plan := _natively(rows, len(table), shape, strides, flips)) is not None:
        _copied(rows, table, None, positions, plan)
        return
    out, size = rows.reshape(len(rows), *shape), rows.itemsize
    wheres: Any = range(len(table)) if positions is None else positions
    for p, value, (_, _, offset, backwards) in zip(wheres, values(), table.tolist()):
        steps, shift = _turned(shape, strides, backwards)
        out[p] = np.ndarray(shape, rows.dtype, value, (offset + shift) * size, [s * size for s in steps])


def gather_padded(rows: Array, positions: Array | None, places: Array, arrays: Array, shape: Sequence[int],
                  padded: Sequence[int], inside: Family, before: Sequence[int], value: Any) -> bool:
    """The same of values that have a border of one value around them, which lies nowhere; False where that is
    not done.

    ``places``: as ``table``, with offsets in the padded values and no addresses. ``arrays``: of what is
    inside.
    """
    if not is_native() or rows.itemsize not in (1, 2, 4, 8) or len(shape) > 3 or arrays[:, 3].any():
        return False
    from .native.batches.bordered import copier  # needs llvmlite, which is there by now
    border = _border(tuple(shape), tuple(padded), tuple(inside.shape), inside.strides, tuple(before))
    if border is None:
        return False
    bits = int.from_bytes(np.array(value, rows.dtype).tobytes(), "little", signed=True)
    return copier(rows.itemsize)(rows, positions, places, arrays, *border, bits)


_Ints = tuple[int, ...]


@lru_cache(1 << 8)
def _border(shape: _Ints, padded: _Ints, inside: _Ints, strides: _Ints,
            before: _Ints) -> tuple[_Ints, _Ints] | None:
    """What ``bordered`` is told of three dimensions; None where elements inside do not lie together."""
    if not shape or strides[-1] != 1 or min(strides) < 0 or not min(*inside, *shape):
        return None
    more = (1,) * (3 - len(shape))
    span = 1 + sum([(n - 1) * step for n, step in zip(inside, strides)])
    bits = [1 << d for d in range(len(shape))]
    return (*more, *shape), (*more, *padded, *more, *inside, *[0] * len(more), *before,
                             *([0] * len(more) + [*strides])[:2], span, *[0] * len(more), *bits)


def is_native() -> bool:
    """Whether blocks are copied natively by now."""
    return settings.executor == "auto" and (_native is not None or _is_bought(4))


def _is_bought(size: int) -> bool:
    global _spent, _native
    if _spent < _KEPT or _spent < _price(size):
        return False
    try:
        from .native.batches.gathering import gatherer  # needs llvmlite, which may not be there
        _native = gatherer
    except ImportError:
        _spent = -np.inf
    return _native is not None


def spend(nanoseconds: float) -> None:
    """Count what native code would save beside copies."""
    global _spent
    _spent += nanoseconds


_Plan = tuple[tuple[int, ...], Array]


def _copied(rows: Array, table: Array, offsets: Any, positions: Array | None,
            plan: _Plan) -> None:
    assert _native is not None
    _native(rows.itemsize)(rows, table, offsets, positions, *plan)


def _natively(rows: Array, count: int, shape: Sequence[int], strides: Sequence[int],
              flips: int) -> _Plan | None:
    """How blocks are copied natively; None where they are not."""
    global _spent
    if settings.executor != "auto" or rows.itemsize not in (1, 2, 4, 8):
        return None
    if _native is None:
        _spent += count * _BLOCK + rows.nbytes * _BYTE
        if not _is_bought(rows.itemsize):
            return None
    return _plan(tuple(shape), tuple(strides), flips)


def _price(size: int) -> float:
    """What native code costs now: little if it is on disk, and what finds it there is imported anyway."""
    return _KEPT if native.is_loaded() and _is_kept(size) else _COMPILER


@cache
def _is_kept(size: int) -> bool:
    from .native.batches.gathering import is_kept  # the native executor has imported llvmlite
    return is_kept(size)


@lru_cache(1 << 10)
def _plan(shape: tuple[int, ...], strides: tuple[int, ...], flips: int) -> _Plan | None:
    """Three dimensions that are read as these are, and how, by the dimensions to be read backwards; None if
    it takes more dimensions.
    """
    dims: list[list[int]] = []      # those of the blocks that each one stands for
    for d in [d for d, n in enumerate(shape) if n > 1]:
        before = dims[-1] if dims else None
        if before and strides[before[-1]] == strides[d] * shape[d] and not flips >> d & 1 \
                and not flips >> before[-1] & 1:
            before.append(d)
        else:
            dims.append([d])
    if len(dims) > 3:
        return None
    extents = [1] * (3 - len(dims)) + [int(np.prod([shape[d] for d in group])) for group in dims]
    ways = np.zeros((flips + 1, 5), np.int64)
    last = sum([(n - 1) * step for n, step in zip(shape, strides)])
    for backwards in range(flips + 1):
        steps, shift = _turned(shape, strides, backwards)
        ways[backwards] = *[1] * (3 - len(dims)), *[steps[group[-1]] for group in dims], shift, last
    return tuple(extents), ways


def _turned(shape: Sequence[int], strides: Sequence[int], backwards: int) -> tuple[list[int], int]:
    """Strides, negative where a dimension is read backwards, and how far from the offset they begin."""
    turned = [d for d in range(len(shape)) if backwards >> d & 1]
    shift = sum([(shape[d] - 1) * strides[d] for d in turned])
    return [-s if d in turned else s for d, s in enumerate(strides)], shift


__all__ = ["gather", "gather_each", "is_native", "spend"]
