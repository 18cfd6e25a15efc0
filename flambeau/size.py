"""Size: the shape of a tensor, a tuple of integers that prints as ``torch.Size([2, 3])``."""

from __future__ import annotations

from operator import index
from typing import Any


def _integers(extents: tuple[Any, ...], first: int = 0) -> tuple[int, ...]:
    for place, n in enumerate(extents, first):
        if not hasattr(n, "__index__"):
            raise TypeError(f"torch.Size() takes an iterable of 'int' (item {place} is '{type(n).__name__}')")
    return tuple(map(index, extents))


_item: Any = tuple.__getitem__


class Size(tuple[int, ...]):
    """The shape of a tensor.

    >>> import flambeau as torch
    >>> torch.Size([2, 3]).numel()
    6
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, _integers(other, len(self))))

    def __radd__(self, other: Any) -> Any:
        return Size(_integers(other) + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: Any) -> Any:
        if not hasattr(count, "__index__"):
            return NotImplemented
        return Size(tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __getitem__(self, index: Any) -> Any:
        found = _item(self, index)
        return found if found.__class__ is int else Size(found) if isinstance(index, slice) else found

    def __reduce__(self) -> tuple[Any, ...]:
        return (Size, (tuple(self),))

    def numel(self) -> int:
        """The number of elements of a tensor of this shape.

        >>> import flambeau as torch
        >>> torch.Size([2, 3]).numel()
        6
        """
        count = 1
        for extent in self:
            count *= extent
        return count
