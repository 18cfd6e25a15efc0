"""Memory formats and layouts: names for how the elements of a tensor lie in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any


class memory_format:
    """An order of the dimensions in memory, such as ``flambeau.channels_last``.

    >>> import flambeau as torch
    >>> torch.zeros(2, 3, 4, 4).contiguous(memory_format=torch.channels_last).stride()
    (48, 1, 12, 3)
    """

    __slots__ = ("name", "order")

    def __init__(self, name: str, order: tuple[int, ...] | None) -> None:
        self.name = name
        self.order = order  # dimensions from the innermost to the outermost; None where the name fixes none

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class layout:
    """A way of storing elements: ``flambeau.strided``, or a sparse one (Note: sparse tensors).

    >>> import flambeau as torch
    >>> torch.zeros(2).layout == torch.sparse_coo
    False
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


contiguous_format = memory_format("contiguous_format", None)
legacy_contiguous_format = contiguous_format
preserve_format = memory_format("preserve_format", None)
channels_last = memory_format("channels_last", (1, 3, 2, 0))
channels_last_3d = memory_format("channels_last_3d", (1, 4, 3, 2, 0))
strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")
# Functions that make tensors of a sparse layout, by the name of the function that was asked for one.
SPARSE_FACTORIES: dict[str, Callable[..., Any]] = {}

FORMATS = (contiguous_format, preserve_format, channels_last, channels_last_3d)


@lru_cache(256)
def format_of(order: tuple[int, ...]) -> memory_format:
    """The format of a dense tensor whose dimensions lie in ``order``, the innermost first."""
    return memory_format("preserve_format", order)


def strides_in(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Strides of a dense tensor whose dimensions lie in ``order``, the innermost first."""
    strides = [1] * len(shape)
    step = 1
    for d in order:
        strides[d] = step
        step *= max(shape[d], 1)
    return tuple(strides)


def lies_in(shape: Sequence[int], strides: Sequence[int], order: Sequence[int]) -> bool:
    """Whether a tensor is dense with its dimensions in ``order``; extents of 1 do not count."""
    if len(shape) != len(order):
        return False
    expected = 1
    for d in order:
        if shape[d] != 1:
            if strides[d] != expected:
                return False
            expected *= shape[d]
    return True


def reads_last(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether a tensor (N, C, H, W) or (N, C, D, H, W) suggests channels last to what is computed from it.

    Unlike ``lies_in`` this tells the two formats apart by the strides of extents of 1 too, and gaps between
    the elements do not count: strides must not fall from the channels outwards to the batch.
    """
    order = _LAST.get(len(shape))
    if order is None or not strides[1]:
        return False
    least = 0
    for d in order:
        if not shape[d] or strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * shape[d]
    return True


_LAST = {4: channels_last.order, 5: channels_last_3d.order}
