"""``torch.accelerator``: the accelerator of this machine, whatever its kind. Here there is none."""

from __future__ import annotations

from typing import Any

from .devices import device as _device

_NONE = "Cannot access accelerator device when none is available."


def is_available() -> bool:
    """Whether there is an accelerator: no.

    >>> import flambeau as torch
    >>> torch.accelerator.is_available()
    False
    """
    return False


def device_count() -> int:
    """The number of accelerators.

    >>> import flambeau as torch
    >>> torch.accelerator.device_count()
    0
    """
    return 0


def current_accelerator(check_available: bool = False) -> _device | None:
    """The accelerator's device, without an index: None.

    >>> import flambeau as torch
    >>> torch.accelerator.current_accelerator() is None
    True
    """
    return None


def current_device_index() -> int:
    """The index of the current device."""
    raise RuntimeError(_NONE)


def set_device_index(device: Any, /) -> None:
    """Choose the current device."""
    raise RuntimeError(_NONE)


def synchronize(device: Any = None, /) -> None:
    """Wait for the device."""
    raise RuntimeError(_NONE)


__all__ = ["current_accelerator", "current_device_index", "device_count", "is_available", "set_device_index",
           "synchronize"]
