"""Settings of all pipes of a graph: shares, seeds, whether they shuffle."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from .datapipes.datapipe import MapDataPipe
from .datapipes.iter import Shuffler as IterShuffler
from .datapipes.iter.sharding import SHARDING_PRIORITIES, _ShardingIterDataPipe
from .datapipes.map import Shuffler as MapShuffler
from .graph import DataPipe, DataPipeGraph, traverse_dps
from .sampler import draw_seed

__all__ = [
    "apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings",
    "get_all_graph_pipes",
]  # fmt: skip


def get_all_graph_pipes(graph: DataPipeGraph) -> list[DataPipe]:
    """The pipes of a graph, each once.

    >>> import flambeau as torch
    >>> from flambeau.utils.data.graph import traverse_dps
    >>> from flambeau.utils.data.graph_settings import get_all_graph_pipes
    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> len(get_all_graph_pipes(traverse_dps(IterableWrapper([1, 2]).map(str))))
    2
    """
    found: dict[int, DataPipe] = {}
    _collect(graph, found)
    return list(found.values())


def _collect(graph: DataPipeGraph, found: dict[int, DataPipe]) -> None:
    for key, (pipe, parts) in graph.items():
        if key not in found:
            found[key] = pipe
            _collect(parts, found)


def _is_sharding_datapipe(datapipe: Any) -> bool:
    return isinstance(datapipe, _ShardingIterDataPipe) or (
        hasattr(datapipe, "apply_sharding") and inspect.ismethod(datapipe.apply_sharding)
    )


def apply_sharding(
    datapipe: DataPipe,
    num_of_instances: int,
    instance_id: int,
    sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
) -> DataPipe:
    """Let every sharding pipe of a graph take one share of several.

    >>> from flambeau.utils.data.datapipes.iter import IterableWrapper
    >>> list(apply_sharding(IterableWrapper(range(5)).sharding_filter(), 2, 0))
    [0, 2, 4]
    """

    def share(graph: DataPipeGraph, applied: Any) -> None:
        for pipe, parts in graph.values():
            here = applied
            if _is_sharding_datapipe(pipe):
                if applied is not None:
                    raise RuntimeError(
                        "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                        f"Sharding already applied to {applied} while trying to apply to {pipe}"
                    )
                sharder: Any = pipe
                if len(inspect.signature(sharder.apply_sharding).parameters) < 3:
                    sharder.apply_sharding(num_of_instances, instance_id)
                else:
                    sharder.apply_sharding(num_of_instances, instance_id, sharding_group=sharding_group)
                here = pipe
            share(parts, here)

    share(traverse_dps(datapipe), None)
    return datapipe


def _is_shuffle_datapipe(datapipe: Any) -> bool:
    return _has_method(datapipe, "set_shuffle") and _has_method(datapipe, "set_seed")


def _is_random_datapipe(datapipe: Any) -> bool:
    return _has_method(datapipe, "set_seed")


def _has_method(datapipe: Any, name: str) -> bool:
    return inspect.ismethod(getattr(datapipe, name, None))


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Let all shuffling pipes of a graph shuffle or not; if there is none to shuffle, append one."""
    if shuffle is None:
        return datapipe
    shufflers: list[Any] = [
        pipe for pipe in get_all_graph_pipes(traverse_dps(datapipe)) if _is_shuffle_datapipe(pipe)
    ]
    if shuffle and not shufflers:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. "
            "Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        kind: Any = MapShuffler if isinstance(datapipe, MapDataPipe) else IterShuffler
        datapipe = kind(datapipe)
        shufflers = [datapipe]
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_shuffle_seed(datapipe: DataPipe, rng: Any) -> DataPipe:
    """The older name of ``apply_random_seed``."""
    warnings.warn(
        "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. Please "
        "use `apply_random_seed` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe: DataPipe, rng: Any) -> DataPipe:
    """Give every random pipe of a graph a seed of its own, drawn from a generator."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _is_random_datapipe(pipe):
            seeded: Any = pipe
            seeded.set_seed(draw_seed(rng))
    return datapipe
