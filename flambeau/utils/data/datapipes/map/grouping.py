"""Batches of a map."""

from __future__ import annotations

from typing import Any

from .._decorator import functional_datapipe
from ..batches import Batches
from ..datapipe import MapDataPipe

__all__ = ["BatcherMapDataPipe"]


@functional_datapipe("batch")
class BatcherMapDataPipe(Batches, MapDataPipe[Any]):
    """Batches of `batch_size` samples; the last may be smaller, unless `drop_last`.

    >>> from flambeau.utils.data.datapipes.map import SequenceWrapper
    >>> SequenceWrapper(range(5)).batch(2)[2]
    [4]
    """

    def __getitem__(self, index: Any) -> Any:
        places = range(index * self.batch_size, (index + 1) * self.batch_size)
        batch: list[Any] = []
        try:
            for place in places:
                batch.append(self.datapipe[place])
        except IndexError as error:
            if not batch or self.drop_last:
                raise IndexError(f"Index {index} is out of bound.") from error
        return self.wrapper_class(batch)
