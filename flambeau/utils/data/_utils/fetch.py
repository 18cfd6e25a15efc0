"""Fetching: from the indices of a batch, or the next of a stream, to collated data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....tensor import Tensor
from ....tensor.samples.at_once import AtOnce
from ....tensor.samples.known import known_arrays
from ....tensor.samples.stacking import take_rows
from ....tensor.samples.waiting import Habit
from ..dataset import Subset, TensorDataset
from .collate import collate_tensor_fn, default_collate, default_collate_fn_map

Collate = Callable[[Any], Any]


class _BaseDatasetFetcher:
    """What fetches batches: a dataset, and how its samples are put together."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Collate, drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, index: Any) -> Any:
        """A batch, as a subclass fetches it."""
        raise NotImplementedError


class MapFetcher(_BaseDatasetFetcher):
    """Fetches from a dataset with ``__getitem__``."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Collate, drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.habit = Habit() if auto_collation else None
        self.has_rows = auto_collation and collate_fn is default_collate and _has_rows(dataset)

    def fetch(self, index: Any) -> Any:
        """A batch for a list of indices; without batching, the converted sample of one."""
        if self.has_rows:
            rows = _rows_at_once(self.dataset, index)
            if rows is not None:
                return rows
        with AtOnce(self.habit):    # at its end nobody holds the samples
            return self.collate_fn(self._samples(index))

    def _samples(self, index: Any) -> Any:
        if not self.auto_collation:
            return self.dataset[index]
        if getattr(self.dataset, "__getitems__", None):
            return self.dataset.__getitems__(index)
        return [self.dataset[position] for position in index]


def _has_rows(dataset: Any) -> bool:
    """Whether samples are rows of tensors, of the datasets' own making."""
    while type(dataset) is Subset:
        dataset = dataset.dataset
    return type(dataset) is TensorDataset


def _rows_at_once(dataset: Any, index: Any) -> list[Tensor] | None:
    """What ``default_collate`` makes of rows of tensors; None where there is more to it, or a mistake."""
    if default_collate_fn_map.get(Tensor) is not collate_tensor_fn or not _are_positions(index):
        return None
    while type(dataset) is Subset:
        indices = dataset.indices
        if not _are_positions(indices[:1] if index and isinstance(indices, list) else ()):
            return None
        if max(index) >= len(indices) or min(index) < 0:
            return None
        index = [indices[position] for position in index]
        dataset = dataset.dataset
    tables = known_arrays(dataset.tensors)
    rows = np.array(index)
    if not tables or rows.dtype != np.int64 or rows.min() < 0:
        return None
    if any(table.ndim == 0 or len(table) <= rows.max() for table in tables):
        return None
    return [take_rows(table, rows, table.shape[1:]) for table in tables]


def _are_positions(index: Any) -> bool:
    return isinstance(index, list) and bool(index) and all(position.__class__ is int for position in index)


class IterableFetcher(_BaseDatasetFetcher):
    """Fetches from a stream; ``StopIteration`` at its end."""

    ends = True

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Collate, drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.habit = Habit() if auto_collation else None
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """The next samples, as many as `index` has entries."""
        if self.ended:
            raise StopIteration
        with AtOnce(self.habit):
            return self.collate_fn(self._samples(index))

    def _samples(self, index: Any) -> Any:
        if not self.auto_collation:
            return next(self.dataset_iter)
        data = []
        for _ in index:
            try:
                data.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < len(index)):
            raise StopIteration
        return data


# Their names in PyTorch, by which packages ask.
_MapDatasetFetcher = MapFetcher
_IterableDatasetFetcher = IterableFetcher
