"""What a DataLoader does for pipes. They are known only to programs that import them."""

from __future__ import annotations

import sys
from typing import Any

from ....tensor.generator import Generator
from ..sampler import draw_seed

_PIPES = f"{__package__.rpartition('.')[0]}.datapipes.datapipe"


def wrapped(dataset: Any) -> Any:
    """A pipe as a loader holds it; other datasets as they are."""
    known: Any = sys.modules.get(_PIPES)
    if known is not None and isinstance(dataset, known.IterDataPipe):
        return known._IterDataPipeSerializationWrapper(dataset)
    if known is not None and isinstance(dataset, known.MapDataPipe):
        return known._MapDataPipeSerializationWrapper(dataset)
    return dataset


def is_stream_pipe(dataset: Any) -> bool:
    """Whether a dataset is a pipe and a stream."""
    known: Any = sys.modules.get(_PIPES)
    return known is not None and isinstance(dataset, known.IterDataPipe)


def processes() -> tuple[int, int]:
    """How many processes torch.distributed knows, and which of them this one is; (1, 0) without it."""
    from .... import distributed  # few programs use it

    alone = not (distributed.is_available() and distributed.is_initialized())
    return (1, 0) if alone else (distributed.get_world_size(), distributed.get_rank())


def seeded(dataset: Any, generator: Any) -> int | None:
    """Give the random pipes of a dataset seeds for an epoch; return what they are drawn from, for workers."""
    if not is_stream_pipe(dataset):
        return None
    shared = draw_seed(generator)
    reseed(dataset, shared)
    return shared


def reseed(dataset: Any, shared_seed: int | None) -> None:
    """Give the random pipes of a dataset seeds that are the same in all workers."""
    if shared_seed is None:
        return
    from ..graph_settings import apply_random_seed  # few programs use pipes

    rng = Generator()
    rng.manual_seed(shared_seed)
    apply_random_seed(dataset, rng)


def share(dataset: Any, num_workers: int, worker_id: int) -> None:
    """Let the sharding pipes of a dataset take the share of a worker."""
    if is_stream_pipe(dataset):
        from ..graph_settings import SHARDING_PRIORITIES, apply_sharding  # few programs use pipes

        apply_sharding(dataset, num_workers, worker_id, SHARDING_PRIORITIES.MULTIPROCESSING)
