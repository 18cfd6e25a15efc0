"""The items of a batch: a task's number becomes three indices, these an offset."""

from __future__ import annotations

from ..llvm.build import Function


def item_of(f: Function, number: str, extents: int) -> tuple[str, str, str]:
    """The indices of a batch's item."""
    middle, inner = f.word(extents + 1), f.word(extents + 2)
    rest = f.div(number, inner)
    return f.div(rest, middle), f.rem(rest, middle), f.rem(number, inner)


def item_offset(f: Function, item: tuple[str, ...], strides: int) -> str:
    """An item's offset in elements."""
    offset = "0"
    for k, index in enumerate(item):
        offset = f.add(offset, f.mul(index, f.word(strides + k)))
    return offset
