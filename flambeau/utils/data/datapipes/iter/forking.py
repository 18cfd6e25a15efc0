"""Streams split: the same samples several times (fork), or each to one of several streams (demux).

The streams that come out are children of one main pipe, which reads the source once and keeps what a child is
ahead of the others by. Note: one iterator, for children: the main pipe counts rounds. A child that begins
takes part in the present round; if it has done so already, a new round begins for all.
"""

from __future__ import annotations

import copy as copymodule
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, check_unpicklable


class _ChildDataPipe(IterDataPipe[Any]):
    """One of the streams that a main pipe was split into."""

    _is_child_datapipe = True

    def __init__(self, main_datapipe: Any, instance_id: int) -> None:
        self.main_datapipe = main_datapipe
        self.instance_id = instance_id

    def __iter__(self) -> Iterator[Any]:
        return self.main_datapipe.get_next_element_by_instance(self.instance_id)

    def __len__(self) -> int:
        return int(self.main_datapipe.get_length_by_instance(self.instance_id))

    def _set_main_datapipe_valid_iterator_id(self) -> int:
        main = self.main_datapipe
        if main._valid_iterator_id is None:
            main._valid_iterator_id = 0
        elif main._valid_iterator_id == self._valid_iterator_id:
            main._valid_iterator_id += 1
            if not main.is_every_instance_exhausted():
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are resetting the "
                    "buffer and each child DataPipe will read from the start again.",
                    stacklevel=5,
                )
            main.reset()
        self._valid_iterator_id = main._valid_iterator_id
        return int(main._valid_iterator_id)

    def _check_valid_iterator_id(self, iterator_id: int) -> bool:
        return iterator_id == self._valid_iterator_id == self.main_datapipe._valid_iterator_id


