"""``torch.cuda``: answers that there is none."""

from __future__ import annotations

from typing import Any, NoReturn

from ..devices import device as _device
from . import amp
from .streams import (
    CUDAGraph,
    Event,
    OutOfMemoryError,
    Stream,
    StreamContext,
    graph,
    is_current_stream_capturing,
    stream,
)

# Programs that keep random states ask for it by this name.
_initialized = False
_NONE = "Torch not compiled with CUDA enabled"


def is_available() -> bool:
    """Whether there is a CUDA device: no."""
    return False


def is_initialized() -> bool:
    """Whether CUDA is in use: no."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the device computes in bfloat16."""
    return False


def device_count() -> int:
    """The number of CUDA devices: none."""
    return 0


def empty_cache() -> None:
    """Give cached device memory back: there is none."""


def seed() -> None:
    """Seed the device's generator by chance: there is none."""


def seed_all() -> None:
    """Seed the devices' generators by chance: there are none."""


def get_rng_state_all() -> list[Any]:
    """The states of the devices' generators: there are none."""
    return []


def get_rng_state(device: Any = "cuda") -> NoReturn:
    """The state of a device's generator."""
    raise AssertionError(_NONE)


def initial_seed() -> NoReturn:
    """The seed of the device's generator."""
    raise AssertionError(_NONE)


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Set the state of a device's generator once there is a device."""


def set_rng_state_all(new_states: Any) -> None:
    """Set the states of the devices' generators once there are devices."""


def manual_seed(seed: int) -> None:
    """Seed the devices' generators: there are none."""


def manual_seed_all(seed: int) -> None:
    """Seed the devices' generators: there are none."""


def memory_allocated(device: Any = None) -> int:
    """Bytes of device memory in use."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes of device memory that were in use."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """Bytes of device memory held."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes of device memory that were held."""
    return 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Forget the peaks."""


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A report on device memory. As in PyTorch without a device, there are no figures to report."""
    raise KeyError("allocated_bytes.all.current")


def current_device() -> int:
    """The index of the current device."""
    raise AssertionError(_NONE)


def set_device(device: Any) -> None:
    """Choose the current device."""
    raise AssertionError(_NONE)


def get_device_name(device: Any = None) -> str:
    """The device's name."""
    raise AssertionError(_NONE)


def get_device_properties(device: Any = None) -> Any:
    """The device's properties."""
    raise AssertionError(_NONE)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The device's compute capability."""
    raise AssertionError(_NONE)


def synchronize(device: Any = None) -> None:
    """Wait for the device."""
    raise AssertionError(_NONE)


class device:
    """A context manager that chooses the current device; a negative index chooses none."""

    def __init__(self, device: Any) -> None:
        self.index = device if isinstance(device, int) else _device(device).index

    def __enter__(self) -> None:
        if self.index is not None and self.index >= 0:
            raise AssertionError(_NONE)

    def __exit__(self, *exc: object) -> None:
        pass
