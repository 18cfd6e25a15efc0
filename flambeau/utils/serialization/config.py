"""Settings of ``torch.load`` (``config.load``) and ``torch.save`` (``config.save``)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ...serialization.options import options

# Where each setting is kept. Pinned memory and offsets that are computed change nothing here.
_KEPT = {
    "load.mmap": "mmap",
    "load.endianness": "endianness",
    "load.mmap_flags": "mmap_flags",
    "load.calculate_storage_offsets": "calculate_storage_offsets",
    "save.compute_crc32": "crc32",
    "save.use_pinned_memory_for_d2h": "use_pinned_memory_for_d2h",
    "save.storage_alignment": "storage_alignment",
}


def _kept(name: str) -> str:
    if name not in _KEPT:
        raise AttributeError(f"torch.utils.serialization.config.{name} does not exist")
    return _KEPT[name]


class _Section:
    """The settings whose names begin with a prefix, as attributes."""

    def __init__(self, prefix: str) -> None:
        object.__setattr__(self, "_prefix", prefix)

    def __getattr__(self, name: str) -> Any:
        return getattr(options, _kept(f"{self._prefix}.{name}"))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(options, _kept(f"{self._prefix}.{name}"), value)

    def __dir__(self) -> list[str]:
        return [name.partition(".")[2] for name in _KEPT if name.startswith(f"{self._prefix}.")]


load = _Section("load")
save = _Section("save")


@contextlib.contextmanager
def patch(arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> Iterator[None]:
    """Other settings for the length of a ``with`` block: a name and a value, or several.

    >>> with patch("load.mmap", True):
    ...     load.mmap
    True
    """
    changes = {arg1: arg2} if isinstance(arg1, str) else {**(arg1 or {}), **kwargs}
    before = {_kept(name): getattr(options, _kept(name)) for name in changes}
    try:
        for name, value in changes.items():
            setattr(options, _kept(name), value)
        yield
    finally:
        for name, value in before.items():
            setattr(options, name, value)


def get_config_copy() -> dict[str, Any]:
    """All settings by name."""
    return {name: getattr(options, place) for name, place in _KEPT.items()}


__all__ = ["get_config_copy", "load", "patch", "save"]
