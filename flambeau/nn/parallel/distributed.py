"""``DistributedDataParallel``: one copy of a model in each process, which needs a process group."""

from __future__ import annotations

from typing import Any

from ...distributed.groups import require_group
from ..modules.module import Module


class DistributedDataParallel(Module):
    """The class of such models; making one asks for a process group and raises PyTorch's error for none."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
                 **options: Any) -> None:
        super().__init__()
        require_group(options.get("process_group"))


__all__ = ["DistributedDataParallel"]
