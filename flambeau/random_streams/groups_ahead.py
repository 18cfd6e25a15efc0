"""Normal numbers of whole groups that were drawn before they are asked for: a draw of a few groups costs as
much as one of many.
"""

from __future__ import annotations

from typing import Any

from .arithmetic import FLOAT32, Array
from .state import State, Stream

GROUP = 16          # elements that are made of as many outputs (``normal``)
LONGEST = 512       # numbers that are asked for at a time
_MOST = 1 << 12     # that are drawn ahead


def is_of_groups(count: int, mean: float, std: float, contiguous: bool, dtype: Any) -> bool:
    """Whether ``normal`` draws these so that as many more go on where they end."""
    return 0 < count <= LONGEST and not count % GROUP and dtype is FLOAT32 and mean == 0 and std == 1 \
        and contiguous


class GroupsAhead:
    """Standard normal numbers in float32, with the states before and after them."""

    __slots__ = ("_before", "_values", "_after", "_at", "_count")

    def __init__(self, before: State, values: Array, after: State, asked: int) -> None:
        self._before = before
        self._values = values
        self._after = after
        self._at = asked        # how many of them were taken
        self._count = len(values)

    def take(self, count: int) -> Array | None:
        """The next numbers; None where there are not enough."""
        at = self._at
        end = at + count
        if end > self._count:
            return None
        self._at = end
        return self._values[at:end]     # which nobody else reads again

    def to_draw(self, count: int) -> int:
        """How many to draw where these do not do: more each time, unless some were not asked for."""
        if self._at < self._count:
            return count
        return max(count, min(8 * self._at, _MOST) // count * count)

    def after(self) -> State:
        """The state after what was taken."""
        if self._at == self._count:
            return self._after
        stream = Stream(self._before)
        stream.random32(self._at)
        return stream.close()
