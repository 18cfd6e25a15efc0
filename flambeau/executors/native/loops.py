"""How the loops of a kernel run over operands of given shapes and strides."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph.geometry import Geometry
from .lowering import ADJACENT, FLAT, ONE, REPEATED, STRIDED, Input

_ROW = 1 << 14  # elements of a row where the shape does not say


class Loop:
    """The loop nest: rows of ``inner`` elements, extents of the outer loops, how each input is read."""

    __slots__ = ("total", "inner", "extents", "inputs", "strides")

    def __init__(self, total: int, inner: int, extents: list[int], inputs: tuple[Input, ...],
                 strides: list[list[int]]) -> None:
        self.total = total
        self.inner = inner
        self.extents = extents
        self.inputs = inputs
        self.strides = strides

    @property
    def rows(self) -> int:
        return -(-self.total // self.inner)


def loop_of(space: Geometry, inputs: Sequence[Geometry], row: int) -> Loop | None:
    """The loop nest over ``space``; None where rows of ``row`` elements cannot be walked in one loop."""
    order = [d for d in space.order if space.shape[d] > 1]
    extents = [space.shape[d] for d in order]
    own = [space.strides[d] for d in order]
    read = [_aligned(g, space, order) for g in inputs]
    strided = [s for s in read if s != own and any(s)]
    if not strided:
        kinds = tuple([Input(g.dtype.numpy, FLAT if s == own else ONE) for g, s in zip(inputs, read)])
        return Loop(space.numel, row if row > 0 else min(_ROW, space.numel), [], kinds, [])
    merged, strided = _merge(extents, strided, row)
    inner = merged[-1]
    if row > 0 and inner != row:
        return None
    kinds_list, remaining = [], iter(strided)
    for g, s in zip(inputs, read):
        if s == own or not any(s):
            kinds_list.append(Input(g.dtype.numpy, FLAT if s == own else ONE))
            continue
        step = next(remaining)[-1]
        kinds_list.append(Input(g.dtype.numpy, REPEATED if step == 0 else ADJACENT if step == 1 else STRIDED))
    return Loop(space.numel, inner, merged[:-1], tuple(kinds_list), strided)


def _aligned(g: Geometry, space: Geometry, order: list[int]) -> list[int]:
    """The strides with which g is read, in the loop's order; 0 where it is broadcast."""
    lead = space.ndim - g.ndim
    return [0 if d < lead or g.shape[d - lead] == 1 else g.strides[d - lead] for d in order]


def _merge(extents: list[int], strided: list[list[int]], row: int) -> tuple[list[int], list[list[int]]]:
    """Neighbouring loops as one wherever every operand allows it, but not across the rows of a sum."""
    merged = [extents[-1]]
    kept = [[s[-1]] for s in strided]
    length = extents[-1]
    for d in range(len(extents) - 2, -1, -1):
        if length != row and all(s[d] == merged[0] * k[0] for s, k in zip(strided, kept)):
            merged[0] *= extents[d]
        else:
            merged.insert(0, extents[d])
            for s, k in zip(strided, kept):
                k.insert(0, s[d])
        length *= extents[d]
    return merged, kept
