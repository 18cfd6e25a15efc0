"""Size: the shape of a tensor, a tuple of integers that prints as ``torch.Size([2, 3])``."""

from __future__ import annotations

from typing import Any


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
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, count: Any) -> Size:
        return Size(tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

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
