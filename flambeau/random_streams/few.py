"""A few outputs of a stream at a time: what NumPy costs to call is more than they cost to make."""

from __future__ import annotations

import math
from struct import Struct
from typing import Any

import numpy as np

from .arithmetic import FLOAT32, FLOAT64, scaled
from .state import BLOCK, KEY_AT, State, Stream

FEW = 8         # values that are made one by one, without arrays
# Widths of integers from here on take 64 bits to a value.
WIDE = 1 << 28
_MOST = 256     # outputs that are drawn ahead
_MANY = 32      # outputs that are made numbers together
_place: Any = Struct("<iiQ").unpack_from     # at 8: outputs left, whether seeded, the next word
_write_left: Any = Struct("<i").pack_into
_write_next: Any = Struct("<Q").pack_into
_kept_normal: Any = Struct("<d8xi").unpack_from     # at 5024: the value, whether it is there
_write_normal: Any = Struct("<d8xi").pack_into
_words: list[Any] = [Struct(f"<{count}Q").unpack_from for count in range(FEW + 1)]


class Ahead:
    """Outputs of 32 bits that were made from a state before they are asked for, more of them each time."""

    __slots__ = ("_state", "_left", "_following", "_outputs", "_at", "_before", "_more", "_normal",
                 "_uniform", "_integers")

    def __init__(self, state: State) -> None:
        self._state = state
        self._left, _, self._following = _place(state, 8)
        self._outputs: list[int] = []
        self._at = 0        # how many of them were taken
        self._before = 0    # how many outputs of the state's block were taken before them
        self._more = 0
        self._uniform: Any = None   # the same as numbers of [0, 1), once somebody asked for such
        self._integers: dict[tuple[int, int], Any] = {}      # likewise, by bounds
        self._normal: tuple[float, int] | None = None   # what replaces the kept second value of a pair

    def take(self, count: int) -> list[int]:
        """The next outputs, a few."""
        at = self._taken(count)
        return self._outputs[at:at + count]

    def one_uniform(self) -> float:
        """The next output as a number of [0, 1) in float32."""
        at = self._at
        if at < len(self._outputs):
            self._at = at + 1
        else:
            at = self._taken(1)
        return (self._outputs[at] & 0xFFFFFF) * 2.0**-24

    def one_integer(self, low: int, high: int) -> int:
        """The next output as an integer of a range that is not wide."""
        at = self._at
        if at < len(self._outputs):
            self._at = at + 1
        else:
            at = self._taken(1)
        return low + self._outputs[at] % (high - low)

    def uniform(self, count: int) -> Any:
        """The next outputs as numbers of [0, 1) in float32."""
        at, made = self._at, self._uniform
        if made is None or at + count > len(made):
            at = self._taken(count)
            if len(self._outputs) < _MANY:
                return np.array([(x & 0xFFFFFF) * 2.0**-24 for x in self._outputs[at:at + count]], FLOAT32)
            made = self._uniform = ((np.array(self._outputs) & 0xFFFFFF) * 2.0**-24).astype(FLOAT32)
        self._at = at + count
        return made[at:at + count]      # which nobody else reads again

    def integers(self, count: int, low: int, width: int) -> Any:
        """The next outputs as so many integers from a lowest one on, in int64."""
        at, made = self._at, self._integers.get((low, width))
        if made is None or at + count > len(made):
            at = self._taken(count)
            if len(self._outputs) < _MANY:
                return np.array([low + x % width for x in self._outputs[at:at + count]], np.int64)
            made = self._integers[low, width] = np.array(self._outputs) % width + low
        self._at = at + count
        return made[at:at + count]

    def _taken(self, count: int) -> int:
        """Where the next outputs begin, which count as taken from now on."""
        if self._at + count > len(self._outputs):
            self._make(count)
        at = self._at
        self._at = at + count
        return at

    def _make(self, count: int) -> None:
        """Let there be so many that were not taken, the first of which comes first."""
        outputs = self._outputs[self._at:]
        self._before += self._at
        self._at, made = 0, self._before + len(outputs)
        left = self._left - 1 - made
        if left:
            outputs += _outputs(self._state, self._following + made,
                                min(max(count - len(outputs), self._more), left))
            self._more = min(4 * len(outputs), _MOST)
        self._outputs, self._uniform, self._integers = outputs, None, {}
        if len(outputs) < count:
            self._begin_block(len(outputs))
            self._make(count)

    def _begin_block(self, kept: int) -> None:
        """Go on from the state after all of its block, of which so many outputs are still to be taken."""
        ended = self._state.copy()
        _write_left(ended, 8, 1)
        stream = Stream(ended)
        stream.random32(1)
        self._state = stream.close()
        self._left, self._following, self._before = BLOCK + 1, 0, -kept

    def after(self) -> State:
        """The state after what was taken."""
        taken = self._before + self._at
        if not taken and self._normal is None:
            return self._state
        state = self._state.copy()
        _write_left(state, 8, self._left - taken)
        _write_next(state, 16, self._following + taken)
        if self._normal is not None:
            value, kept = self._normal
            _write_normal(state, 5024, value, kept)
        state.setflags(write=False)
        return state

    def normals(self, count: int) -> list[float]:
        """The next standard normal values as ``serial_normals`` draws them."""
        value, kept = _kept_normal(self._state, 5024) if self._normal is None else self._normal
        pairs = (count - kept + 1) // 2
        outputs = self.take(4 * pairs) if pairs else []
        values = [value] if kept else []
        for i in range(0, 4 * pairs, 4):
            angle = (2.0 * math.pi) * _double(outputs[i], outputs[i + 1])
            radius = math.sqrt(-2.0 * math.log1p(-_double(outputs[i + 2], outputs[i + 3])))
            values += radius * math.cos(angle), radius * math.sin(angle)
        if len(values) > count:
            self._normal = values.pop(), 1
        elif kept:
            self._normal = 0.0, 0
        return values


