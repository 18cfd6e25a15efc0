"""Draws of categories by their weights."""

from __future__ import annotations

import numpy as np

from .arithmetic import FLOAT32, Array, is_half, rounded
from .continuous import exponential
from .state import State, Stream

_FEW = 4    # so many times as many categories as draws: they are not all sorted


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
        return np.argmax(quotients, axis=-1)[..., None], state
    return greatest(quotients, count), state


def greatest(quotients: Array, count: int) -> Array:
    """The places of the greatest ones in order, of equal ones the first."""
    n = quotients.shape[-1]
    rows = -quotients.reshape(-1, n)
    if count * _FEW > n:
        chosen = np.argsort(rows, axis=-1, kind="stable")[:, :count]
    else:
        chosen = np.sort(np.argpartition(rows, count - 1, axis=-1)[:, :count], axis=-1)
        values = np.take_along_axis(rows, chosen, -1)
        chosen = np.take_along_axis(chosen, np.argsort(values, axis=-1, kind="stable"), -1)
        # Where others equal the last one, which of them was chosen is left to chance.
        tied = np.flatnonzero((rows <= values.max(-1, keepdims=True)).sum(-1) > count)
        chosen[tied] = np.argsort(rows[tied], axis=-1, kind="stable")[:, :count]
    return chosen.reshape(*quotients.shape[:-1], count).astype(np.int64, copy=False)


def _lookup(state: State, weights: Array, count: int) -> tuple[Array, State]:
    stream = Stream(state)
    rows = weights.reshape(-1, weights.shape[-1])
    drawn = stream.doubles(len(rows) * count).reshape(len(rows), count)
    chosen = np.empty((len(rows), count), np.int64)
    for row, uniforms, out in zip(_running_shares(rows), drawn, chosen, strict=True):
        out[:] = row.searchsorted(uniforms)
    return chosen.reshape(*weights.shape[:-1], count), stream.close()


def _running_shares(weights: Array) -> Array:
    sums = np.cumsum(weights, -1, dtype=FLOAT32 if is_half(weights.dtype) else weights.dtype)
    shares = sums / sums[:, -1:]
    shares[:, -1] = 1
    return np.asarray(shares, np.float64)
