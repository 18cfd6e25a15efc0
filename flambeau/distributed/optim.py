"""``torch.distributed.optim``: optimizers whose state lies in several processes; they need a group."""

from __future__ import annotations

from typing import Any

from ..optim import Optimizer
from .groups import require_group


class ZeroRedundancyOptimizer(Optimizer):
    """The class of optimizers with a part of the state in each process; making one asks for a group."""

    def __init__(self, params: Any, optimizer_class: type[Optimizer], process_group: Any = None,
                 **options: Any) -> None:
        require_group(process_group)


__all__ = ["ZeroRedundancyOptimizer"]
