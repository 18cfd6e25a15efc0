"""``torch.xpu``: Intel's GPUs are not there. What needs one is refused; the rest is answered."""

from __future__ import annotations

from typing import Any, NoReturn

from .tensor import Tensor


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


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a device computes in bfloat16: there is none."""
    return False


def empty_cache() -> None:
    """Give cached device memory back: there is none.

    >>> import flambeau as torch
    >>> torch.xpu.empty_cache()
    """


def memory_allocated(device: Any = None) -> int:
    """Bytes of device memory in use.

    >>> import flambeau as torch
    >>> torch.xpu.memory_allocated()
    0
    """
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that were in use."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Bytes of device memory that are held."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that were held."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the device's generator, if there were one."""


def manual_seed_all(seed: int) -> None:
    """Seed all devices' generators: there are none."""


def get_rng_state_all() -> list[Tensor]:
    """The states of all devices' generators."""
    return []


def _refuse() -> NoReturn:
    raise AssertionError("Torch not compiled with XPU enabled")


def synchronize(device: Any = None) -> None:
    """Wait for a device; there is none."""
    _refuse()


def current_device() -> int:
    """The device in use; there is none."""
    _refuse()


def get_device_name(device: Any = None) -> str:
    """A device's name; there is none."""
    _refuse()


def get_device_capability(device: Any = None) -> dict[str, Any]:
    """What a device can do; there is none."""
    _refuse()


def get_device_properties(device: Any = None) -> Any:
    """A device's properties; there is none."""
    _refuse()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """A device's memory that is free, and all of it; there is none."""
    _refuse()


__all__ = ["current_device", "device_count", "empty_cache", "get_device_capability", "get_device_name",
           "get_device_properties", "get_rng_state_all", "is_available", "is_bf16_supported",
           "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_reserved",
           "mem_get_info", "memory_allocated", "memory_reserved", "synchronize"]
