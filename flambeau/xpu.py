"""``torch.xpu``: Intel's GPUs are not there."""

from __future__ import annotations


def is_available() -> bool:
    """Whether there is a device: no.

    >>> import flambeau as torch
    >>> torch.xpu.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """Whether a device is in use: no."""
    return False


def device_count() -> int:
    """The number of devices: none."""
    return 0


__all__ = ["device_count", "is_available", "is_initialized"]
