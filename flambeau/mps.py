"""``torch.mps``: Apple's Metal is not there."""

from __future__ import annotations

from typing import NoReturn


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


def _refuse(call: str) -> NoReturn:
    raise RuntimeError(f"Cannot execute {call}() without MPS backend.")


def empty_cache() -> None:
    """Give cached device memory back; there is no device."""
    _refuse("emptyCache")


def synchronize() -> None:
    """Wait for the device; there is none."""
    _refuse("deviceSynchronize")


def current_allocated_memory() -> int:
    """Bytes of device memory in use; there is no device."""
    _refuse("getCurrentAllocatedMemory")


def driver_allocated_memory() -> int:
    """Bytes of memory that Metal holds; it is not there."""
    _refuse("getDriverAllocatedMemory")


def recommended_max_memory() -> int:
    """Bytes of device memory that may be used; there is no device."""
    _refuse("getRecommendedMaxMemory")


def manual_seed(seed: int) -> None:
    """Seed the device's generator, if there were one."""


__all__ = ["current_allocated_memory", "device_count", "driver_allocated_memory", "empty_cache",
           "is_available", "manual_seed", "recommended_max_memory", "synchronize"]
