"""The graph of pipes: which are made of which."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Collection
from typing import Any, TypeAlias

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

DataPipe: TypeAlias = IterDataPipe[Any] | MapDataPipe[Any]
DataPipeGraph: TypeAlias = dict[int, tuple[DataPipe, "DataPipeGraph"]]


class _Finder(pickle.Pickler):
    """Finds the pipes in an object by going through all that would be pickled, as far as the next pipes."""

    def __init__(self, root: Any) -> None:
        super().__init__(io.BytesIO())
        self.root = root
        self.found: dict[int, DataPipe] = {}

    def persistent_id(self, obj: Any) -> Any:
        """Pipes are noted, and not entered."""
        if obj is self.root or not isinstance(obj, (IterDataPipe, MapDataPipe)):
            return None
        self.found[id(obj)] = obj
        return "pipe"


def _children(pipe: Any, only_datapipe: bool) -> list[DataPipe]:
    finder = _Finder(pipe)
    if not only_datapipe:
        finder.dump(pipe)
        return list(finder.found.values())
    state = vars(pipe) if hasattr(pipe, "_datapipe") else pipe.__getstate__()
    if isinstance(state, dict):  # functions, which often cannot be pickled, are left out
        kinds = IterDataPipe, MapDataPipe, Collection
        state = [value for value in state.values() if isinstance(value, kinds)]
    finder.dump(state)
    return list(finder.found.values())


def traverse_dps(datapipe: DataPipe) -> DataPipeGraph:
    """The pipes that a pipe is made of: ``{id: (pipe, the same of what it is made of)}``.

    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> pipe = IterableWrapper(range(3)).batch(2)
    >>> [(of, list(parts.values())) for of, parts in traverse_dps(pipe).values()]
    [(BatcherIterDataPipe, [(IterableWrapperIterDataPipe, {})])]
    """
    return _traverse(datapipe, True, set())


def traverse(datapipe: DataPipe, only_datapipe: bool | None = None) -> DataPipeGraph:
    """The older form of ``traverse_dps``; ``only_datapipe=False`` looks into all attributes.

    >>> import warnings
    >>> from flambeau.utils.data.graph import traverse
    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> warnings.simplefilter("ignore")
    >>> [of for of, parts in traverse(IterableWrapper([1, 2]).batch(2)).values()]
    [BatcherIterDataPipe]
    """
    message = (
        "`traverse` function is deprecated and will be removed after 1.13. Please use `traverse_dps` instead."
    )
    if not only_datapipe:
        message += " And, the behavior will be changed to the equivalent of `only_datapipe=True`."
    warnings.warn(message, FutureWarning, stacklevel=2)
    return _traverse(datapipe, bool(only_datapipe), set())


def _traverse(pipe: Any, only_datapipe: bool, above: set[int]) -> DataPipeGraph:
    if not isinstance(pipe, (IterDataPipe, MapDataPipe)):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found")
    if id(pipe) in above:
        return {}
    above = above | {id(pipe)}
    parts: DataPipeGraph = {}
    for child in _children(pipe, only_datapipe):
        if id(child) not in above:
            parts.update(_traverse(child, only_datapipe, above))
    return {id(pipe): (pipe, parts)}
