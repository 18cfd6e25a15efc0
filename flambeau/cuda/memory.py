"""The memory of devices, of which there are none: nothing is in use."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from .absence import refuse


def empty_cache() -> None:
    """Give cached device memory back: there is none.

    >>> import flambeau as torch
    >>> torch.cuda.empty_cache()
    """


def memory_allocated(device: Any = None) -> int:
    """Bytes of device memory in use.

    >>> import flambeau as torch
    >>> torch.cuda.memory_allocated()
    0
    """
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes of device memory that were in use.

    >>> import flambeau as torch
    >>> torch.cuda.max_memory_allocated()
    0
    """
    return 0


def memory_reserved(device: Any = None) -> int:
    """Bytes of device memory held.

    >>> import flambeau as torch
    >>> torch.cuda.memory_reserved()
    0
    """
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes of device memory that were held.

    >>> import flambeau as torch
    >>> torch.cuda.max_memory_reserved()
    0
    """
    return 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Forget the peaks."""


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Forget the sums."""


def reset_peak_host_memory_stats() -> None:
    """Forget the peaks of pinned memory."""


def reset_accumulated_host_memory_stats() -> None:
    """Forget the sums of pinned memory."""


def reset_max_memory_allocated(device: Any = None) -> None:
    """The older name of ``reset_peak_memory_stats``."""
    _forgets_all("reset_max_memory_allocated")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Any = None) -> None:
    """Another older name of ``reset_peak_memory_stats``."""
    _forgets_all("reset_max_memory_cached")
    reset_peak_memory_stats(device)


def _forgets_all(name: str) -> None:
    warnings.warn(f"torch.cuda.{name} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak "
                  "memory stats.", FutureWarning, stacklevel=3)


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A report on device memory. As in PyTorch without a device, there are no figures to report."""
    raise KeyError("allocated_bytes.all.current")


def memory_cached(device: Any = None) -> int:
    """The older name of ``memory_reserved``."""
    warnings.warn("`torch.cuda.memory_cached` has been renamed to `torch.cuda.memory_reserved`",
                  FutureWarning, stacklevel=2)
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """The older name of ``max_memory_reserved``."""
    warnings.warn("`torch.cuda.max_memory_cached` has been renamed to `torch.cuda.max_memory_reserved`",
                  FutureWarning, stacklevel=2)
    return max_memory_reserved(device)


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """The figures of the device's allocator: none."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The figures of the device's allocator by kind: none."""
    return {}


def host_memory_stats() -> OrderedDict[str, Any]:
    """The figures of the allocator of pinned memory: none."""
    return OrderedDict()


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """The figures of the allocator of pinned memory by kind: none."""
    return {}


def mem_get_info(device: Any = None) -> NoReturn:
    """The free and the whole memory of the device."""
    refuse()


def get_per_process_memory_fraction(device: Any = None) -> NoReturn:
    """The part of the device's memory that this process may use."""
    refuse()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> NoReturn:
    """Choose the part of the device's memory that this process may use."""
    refuse()


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> NoReturn:
    """Take memory of the device."""
    refuse()


def caching_allocator_enable(value: bool = True) -> None:
    """Whether memory is kept when it is given back: there is none."""


@contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """Keep no memory inside: there is none."""
    yield
