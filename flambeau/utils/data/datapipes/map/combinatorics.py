"""A map's samples as a stream in random order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..datapipe import MapDataPipe, hooked_state
from ..shuffling import SeededPipe

__all__ = ["ShufflerIterDataPipe"]


class ShufflerIterDataPipe(SeededPipe):
    """The samples at `indices`, all from 0 if they are not given, in random order.

    >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
    >>> sorted(SequenceWrapper("abc").shuffle().set_seed(0))
    ['a', 'b', 'c']
    """

    def __init__(self, datapipe: MapDataPipe[Any], *, indices: list[Any] | None = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        size: Any = datapipe
        self.indices = list(range(len(size))) if indices is None else indices
        self._shuffled_indices: list[Any] = self.indices

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            for index in self.indices:
                yield self.datapipe[index]
            return
        while self._shuffled_indices:
            yield self.datapipe[self._shuffled_indices.pop()]

    def reset(self) -> None:
        """Begin an epoch with its own seed."""
        if self._enabled:
            self._begin_epoch()
            self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))

    def __len__(self) -> int:
        return len(self.datapipe)

    def __getstate__(self) -> Any:
        state = (
            self.datapipe,
            self.indices,
            self._enabled,
            self._seed,
            self._rng.getstate(),
            self._shuffled_indices,
            self._valid_iterator_id,
            self._number_of_samples_yielded,
        )
        return hooked_state(self, state)

    def __setstate__(self, state: Any) -> None:
        (self.datapipe, self.indices, self._enabled, self._seed, rng_state, self._shuffled_indices,
         self._valid_iterator_id, self._number_of_samples_yielded) = state  # fmt: skip
        self._set_rng_state(rng_state)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
