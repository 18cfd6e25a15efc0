"""The name that ``torch.distributed.tensor.experimental`` had before."""

from __future__ import annotations

from ..tensor.experimental import implicit_replication

__all__ = ["implicit_replication"]
