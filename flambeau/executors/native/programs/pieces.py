"""Graphs that differ each time, in pieces that come back.

Note: pieces. A loop whose rounds differ (sequences decoded with or without the teacher's word, trees, early
exits) records another graph at each step: none comes back, and a program made for one is of no use to the
next. But most of what such graphs consist of has come before. So after some large graphs that were met for
the first time, those that follow are cut, and each piece is a graph of its own: interpreted at first, a
program once it has come back often enough. Where to cut follows from the operators around a node alone, as
content-defined chunking finds the equal parts of files: of some places in a row the one whose neighbourhood
has the smallest hash. So a loop is cut in the same phase of its rounds, whatever came before it.

So are graphs of operators that came before in the same order, once they came in several kinds: a kind is
which extents are 0, which 1 and which more (of how many boxes each of several images has). Which it is, is
another choice each time, too, and few of the choices concern any one piece. Only those that come back in all
their shapes are treated as others are then.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....graph.node import Signature, operations

LARGE = 72              # nodes of a graph that is worth cutting
SHORTEST, LONGEST = 12, 36      # nodes of a piece
_NEIGHBOURS = 6         # operators whose order decides
_ENOUGH = 8             # large graphs that had not come before, or kinds of one, after which they are cut
_WORTH = 20             # times that a graph comes in pieces before it is treated as others are,
_ROOM = 20_000          # as long as all these have not more nodes: programs of more of them would not stay
_REMEMBERED = 10_000    # graphs that came in pieces


class Strangers:
    """Large graphs that came in pieces. ``_count``: how many had not come before lately, less those that had.

    ``_cutting``: whether those that have not are cut: from ``_ENOUGH`` of them on, until none is left.
    """

    def __init__(self) -> None:
        self._count = 0
        self._cutting = False
        self._comings: dict[int, int] = {}
        self._kinds: dict[int, set[int]] = {}   # of large graphs' operators, the kinds of extents that came
        self._room = _ROOM

    def count_known(self) -> None:
        """A large graph came that is known."""
        if self._count:
            self._count -= 1
            self._cutting = self._cutting and self._count > 0

    def are_of_many_kinds(self, forms: Sequence[int]) -> bool:
        """Whether large graphs of these operators came with many kinds of extents."""
        return len(self._kinds.get(_operators(forms), ())) >= _ENOUGH

    def take(self, forms: Sequence[int], signatures: Sequence[Signature]) -> bool:
        """Whether a graph of these signatures, which is not known, is to be cut."""
        key = hash(tuple(signatures))
        comings = self._comings.get(key, 0)
        if not self._are_of_many_kinds_with(forms) and not comings and not self._cutting:
            return False
        if comings == _WORTH:
            if len(forms) > self._room:
                return True
            self._room -= len(forms)
        if len(self._comings) >= _REMEMBERED:
            self._comings.clear()
            self._room = _ROOM
        self._comings[key] = comings + 1
        return comings < _WORTH

    def _are_of_many_kinds_with(self, forms: Sequence[int]) -> bool:
        """Whether graphs of these operators come with many kinds of extents, now that these have come.

        Where they are the first, they count as strange.
        """
        operators = _operators(forms)
        kinds = self._kinds.get(operators)
        if kinds is None:
            if len(self._kinds) >= _REMEMBERED:
                self._kinds.clear()
            kinds = self._kinds[operators] = set()
            self._cutting = self._cutting or self._count == _ENOUGH
            self._count = min(self._count + 1, _ENOUGH)
        if len(kinds) < _ENOUGH:
            kinds.add(hash(tuple(forms)))
        return len(kinds) >= _ENOUGH

    def clear(self) -> None:
        """Forget all."""
        self._count, self._cutting, self._room = 0, False, _ROOM
        self._comings.clear()
        self._kinds.clear()


def _operators(forms: Sequence[int]) -> int:
    """What graphs of the same operators, with whatever kinds of extents, have in common."""
    return hash(tuple(map(operations.get, forms)))


def lengths(forms: Sequence[int]) -> list[int]:
    """How many nodes each piece of a graph has. ``forms``: of its nodes, in the order of recording.

    Regimes of shapes decide nothing: each piece would have another one before it.
    """
    padded = [*[operations.get(form, form) for form in forms], *[-1] * (_NEIGHBOURS - 1)]
    hashes = [*map(hash, zip(*[padded[k:] for k in range(_NEIGHBOURS)]))]
    found: list[int] = []
    start = 0
    while len(forms) - start > LONGEST:
        places = hashes[start + SHORTEST:start + LONGEST]
        length = SHORTEST + places.index(min(places))
        found.append(length)
        start += length
    return [*found, len(forms) - start]


strangers = Strangers()
