"""The loops of a kernel for operands of one kind, found once (Note: kinds): extents are left to be filled in.

Where operands lie without gaps, which dimensions are one loop follows from the order of dimensions, from
which strides are 0 and from which extents are 1: so it is the same for all of a kind, and so is how each
input is read. Of others, strides may happen to fit: their loops are found anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .nest import Groups, Nest
from .structure import FLAT, ONE
from .traits import Dims, Space


class Course:
    """The dimensions of each loop, and how inputs are read; ``strided``: which of them by strides."""

    __slots__ = ("strided", "_outer", "_mid", "_inner", "_reduced", "_last", "_accesses", "_passes")

    def __init__(self, nest: Nest, groups: Groups, dims: Dims | None, passes: int) -> None:
        *rest, inner = groups
        reduces = [dims is not None and group[0] in dims for group in groups]
        self._outer = [group for group, reduced in zip(rest, reduces) if not reduced]
        self._mid = [group for group, reduced in zip(rest, reduces) if reduced]
        self._inner = inner
        self._reduced = None if dims is None else reduces[-1]
        self._last = [group[-1] for group in (*self._outer, *self._mid, inner)]
        self._accesses = nest.accesses
        self._passes = passes
        self.strided = [k for k, (access, _) in enumerate(nest.accesses) if access not in (ONE, FLAT)]

    def nest(self, space: Space, reads: Sequence[Sequence[int]]) -> Nest:
        """The loops over a space; ``reads``: the strides of ``strided`` inputs along its dimensions."""
        shape, strides = space
        last = self._last
        return Nest([prod([shape[d] for d in group]) for group in self._outer],
                    [prod([shape[d] for d in group]) for group in self._mid],
                    prod([shape[d] for d in self._inner]), self._reduced, [strides[d] for d in last[:-1]],
                    self._accesses, [[s[d] for d in last] for s in reads], self._passes)


def course_of(nest: Nest, groups: Groups, dims: Dims | None, passes: int) -> Course | None:
    """The course of operands without gaps; None where the loops depend on more than the kind."""
    reduced = [dims is not None and group[0] in dims for group in groups]
    if not groups or (dims is not None and True not in reduced):
        return None
    if True in reduced[:-2] and reduced[-1] and not reduced[-2]:
        return None     # the last loop is folded where it is short
    return Course(nest, groups, dims, passes)
