"""Datasets, samplers and the DataLoader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .dataloader import DataLoader, default_collate, default_convert, get_worker_info
from .dataloader import _DatasetKind as _DatasetKind
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

if TYPE_CHECKING:
    from .datapipes._decorator import (
        argument_validation,
        functional_datapipe,
        guaranteed_datapipes_determinism,
        non_deterministic,
        runtime_validation,
        runtime_validation_disabled,
    )
    from .datapipes.datapipe import DataChunk, DFIterDataPipe, IterDataPipe, MapDataPipe

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DFIterDataPipe",
    "DataChunk",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterDataPipe",
    "IterableDataset",
    "MapDataPipe",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "argument_validation",
    "default_collate",
    "default_convert",
    "functional_datapipe",
    "get_worker_info",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "random_split",
    "runtime_validation",
    "runtime_validation_disabled",
]

# Pipes are rarely used: they are imported when somebody asks for them.
_LATER = {
    **dict.fromkeys(("DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"), "datapipes.datapipe"),
    **dict.fromkeys(
        (
            "argument_validation",
            "functional_datapipe",
            "guaranteed_datapipes_determinism",
            "non_deterministic",
            "runtime_validation",
            "runtime_validation_disabled",
        ),
        "datapipes._decorator",
    ),
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("backward_compatibility", "datapipes", "graph", "graph_settings"):
        return import_module(f"{__name__}.{name}")
    if name not in _LATER:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    import_module(f"{__name__}.datapipes")  # all operations, whichever is asked for
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
