"""``torch.distributed.tensor.experimental``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Let tensors stand beside distributed ones as copies on each device: there are only the former."""
    yield


__all__ = ["implicit_replication"]
