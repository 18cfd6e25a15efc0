"""The state of a random stream, laid out as ``torch.get_rng_state()``, and Stream, which draws from it.

Note: random states are values. A kernel takes a state and returns ``(values, new_state)``; the array it was
given is never written. A state is a read-only uint8 array of 5,056 bytes, little-endian:

====== ====== ============================================================================================
offset type   meaning
====== ====== ============================================================================================
0      uint64 the seed
8      int32  outputs left in the current block of 624 words, plus one (1: the next output makes a new block)
12     int32  1 (the engine was seeded)
16     uint64 index of the next word (0 after seeding, when ``left`` is 1)
24     uint64 the 624 words of the Mersenne Twister, one per 8 bytes
5016   3 f64  unused, the kept second value of a pair of normals, unused
5040   int32  whether that value is there
5048   8 byte a kept float32 normal and its flag (never used by the CPU's kernels, carried along)
====== ====== ============================================================================================
"""

from __future__ import annotations

import ctypes
import functools
import threading
from struct import Struct
from typing import Any, TypeAlias

import numpy as np

State: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

STATE_BYTES = 5056
BLOCK = 624
KEY_AT = 24
_KEY = slice(KEY_AT, KEY_AT + 8 * BLOCK)
_NORMAL = slice(5024, 5032)
_HAS_NORMAL = slice(5040, 5044)
_MASK21 = np.uint64((1 << 21) - 1)
_SHIFT = np.uint64(32)
# Below this many outputs the call with the smaller overhead wins, above it the one with the smaller item.
_SMALL = 4096
# What Struct reads costs a third of what views do.
_PLACE: Any = Struct("<iiQ").unpack_from            # at 8: outputs left, whether seeded, the next word
_KEPT_NORMAL: Any = Struct("<d8xi").unpack_from     # at 5024: the value and whether it is there
_WRITE_LEFT: Any = Struct("<i").pack_into
_WRITE_NEXT: Any = Struct("<Q").pack_into


def seed_state(seed: int) -> State:
    """The state after ``manual_seed(seed)``; the engine sees the low 32 bits, all 64 are remembered."""
    source = _sources.source
    source.legacy.seed(seed & 0xFFFFFFFF)
    source.owner = None
    state = np.zeros(STATE_BYTES, np.uint8)
    state[0:8].view(np.uint64)[0] = seed & 0xFFFFFFFFFFFFFFFF
    state[8:16].view(np.int32)[:] = 1
    state[_KEY].view(np.uint64)[:] = source.key()
    state.flags.writeable = False
    return state


def seed_of(state: State) -> int:
    """The seed from which a state descends (``initial_seed()``)."""
    return int(state[0:8].view(np.uint64)[0])


def check_state(state: State) -> None:
    """Raise ``RuntimeError`` for bytes that are no state of the CPU's generator."""
    if state.nbytes != STATE_BYTES:
        raise RuntimeError(f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG "
                           f"state size to be {state.nbytes}")
    left, seeded = (int(x) for x in state[8:16].view(np.int32))
    following = int(state[16:24].view(np.uint64)[0])
    if not (seeded == 1 and 0 < left <= BLOCK and following <= BLOCK):
        raise RuntimeError("Invalid mt19937 state")


class _Source:
    """NumPy's Mersenne Twister with its memory laid open: 624 words and the index of the next."""

    def __init__(self) -> None:
        self.bits = np.random.MT19937(0)
        self.generator = np.random.Generator(self.bits)
        self.legacy = np.random.RandomState(self.bits)
        self.owner: Stream | None = None
        address = self.bits.ctypes.state_address
        self.memory = np.ctypeslib.as_array((ctypes.c_uint32 * (BLOCK + 1)).from_address(address))
        # Setting ``bits.state`` costs 35 µs, a copy into its memory one; trust the layout only when it is as
        # expected.
        known: Any = self.bits.state
        self.direct = bool((self.memory[:BLOCK] == known["state"]["key"]).all()) and (
            int(self.memory[BLOCK]) == known["state"]["pos"])

    def load(self, words: np.ndarray[Any, Any], position: int) -> None:
        if self.direct:
            self.memory[:BLOCK] = words
            self.memory[BLOCK] = position
        else:
            key = words.astype(np.uint32)
            self.bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": position}}

    def key(self) -> np.ndarray[Any, Any]:
        if self.direct:
            return self.memory[:BLOCK]
        known: Any = self.bits.state
        return np.asarray(known["state"]["key"])

    def position(self) -> int:
        if self.direct:
            return int(self.memory[BLOCK])
        known: Any = self.bits.state
        return int(known["state"]["pos"])


