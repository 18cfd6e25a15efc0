"""``torch.distributed.fsdp``: how parameters are shared out among processes. Nothing is distributed here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from ...dtypes import dtype
from ..groups import require_group
from .fully_sharded_data_parallel import FullyShardedDataParallel


class FSDPModule:
    """The class of modules whose parameters are shared out, for ``isinstance``: nothing is one."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        require_group()


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of parameters, of reductions and of results."""

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    output_dtype: dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters stay where they are."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters wait in the CPU's memory."""

    pin_memory: bool = True


def fully_shard(module: Any, **options: Any) -> NoReturn:
    """Share a module's parameters out among processes."""
    require_group()


__all__ = ["CPUOffloadPolicy", "FSDPModule", "FullyShardedDataParallel", "MixedPrecisionPolicy",
           "OffloadPolicy", "fully_shard"]
