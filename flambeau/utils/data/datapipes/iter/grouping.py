"""Streams of groups: batches, their contents again, and samples of one key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..batches import Batches
from ..datapipe import DataChunk, IterDataPipe
from ..utils.common import check_unpicklable

__all__ = ["BatcherIterDataPipe", "GrouperIterDataPipe", "UnBatcherIterDataPipe"]


@functional_datapipe("batch")
class BatcherIterDataPipe(Batches, IterDataPipe[Any]):
    """Batches of `batch_size` samples; the last may be smaller, unless `drop_last`.

    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(5)).batch(2))
    [[0, 1], [2, 3], [4]]
    """

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for x in self.datapipe:
            batch.append(x)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """The contents of lists, `unbatch_level` levels deep; -1 for as deep as they go.

    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([[0, [1]], [2]]).unbatch(unbatch_level=-1))
    [0, 1, 2]
    """

    def __init__(self, datapipe: IterDataPipe[Any], unbatch_level: int = 1) -> None:
        self.datapipe = datapipe
        self.unbatch_level = unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for element in self.datapipe:
            yield from self._dive(element, self.unbatch_level)

    def _dive(self, element: Any, level: int) -> Iterator[Any]:
        if level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        is_list = isinstance(element, list)  # batches are lists
        if level == 0 or (level == -1 and not is_list):
            yield element
        elif is_list:
            for item in element:
                yield from self._dive(item, level if level == -1 else level - 1)
        else:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Samples of the same key, as groups of `group_size`, or of all there are.

    At most `buffer_size` samples wait. When there are as many, the largest group is given out as it is; if
    it has fewer than `guaranteed_group_size` samples that is an error, or with `drop_remaining` they are
    dropped.
    With `keep_key` groups are pairs with the key (of the sample that came last, as in PyTorch).

    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper("a1b23").groupby(str.isdigit))
    [['a', 'b'], ['1', '2', '3']]
    """

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        check_unpicklable(group_key_fn)
        self.datapipe = datapipe
        self.group_key_fn = group_key_fn
        self.keep_key = keep_key
        self.max_buffer_size = buffer_size
        self.buffer_elements: defaultdict[Any, list[Any]] = defaultdict(list)
        self.curr_buffer_size = 0
        self.group_size = group_size
        self.guaranteed_group_size = group_size if guaranteed_group_size is None else guaranteed_group_size
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None and not (
            group_size is not None and 0 < guaranteed_group_size <= group_size
        ):
            raise AssertionError(
                "guaranteed_group_size must be > 0 and <= group_size and group_size must be set"
            )
        self.drop_remaining = drop_remaining
        self.wrapper_class = DataChunk

    def _remove_biggest_key(self) -> list[Any] | None:
        """Make room: the largest group, None if it was dropped."""
        key = max(self.buffer_elements, key=lambda key: len(self.buffer_elements[key]))
        group = self.buffer_elements[key]
        is_small = self.guaranteed_group_size is not None and len(group) < self.guaranteed_group_size
        if is_small and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(group))
        self._remove(key)
        return None if is_small else group

    def _remove(self, key: Any) -> None:
        self.curr_buffer_size -= len(self.buffer_elements.pop(key))

    def _made(self, key: Any, group: list[Any]) -> Any:
        chunk = self.wrapper_class(group)
        return (key, chunk) if self.keep_key else chunk

    def __iter__(self) -> Iterator[Any]:
        for x in self.datapipe:
            key = self.group_key_fn(x)
            group = self.buffer_elements[key]
            group.append(x)
            self.curr_buffer_size += 1
            if self.group_size is not None and len(group) == self.group_size:
                yield self._made(key, group)
                self._remove(key)
            if self.curr_buffer_size == self.max_buffer_size:
                largest = self._remove_biggest_key()
                if largest is not None:
                    yield self._made(key, largest)
        for key in tuple(self.buffer_elements):
            group = self.buffer_elements[key]
            self._remove(key)
            yield self._made(key, group)

    def reset(self) -> None:
        """Forget what waits."""
        self.curr_buffer_size = 0
        self.buffer_elements = defaultdict(list)
