"""``torch.distributed.rpc``: calls in other processes. They are not available."""

from __future__ import annotations


def is_available() -> bool:
    """Whether other processes can be called: no."""
    return False


__all__ = ["is_available"]
