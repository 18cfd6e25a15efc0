"""Strides of dense tensors, from their shapes."""

from __future__ import annotations

from collections.abc import Sequence


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a contiguous tensor; an extent of zero counts as one, as in PyTorch."""
    if not shape:
        return ()
    strides = [1]
    for n in [*shape][:0:-1]:
        strides.append(strides[-1] * (n or 1))
    return tuple(strides[::-1])


def broadcast(shapes: Sequence[Sequence[int]]) -> list[int] | None:
    """The common shape of operands, None where there is none."""
    result = [*shapes[0]]
    for shape in shapes:
        lead = len(shape) - len(result)
        if lead > 0:
            result = [1] * lead + result
            lead = 0
        for d, n in enumerate(shape, -lead):
            have = result[d]
            if n != have:
                if have == 1:
                    result[d] = n
                elif n != 1:
                    return None
    return result


def dense_strides(shape: Sequence[int], operands: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The strides of a result without gaps, ordered in memory as the operands are.

    ``operands`` are strides aligned with ``shape``. The first operand that tells two dimensions apart
    decides: one with a stride of 0 in either (a broadcast dimension) does not. Otherwise the order stays
    row-major.
    """
    inner_first = list(range(len(shape)))[::-1]
    for i in range(1, len(inner_first)):
        at = i
        for before in range(i - 1, -1, -1):
            order = _compare(inner_first[before], inner_first[at], shape, operands)
            if order < 0:
                break
            if order > 0:
                inner_first[before], inner_first[at] = inner_first[at], inner_first[before]
                at = before
    if inner_first == list(range(len(shape)))[::-1]:
        return row_major_strides(shape)
    strides, step = [1] * len(shape), 1
    for d in inner_first:
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def _compare(a: int, b: int, shape: Sequence[int], operands: Sequence[Sequence[int]]) -> int:
    """Positive if dimension a belongs outside dimension b, negative if inside, 0 if no operand tells."""
    for strides in operands:
        if strides[a] and strides[b]:
            if strides[a] != strides[b]:
                return strides[a] - strides[b]
            if shape[a] > shape[b]:
                return 1
    return 0


def follow(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements follow one another in some order of the dimensions that have strides."""
    expected = 1
    for step, n in sorted([(s, n) for s, n in zip(strides, shape) if s and n != 1]):
        if step != expected:
            return False
        expected *= n
    return True
