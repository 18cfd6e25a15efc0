"""Fetching: from the indices of a batch, or the next of a stream, to collated data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Collate = Callable[[Any], Any]


class MapFetcher:
    """Fetches from a dataset with ``__getitem__``."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Collate, drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn

    def fetch(self, index: Any) -> Any:
        """A batch for a list of indices; without batching, the converted sample of one."""
        if not self.auto_collation:
            data = self.dataset[index]
        elif getattr(self.dataset, "__getitems__", None):
            data = self.dataset.__getitems__(index)
        else:
            data = [self.dataset[position] for position in index]
        return self.collate_fn(data)


class IterableFetcher:
    """Fetches from a stream; ``StopIteration`` at its end."""

    ends = True

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Collate, drop_last: bool) -> None:
        self.iterator = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """The next samples, as many as `index` has entries."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.iterator))
        data = []
        for _ in index:
            try:
                data.append(next(self.iterator))
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < len(index)):
            raise StopIteration
        return self.collate_fn(data)
