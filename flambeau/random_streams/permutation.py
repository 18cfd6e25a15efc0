"""Random permutations."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arithmetic import Array
from .integers import _converted
from .state import State, Stream

# From here on the steps take 64 bits: a twentieth of the greatest number of 32.
_WIDE = ((1 << 32) - 1) // 20
# Below this length a loop in Python beats the sort.
_SHORT = 128


def randperm(state: State, n: int, dtype: np.dtype[Any]) -> tuple[Array, State]:
    """A permutation of 0 .. n - 1 by Fisher and Yates' shuffle.

    Step i < n - 1 exchanges elements i and ``i + output mod (n - i)``; one output of 32 bits to a step.
    From n = 214,748,364 on, step i < n exchanges elements i and ``output mod (i + 1)``; 64 bits.
    """
    stream = Stream(state)
    order = _forward(stream, n) if n < _WIDE else _inside_out(stream, n)
    return _converted(order, dtype), stream.close()


def _forward(stream: Stream, n: int) -> Array:
    steps = max(n - 1, 0)
    drawn: Array = stream.random32(steps) % np.arange(n, 1, -1, dtype=np.uint32)
    partners: Array = np.arange(steps) + drawn
    return _exchange(partners.tolist(), n) if n < _SHORT else _exchange_at_once(partners, n)


def _inside_out(stream: Stream, n: int) -> Array:
    # The same exchanges in the reverse order give the inverse permutation, and with the places counted from
    # the end that is a forward shuffle.
    partners = (stream.random64(n) % np.arange(1, n + 1, dtype=np.uint64)).view(np.int64)
    mirrored = _exchange_at_once((n - 1) - partners[:0:-1], n)
    order = np.empty(n, np.int64)
    order[(n - 1) - mirrored[::-1]] = np.arange(n)
    return order


def _exchange(partners: list[int], n: int) -> Array:
    order = list(range(n))
    for i, j in enumerate(partners):
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def _exchange_at_once(partners: Array, n: int) -> Array:
    """All exchanges without a loop over them.

    Step i takes what stands at its partner j and leaves there what stood at i, call it ``moved[i]``. What
    stands at a place was left by the last step that had it as partner (it is the place's own number where
    there was none), so ``moved`` is found by following such steps back, here for all steps at once by
    doubling the distance followed. Steps are grouped by partner by sorting ``(partner, step)``; the last
    place, which makes no exchange, is its own partner.
    """
    places = np.arange(n)
    partners = np.append(partners, n - 1)
    bits = np.int64(n.bit_length())
    keys = (partners << bits) | places
    keys.sort()
    steps = keys & ((np.int64(1) << bits) - 1)
    groups = keys >> bits
    same = groups[1:] == groups[:-1]

    before = np.full(n, -1)  # the step before this one with the same partner
    before[steps[1:][same]] = steps[:-1][same]

    # The last step that left something at place k before step k took it. A step has no partner in front of
    # it, so that is the last of k's group, or the one before it where step k itself is in the group.
    source = np.full(n, -1)
    ends = np.append(~same, True)
    source[groups[ends]] = steps[ends]
    own = source == places
    source[own] = before[own]

    roots = np.where(source < 0, places, source)
    while True:
        further = roots[roots]
        if (further == roots).all():
            break
        roots = further
    # A root was left nothing: what moves from it is its own number.
    return np.where(before >= 0, roots[before], partners)
