"""The Poisson and the binomial distribution; for large means by transformed rejection (Hörmann, 1993)."""

from __future__ import annotations

import math

import numpy as np

from .arithmetic import Array, rounded
from .readers import Reader
from .state import State, Stream

# Below this mean the direct methods are used.
LARGE = 10.0
# A count is an int64, and overflows to the least one.
_COUNTABLE = 2.0**63
# log(k!) minus Stirling's approximation, for k = 0 .. 9.
STIRLING_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
    0.00925546218271273, 0.00833056343336287,
)


def poisson(state: State, rates: Array) -> tuple[Array, State]:
    """Poisson counts with the means ``rates``, in its type and shape; element by element, in order.

    A mean below 10: uniform values are multiplied until the product is at most exp(-mean) (one value to a
    unit, and one more). From 10 on: two values to a try. A mean of zero draws nothing.
    """
    stream = Stream(state)
    reader = Reader(stream, 4 * rates.size)
    flat = rates.reshape(-1).astype(np.float64).tolist()
    counts = [_poisson_large(reader, r) if r >= LARGE else _poisson_small(reader, r) for r in flat]
    reader.finish()
    return rounded(np.array(counts, np.float64), rates.dtype).reshape(rates.shape), stream.close()


def _poisson_small(reader: Reader, rate: float) -> int:
    if rate == 0.0:
        return 0
    bound = math.exp(-rate)
    product = 1.0
    count = 0
    while True:
        product *= reader.uniform()
        if product <= bound:
            return count
        count += 1


def _poisson_large(reader: Reader, rate: float) -> float:
    if rate >= _COUNTABLE:
        reader.uniform()
        reader.uniform()
        return -_COUNTABLE
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    inner = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u = reader.uniform() - 0.5
        v = reader.uniform()
        s = 0.5 - abs(u)
        count = math.floor((2.0 * a / s + b) * u + rate + 0.43) if s else -1
        if s >= 0.07 and v <= inner:
            return count
        if count < 0 or (s < 0.013 and v > s):
            continue
        if (_log(v) + math.log(inverse_alpha) - math.log(a / (s * s) + b)
                <= -rate + count * log_rate - math.lgamma(count + 1)):
            return count


def binomial(state: State, trials: Array, probabilities: Array) -> tuple[Array, State]:
    """Successes among ``trials`` with ``probabilities`` (same shape and type), in order.

    p above a half: the failures are counted. A mean below 10: waiting times ``ceil(log(u) / log1p(-p))`` are
    added up until they exceed the trials. From 10 on: two uniform values to a try. With p <= 0, p >= 1 or no
    trials nothing is drawn.
    """
    stream = Stream(state)
    reader = Reader(stream, 4 * trials.size)
    pairs = zip(trials.reshape(-1).astype(np.float64).tolist(),
                probabilities.reshape(-1).astype(np.float64).tolist(), strict=True)
    counts = [_binomial(reader, n, p) for n, p in pairs]
    reader.finish()
    return rounded(np.array(counts, np.float64), trials.dtype).reshape(trials.shape), stream.close()


def _binomial(reader: Reader, trials: float, p: float) -> float:
    if trials <= 0.0 or p <= 0.0:
        return 0.0
    if p >= 1.0:
        return trials
    if p > 0.5:
        return trials - _successes(reader, trials, 1.0 - p)
    if p <= 0.5:
        return _successes(reader, trials, p)
    return math.nan


def _successes(reader: Reader, trials: float, p: float) -> float:
    if trials * p >= LARGE:
        return _binomial_large(reader, trials, p)
    divisor = math.log1p(-p)
    elapsed = 0.0
    count = 0
    while True:
        waited = math.ceil(_log(reader.uniform()) / divisor) if divisor else math.inf
        elapsed += waited
        if elapsed > trials:
            return count
        count += 1


def _binomial_large(reader: Reader, trials: float, p: float) -> float:
    deviation = math.sqrt(trials * p * (1.0 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = trials * p + 0.5
    inner = 0.92 - 4.2 / b
    odds = p / (1.0 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = math.floor((trials + 1.0) * p)
    while True:
        u = reader.uniform() - 0.5
        v = reader.uniform()
        s = 0.5 - abs(u)
        count = math.floor((2.0 * a / s + b) * u + centre) if s else -1
        if s >= 0.07 and v <= inner:
            return count
        if count < 0 or count > trials:
            continue
        v = _log(v * alpha / (a / (s * s) + b))
        bound = ((mode + 0.5) * math.log((mode + 1.0) / (odds * (trials - mode + 1.0)))
                 + (trials + 1.0) * math.log((trials - mode + 1.0) / (trials - count + 1.0))
                 + (count + 0.5) * math.log(odds * (trials - count + 1.0) / (count + 1.0))
                 + _stirling_tail(mode) + _stirling_tail(trials - mode)
                 - _stirling_tail(count) - _stirling_tail(trials - count))
        if v <= bound:
            return count


def _stirling_tail(k: float) -> float:
    if k <= 9:
        return STIRLING_TAILS[int(k)]
    square = (k + 1.0) * (k + 1.0)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1.0)


def _log(value: float) -> float:
    return math.log(value) if value > 0.0 else -math.inf
