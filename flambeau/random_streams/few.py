"""A few outputs of a stream, made one by one: what NumPy costs to call is more than they cost to make."""

from __future__ import annotations

from struct import Struct
from typing import Any

from .state import KEY_AT, State

FEW = 8
_place: Any = Struct("<iiQ").unpack_from     # at 8: outputs left, whether seeded, the next word
_write_left: Any = Struct("<i").pack_into
_write_next: Any = Struct("<Q").pack_into
_words: list[Any] = [Struct(f"<{count}Q").unpack_from for count in range(FEW + 1)]


def few32(state: State, count: int) -> tuple[list[int], State] | None:
    """The next ``count`` outputs of 32 bits, and the state after them; None where a new block begins."""
    left, _, following = _place(state, 8)
    if not 0 < count <= FEW or left <= count:
        return None
    outputs = []
    for word in _words[count](state, KEY_AT + 8 * following):
        word ^= word >> 11
        word ^= (word << 7) & 0x9D2C5680
        word ^= (word << 15) & 0xEFC60000
        outputs.append(word ^ (word >> 18))
    after = state.copy()
    _write_left(after, 8, left - count)
    _write_next(after, 16, following + count)
    after.setflags(write=False)
    return outputs, after
