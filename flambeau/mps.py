"""``torch.mps``: Apple's Metal is not there."""

from __future__ import annotations


def is_available() -> bool:
    """Whether there is a device: no.

    >>> import flambeau as torch
    >>> torch.mps.is_available()
    False
    """
    return False


def device_count() -> int:
    """The number of devices: none."""
    return 0


__all__ = ["device_count", "is_available"]