class _Splitter(IterDataPipe[Any]):
    """What both main pipes share: reading the source, and who has come to its end."""

    name: str

    def __init__(self, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int) -> None:
        self.main_datapipe = datapipe
        self.num_instances = num_instances
        self.buffer_size = buffer_size
        if buffer_size < 0:
            warnings.warn(
                f"Unlimited buffer size is set for `{self.name}`, please be aware of OOM at random places",
                stacklevel=4,
            )
        self._valid_iterator_id = None
        self.reset()

    def reset(self) -> None:
        """Read from the start again."""
        self._datapipe_iterator: Iterator[Any] | None = None
        self._child_stop = [True] * self.num_instances

    def _begin(self, instance_id: int) -> None:
        if self._datapipe_iterator is None and self._child_stop[instance_id]:
            self._datapipe_iterator = iter(self.main_datapipe)
            self._child_stop = [False] * self.num_instances

    def is_every_instance_exhausted(self) -> bool:
        """Whether all children have come to the end."""
        return self._datapipe_iterator is not None and all(self._child_stop)

    def get_length_by_instance(self, instance_id: int) -> int:
        """The length of a child."""
        raise TypeError

    def __getstate__(self) -> Any:
        # Where an iterator stood is not pickled: the copy reads from the start.
        state = {**self.__dict__, "_datapipe_iterator": None, "_child_stop": [True] * self.num_instances}
        hook = type(self).getstate_hook
        return self._emptied(state) if hook is None else hook(self._emptied(state))

    def _emptied(self, state: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


class _ForkerIterDataPipe(_Splitter):
    name = "fork"

    def __init__(self, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int = 1000,
                 copy: Literal["shallow", "deep"] | None = None) -> None:
        if copy not in (None, "shallow", "deep"):
            raise ValueError(
                f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`."
            )
        self.copy_fn: Any = {"shallow": copymodule.copy, "deep": copymodule.deepcopy, None: None}[copy]
        super().__init__(datapipe, num_instances, buffer_size)

    def reset(self) -> None:
        """Read from the start again."""
        super().reset()
        self.buffer: deque[Any] = deque()
        self.first = 0  # position in the source of the first sample in the buffer
        self.child_pointers = [0] * self.num_instances
        self._ended = False

    def _emptied(self, state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "buffer": deque(), "first": 0, "child_pointers": [0] * self.num_instances,
                "_ended": False}  # fmt: skip

    def get_length_by_instance(self, instance_id: int) -> int:
        """The length of a child: all of the source."""
        return len(self.main_datapipe)

    def get_next_element_by_instance(self, instance_id: int) -> Iterator[Any]:
        """The samples of one child."""
        self._begin(instance_id)
        try:
            while not self._child_stop[instance_id]:
                place = self.child_pointers[instance_id] - self.first
                if place == len(self.buffer) and not self._read():
                    break
                found = self.buffer[place]
                self.child_pointers[instance_id] += 1
                if place == 0 and min(self.child_pointers) > self.first:
                    self.buffer.popleft()
                    self.first += 1
                yield found if self.copy_fn is None else self.copy_fn(found)
        finally:
            self._child_stop[instance_id] = True

    def _read(self) -> bool:
        """Take the next sample of the source into the buffer; False at its end."""
        if self._ended:
            return False
        assert self._datapipe_iterator is not None
        try:
            self.buffer.append(next(self._datapipe_iterator))
        except StopIteration:
            self._ended = True
            return False
        if 0 <= self.buffer_size < len(self.buffer):
            raise BufferError(
                f"ForkerIterDataPipe buffer overflow,buffer size {self.buffer_size} is insufficient."
            )
        return True


class _DemultiplexerIterDataPipe(_Splitter):
    name = "demux"

    def __init__(self, datapipe: IterDataPipe[Any], num_instances: int,
                 classifier_fn: Callable[[Any], int | None], drop_none: bool, buffer_size: int) -> None:
        self.classifier_fn = classifier_fn
        self.drop_none = drop_none
        super().__init__(datapipe, num_instances, buffer_size)

    def reset(self) -> None:
        """Read from the start again."""
        super().reset()
        self.current_buffer_usage = 0
        self.child_buffers: list[deque[Any]] = [deque() for _ in range(self.num_instances)]
        self.main_datapipe_exhausted = False

    def _emptied(self, state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "current_buffer_usage": 0, "main_datapipe_exhausted": False,
                "child_buffers": [deque() for _ in range(self.num_instances)]}  # fmt: skip

    def get_next_element_by_instance(self, instance_id: int) -> Iterator[Any]:
        """The samples of one child."""
        self._begin(instance_id)
        try:
            waiting = self.child_buffers[instance_id]
            while not self._child_stop[instance_id]:
                if waiting:
                    self.current_buffer_usage -= 1
                    yield waiting.popleft()
                    continue
                found, sample = self._find_next(instance_id)
                if not found:
                    break
                yield sample
        finally:
            self._child_stop[instance_id] = True

    def _find_next(self, instance_id: int) -> tuple[bool, Any]:
        """Read until there is a sample for a child; others wait."""
        assert self._datapipe_iterator is not None
        while not self.main_datapipe_exhausted:
            try:
                sample = next(self._datapipe_iterator)
            except StopIteration:
                self.main_datapipe_exhausted = True
                break
            kind = self.classifier_fn(sample)
            if kind is None and self.drop_none:
                StreamWrapper.close_streams(sample)
                continue
            if kind is None or kind >= self.num_instances or kind < 0:
                raise ValueError(
                    f"Output of the classification fn should be between 0 and {self.num_instances - 1}. "
                    f"{kind} is returned."
                )
            if kind == instance_id:
                return True, sample
            self.child_buffers[kind].append(sample)
            self.current_buffer_usage += 1
            if 0 <= self.buffer_size < self.current_buffer_usage:
                raise BufferError(
                    "DemultiplexerIterDataPipe buffer overflow, buffer size "
                    f"{self.buffer_size} is insufficient."
                )
        return False, None


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """A stream several times: at most `buffer_size` samples wait for the slowest.

    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> left, right = IterableWrapper(range(3)).fork(2)
    >>> list(left), list(right)
    ([0, 1, 2], [0, 1, 2])
    """

    def __new__(cls, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int = 1000,
                copy: Literal["shallow", "deep"] | None = None) -> Any:  # fmt: skip
        _check_count(num_instances)
        if num_instances == 1:
            return datapipe
        container = _ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy)
        return [_ChildDataPipe(container, number) for number in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """Each sample goes to the stream whose number a function says; None is an error, or dropped.

    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> letters, digits = IterableWrapper("a1b2").demux(2, str.isdigit)
    >>> list(letters), list(digits)
    (['a', 'b'], ['1', '2'])
    """

    def __new__(cls, datapipe: IterDataPipe[Any], num_instances: int,
                classifier_fn: Callable[[Any], int | None], drop_none: bool = False,
                buffer_size: int = 1000) -> Any:  # fmt: skip
        _check_count(num_instances)
        check_unpicklable(classifier_fn)
        container = _DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size)
        return [_ChildDataPipe(container, number) for number in range(num_instances)]


def _check_count(num_instances: int) -> None:
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
