"""Streams of which a part is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import check_unpicklable, validate_input_col

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe[Any]):
    """The samples for which a function, of the sample or of columns of it, says True.

    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper("a1b2").filter(str.isdigit))
    ['1', '2']
    """

    def __init__(
        self, datapipe: IterDataPipe[Any], filter_fn: Callable[..., Any], input_col: Any = None
    ) -> None:
        check_unpicklable(filter_fn)
        validate_input_col(filter_fn, input_col)
        self.datapipe = datapipe
        self.filter_fn = filter_fn
        self.input_col = input_col

    def _apply_filter_fn(self, data: Any) -> Any:
        columns = self.input_col
        if columns is None:
            return self.filter_fn(data)
        if isinstance(columns, (list, tuple)):
            return self.filter_fn(*(data[column] for column in columns))
        return self.filter_fn(data[columns])

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            answer = self._apply_filter_fn(data)
            if not isinstance(answer, bool):
                raise ValueError(
                    "Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(answer)
                )
            if answer:
                yield data