class _Sources(threading.local):
    """One source for each thread, made at the first use (which imports NumPy's generators)."""

    @functools.cached_property
    def source(self) -> _Source:
        return _Source()


_sources = _Sources()


class Stream:
    """Draws from a state; ``close`` gives the state after the draws. A thread has one open stream at a time.

    >>> from flambeau.random_streams import Stream, seed_state
    >>> stream = Stream(seed_state(0))
    >>> stream.random32(2)
    array([2357136044, 2546248239], dtype=uint32)
    """

    __slots__ = ("_state", "_source", "_drawn", "_normal", "_normal_changed")

    def __init__(self, state: State) -> None:
        self._state = state
        self._source = source = _sources.source
        source.owner = self
        left, _, following = _PLACE(state, 8)
        source.load(state[_KEY].view(np.uint64), BLOCK if left == 1 else following)
        normal, kept = _KEPT_NORMAL(state, 5024)
        self._drawn = False
        self._normal: float | None = normal if kept else None
        self._normal_changed = False

    def _open(self, count: int) -> _Source:
        """What makes the next ``count`` outputs."""
        if self._source.owner is not self:
            raise RuntimeError("another random stream was opened in this thread before this one was closed")
        self._drawn = self._drawn or count > 0
        return self._source

    def random32(self, count: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
        """The next ``count`` outputs of 32 bits."""
        source = self._open(count)
        if count < _SMALL:
            return source.bits.random_raw(count).astype(np.uint32)
        return source.generator.integers(0, 1 << 32, count, np.uint32)

    def random64(self, count: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """The next ``count`` outputs of 64 bits, each from two of 32 with the high half first."""
        pairs = self.random32(2 * count).view(np.uint64)
        return (pairs << _SHIFT) | (pairs >> _SHIFT)

    def random53(self, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The low 53 bits of the next ``count`` outputs of 64 bits."""
        if 2 * count < _SMALL:
            words = self._open(count).bits.random_raw(2 * count)    # each in 64 bits
            high = words[::2] & _MASK21
            low = words[1::2]
        else:
            low = self.random32(2 * count).view(np.uint64)
            high = low & _MASK21
            low >>= _SHIFT
        high <<= _SHIFT
        high |= low
        return high.view(np.int64)

    def doubles(self, count: int) -> np.ndarray[Any, Any]:
        """The next ``count`` numbers of [0, 1): 53 bits, from two outputs each."""
        return self.random53(count) * 2.0**-53

    def floats(self, count: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The next ``count`` numbers of [0, 1) in float32: the low 24 bits of one output each."""
        words = self.random32(count)
        words &= np.uint32((1 << 24) - 1)
        values = words.view(np.int32).astype(np.float32)
        values *= np.float32(2.0**-24)
        return values

    def take_normal(self) -> float | None:
        """The kept second value of the last pair of normals, or None; it is kept no longer."""
        value = self._normal
        self.keep_normal(None)
        return value

    def keep_normal(self, value: float | None) -> None:
        """Keep a standard normal value for the next kernel that draws them in pairs."""
        if value is not None or self._normal is not None:
            self._normal = value
            self._normal_changed = True

    def snapshot(self) -> tuple[np.ndarray[Any, Any], int]:
        """The engine as it stands, for ``rewind``."""
        return self._source.key().copy(), self._source.position()

    def rewind(self, snapshot: tuple[np.ndarray[Any, Any], int]) -> None:
        """Forget the draws since ``snapshot``."""
        self._source.load(*snapshot)

    def close(self) -> State:
        """The state after the draws; the stream must not be used again."""
        self._source.owner = None
        if not (self._drawn or self._normal_changed):
            return self._state
        state = self._state.copy()
        if self._drawn:
            self._write_engine(state)
        if self._normal_changed:
            state[_HAS_NORMAL].view(np.int32)[0] = self._normal is not None
            state[_NORMAL].view(np.float64)[0] = 0.0 if self._normal is None else self._normal
        state.flags.writeable = False
        return state

    def _write_engine(self, state: State) -> None:
        position = self._source.position()
        state[_KEY].view(np.uint64)[:] = self._source.key()
        _WRITE_LEFT(state, 8, BLOCK + 1 - position)
        _WRITE_NEXT(state, 16, position)
