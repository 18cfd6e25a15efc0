"""Draws of categories by their weights."""

from __future__ import annotations

import numpy as np

from .arithmetic import FLOAT32, FLOAT64, Array, is_half, rounded
from .continuous import exponential
from .state import State, Stream

_FEW = 4    # so many times as many categories as draws: they are not all sorted
_SHORT = 256    # categories that are sorted sooner than the greatest ones are found
_LONG = 512     # categories and more: few draws look only at the shares near theirs
_MANY = 8   # more rows are searched together
_NEAR = 2.0**-20    # much more than the rounding of a share


def multinomial(state: State, weights: Array, count: int, replacement: bool) -> tuple[Array, State]:
    """``count`` categories (int64) for each row of ``weights``: (K) -> (count), (N, K) -> (N, count).

    Without replacement, and for one draw with it too: an exponential race. Every weight is divided by an
    exponential value of its own (``exponential(1)`` in the weights' type: two outputs each) and the greatest
    quotients win, greatest first (Efraimidis and Spirakis, 2006). With replacement: a float64 uniform value
    (two outputs) for each draw, looked up in the row's running sums, which are summed and divided by their
    total in the weights' type (16-bit types: in float32).
    """
    if not replacement or count == 1:
        return _race(state, weights, count)
    return _lookup(state, weights, count)


def _race(state: State, weights: Array, count: int) -> tuple[Array, State]:
    clocks, state = exponential(state, weights.shape, 1.0, weights.dtype)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotients: Array
        if is_half(weights.dtype):
            quotients = weights.astype(FLOAT32) / clocks.astype(FLOAT32)
            quotients = rounded(quotients, weights.dtype).astype(FLOAT32)
        else:
            quotients = weights / clocks
    if count == 1:
        return quotients.argmax(axis=-1)[..., None], state
    return greatest(quotients, count), state


def greatest(quotients: Array, count: int) -> Array:
    """The places of the greatest ones in order, of equal ones the first."""
    n = quotients.shape[-1]
    rows = -quotients.reshape(-1, n)
    if count * _FEW > n or n <= _SHORT:
        chosen = rows.argsort(axis=-1, kind="stable")[:, :count]
    elif len(rows) == 1:
        chosen = _least(rows[0], count)
    else:
        chosen = np.sort(np.argpartition(rows, count - 1, axis=-1)[:, :count], axis=-1)
        values = np.take_along_axis(rows, chosen, -1)
        chosen = np.take_along_axis(chosen, np.argsort(values, axis=-1, kind="stable"), -1)
        # Where others equal the last one, which of them was chosen is left to chance.
        tied = np.flatnonzero((rows <= values.max(-1, keepdims=True)).sum(-1) > count)
        chosen[tied] = np.argsort(rows[tied], axis=-1, kind="stable")[:, :count]
    return chosen.reshape(*quotients.shape[:-1], count).astype(np.int64, copy=False)


def _least(row: Array, count: int) -> Array:
    """The places of the least numbers of a row in order, of equal ones the first."""
    chosen = row.argpartition(count - 1)[:count]
    chosen.sort()
    values = row[chosen]
    order = values.argsort(kind="stable")
    if np.count_nonzero(row <= values[order[-1]]) > count:     # as above
        return row.argsort(kind="stable")[:count]
    return chosen[order]


def _lookup(state: State, weights: Array, count: int) -> tuple[Array, State]:
    stream = Stream(state)
    rows = weights.reshape(-1, weights.shape[-1])
    drawn = stream.doubles(len(rows) * count).reshape(len(rows), count)
    sums = np.add.accumulate(rows, -1, dtype=FLOAT32 if is_half(weights.dtype) else weights.dtype)
    if len(rows) > _MANY:
        return _found_together(sums, drawn).reshape(*weights.shape[:-1], count), stream.close()
    chosen = np.empty((len(rows), count), np.int64)
    find = _found_near if count * _FEW <= rows.shape[-1] >= _LONG else _found
    for row, uniforms, out in zip(sums, drawn, chosen, strict=True):
        find(row, uniforms, out)
    return chosen.reshape(*weights.shape[:-1], count), stream.close()


def _found(sums: Array, uniforms: Array, out: Array) -> None:
    """Of each uniform value the first place whose share of the whole sum reaches it."""
    shares = sums / sums[-1]
    shares[-1] = 1
    out[:] = shares.astype(FLOAT64, copy=False).searchsorted(uniforms)


def _found_together(sums: Array, uniforms: Array) -> Array:
    """The same in all rows at once, by bisection; only shares that are looked at are divided."""
    rows, last = np.arange(len(sums))[:, None], sums.shape[1] - 1
    whole = sums[:, last:]
    low, high = np.zeros(uniforms.shape, np.int64), np.full(uniforms.shape, last)
    for _ in range(last.bit_length()):
        middle = (low + high) >> 1
        below = (sums[rows, middle] / whole).astype(FLOAT64, copy=False) < uniforms
        low, high = np.where(below, np.minimum(middle + 1, high), low), np.where(below, high, middle)
    return low


def _found_near(sums: Array, uniforms: Array, out: Array) -> None:
    """The same; only the shares of sums within rounding of a uniform value are divided."""
    last = len(sums) - 1
    wanted = uniforms * float(sums[last])
    first = sums.searchsorted((wanted * (1 - _NEAR)).astype(sums.dtype, copy=False))
    stop = sums.searchsorted((wanted * (1 + _NEAR)).astype(sums.dtype, copy=False))
    for k, (low, high) in enumerate(zip(first.tolist(), stop.tolist(), strict=True)):
        if low < high:
            low += (sums[low:high] / sums[last]).astype(FLOAT64, copy=False).searchsorted(uniforms[k])
        out[k] = min(low, last)
