"""Uniform values one by one, for algorithms that do not know how many they need."""

from __future__ import annotations

import math

from .state import Stream

_CHUNK = 4096   # values that are drawn ahead, at most


class Reader:
    """Hands out a stream's float64 uniform values, drawn ahead in chunks; ``finish`` gives back the rest."""

    __slots__ = ("_stream", "_chunk", "_mark", "_values", "_used")

    def __init__(self, stream: Stream, expected: int) -> None:
        self._stream = stream
        self._chunk = max(16, min(expected, _CHUNK))
        self._mark = stream.snapshot()
        self._values: list[float] = []
        self._used = 0

    def uniform(self) -> float:
        """The next uniform value of [0, 1)."""
        if self._used == len(self._values):
            self._mark = self._stream.snapshot()
            self._values = self._stream.doubles(self._chunk).tolist()
            self._used = 0
        value = self._values[self._used]
        self._used += 1
        return value

    def normal(self) -> float:
        """The next standard normal value (see ``serial_normals``)."""
        kept = self._stream.take_normal()
        if kept is not None:
            return kept
        angle = 2.0 * math.pi * self.uniform()
        radius = math.sqrt(-2.0 * math.log1p(-self.uniform()))
        self._stream.keep_normal(radius * math.sin(angle))
        return radius * math.cos(angle)

    def finish(self) -> None:
        """Give back what was drawn ahead."""
        self._stream.rewind(self._mark)
        self._stream.random32(2 * self._used)
