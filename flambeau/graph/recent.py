"""Recent: a cache that forgets what was not used for a while."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, V]):
    """A dictionary of what was used lately: between ``size`` and twice as many entries, once it is full.

    Note: generations. The dictionary itself is the younger of two generations. When it is full it becomes the
    older one, which is dropped; an entry of the older generation that is asked for moves to the younger. So
    what is in use stays, whatever else comes and goes, and ``get`` costs what a dictionary's costs. It sees
    the younger generation alone: where it finds nothing, ``recall`` looks into the older one. So does ``[]``.
    """

    __slots__ = ("size", "turns", "_older")

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.turns = 0      # how often a generation was dropped
        self._older: dict[K, V] = {}

    def recall(self, key: K) -> V | None:
        """The value of a key that ``get`` did not find."""
        found = self._older.pop(key, None) if self._older else None
        return None if found is None else self.keep(key, found)

    def __missing__(self, key: K) -> V:
        return self.keep(key, self._older.pop(key))

    def keep(self, key: K, value: V) -> V:
        """Remember ``value``, and return it."""
        if len(self) >= self.size:
            self._older = dict(self)
            self.turns += 1
            super().clear()
        self[key] = value
        return value

    def clear(self) -> None:
        """Forget everything."""
        self._older.clear()
        super().clear()