def _double(high: int, low: int) -> float:
    """A number of [0, 1): 53 bits of two outputs."""
    return ((high & 0x1FFFFF) << 32 | low) * 2.0**-53


def _outputs(state: State, position: int, count: int) -> list[int]:
    """The outputs of as many words of a block."""
    if count > FEW:
        start = KEY_AT + 8 * position
        words: Any = state[start:start + 8 * count].view(np.uint64)
        words = words ^ words >> 11
        words ^= (words << 7) & 0x9D2C5680
        words ^= (words << 15) & 0xEFC60000
        words ^= words >> 18
        many: list[int] = words.tolist()
        return many
    outputs = []
    for word in _words[count](state, KEY_AT + 8 * position):
        word ^= word >> 11
        word ^= (word << 7) & 0x9D2C5680
        word ^= (word << 15) & 0xEFC60000
        outputs.append(word ^ (word >> 18))
    return outputs


def few_uniform(ahead: Ahead, count: int, low: float, high: float, dtype: Any) -> Any:
    """A few values of ``uniform``; None where that has to draw them."""
    if low != 0 or high != 1 or dtype is not FLOAT32 or count > _MOST:
        return None
    return ahead.uniform(count)


def few_integers(ahead: Ahead, count: int, low: int, high: int, dtype: Any) -> Any:
    """A few values of ``randint``; None where that has to draw them."""
    width = high - low
    if width >= WIDE or dtype.char != "l" or count > _MOST:
        return None
    return ahead.integers(count, low, width)


def few_normals(ahead: Ahead, count: int, mean: float, std: float, dtype: Any) -> Any:
    """A few values of ``normal``; None where that has to draw them."""
    if not 0 < count <= FEW or dtype not in (FLOAT32, FLOAT64):
        return None
    values: Any = ahead.normals(count)
    if mean != 0 or std != 1:
        values = scaled(np.array(values), float(std), float(mean))
    return np.array(values, dtype)
