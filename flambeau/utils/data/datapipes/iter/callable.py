"""Streams to which a function is applied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..._utils.collate import default_collate
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..lengths import length_of
from ..utils.common import check_unpicklable, validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe[Any]):
    """A function applied to each sample, or to columns of it: places of a sequence, keys of a mapping.

    The result takes the place of the (first) column, the others go; or it goes to `output_col`, -1 for behind
    all.

    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([(1, 2), (3, 4)]).map(abs, input_col=1, output_col=-1))
    [(1, 2, 2), (3, 4, 4)]
    """

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        fn: Callable[..., Any],
        input_col: Any = None,
        output_col: Any = None,
    ) -> None:
        check_unpicklable(fn)
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        validate_input_col(fn, input_col)
        self.datapipe = datapipe
        self.fn = fn
        self.input_col = input_col
        self.output_col = output_col

    def _apply_fn(self, data: Any) -> Any:
        columns = self.input_col
        if columns is None:
            return self.fn(data)
        several = isinstance(columns, (list, tuple))
        result = self.fn(*(data[c] for c in columns)) if several else self.fn(data[columns])
        is_tuple = isinstance(data, tuple)
        if is_tuple:
            data = list(data)
        if self.output_col is None:
            data[columns[0] if several else columns] = result
            for column in sorted(columns[1:], reverse=True) if several else ():
                del data[column]
        elif self.output_col == -1:
            data.append(result)
        else:
            data[self.output_col] = result
        return tuple(data) if is_tuple else data

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply_fn(data)

    def __len__(self) -> int:
        return length_of(self, self.datapipe)


def _refuse_frames(batch: Any) -> Any:
    """What collating by columns does to batches that are no data frames."""
    raise RuntimeError("Only supports one DataFrame per batch")


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches collated: by ``default_collate``, or by a function.

    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(4)).batch(2).collate())
    [tensor([0, 1]), tensor([2, 3])]
    """

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        conversion: Any = default_collate,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:
        if collate_fn is not None:
            super().__init__(datapipe, fn=collate_fn)
        elif callable(conversion):
            super().__init__(datapipe, fn=conversion)
        else:
            super().__init__(datapipe, fn=_refuse_frames)
