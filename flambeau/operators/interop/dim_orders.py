"""In which order a tensor's dimensions lie in memory."""

from __future__ import annotations

from typing import Any

from ...layouts import memory_format
from ...tensor import Tensor
from ..declaration.registry import api

_NOT_UNIQUE = "The tensor does not have unique dim order"


@api("Tensor")
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the outermost to the innermost in memory.

    With ``ambiguity_check`` it is an error (``RuntimeError``) if other orders describe the memory as well;
    with a list of memory formats one of them has to hold alone where extents of 1 leave the order open.

    >>> import flambeau as torch
    >>> torch.empty(2, 3, 5, 7, memory_format=torch.channels_last).dim_order()
    (0, 2, 3, 1)
    """
    formats = ambiguity_check
    if not isinstance(formats, bool) and not (
            isinstance(formats, list) and all(isinstance(one, memory_format) for one in formats)):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if formats is not False and 1 in self.shape and (
            formats is True or sum(self.is_contiguous(memory_format=one) for one in formats) != 1):
        raise RuntimeError(f"{_NOT_UNIQUE}, or cannot map to exact one of the given memory formats.")
    strides = self.stride()
    if formats and (0 in strides or len(set(strides)) < len(strides)):
        raise RuntimeError(f"{_NOT_UNIQUE}.")
    return _outermost_first(strides, self.shape)


def _outermost_first(strides: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Sort by insertion, as a stride of 0 has no place of its own: it stays where it is."""
    order = list(range(len(strides)))
    for i in range(1, len(order)):
        place = i
        for before in range(i - 1, -1, -1):
            a, b = order[before], order[place]
            if not strides[a] or not strides[b]:
                continue
            if (strides[a], shape[a]) >= (strides[b], shape[b]):
                break
            order[before], order[place] = b, a
            place = before
    return tuple(order)
