"""Settings of ``torch.save`` and ``torch.load`` that hold for the whole process."""

from __future__ import annotations

import mmap
from typing import Any

# Windows has neither; there the flags are Python's usual ones and cannot be changed.
_PRIVATE, _SHARED = getattr(mmap, "MAP_PRIVATE", 2), getattr(mmap, "MAP_SHARED", 1)


class _Options:
    """The one place that holds them."""

    def __init__(self) -> None:
        self.crc32 = True
        self.skip_data = False
        self.mmap_flags: int = _PRIVATE
        self.mmap = False
        self.endianness: Any = None  # of checkpoints that do not say theirs
        self.storage_alignment = 64
        self.calculate_storage_offsets = False
        self.use_pinned_memory_for_d2h = False


options = _Options()


def set_crc32_options(compute_crc32: bool) -> None:
    """Whether ``torch.save`` computes checksums of the records. Without them saving is faster, but programs
    other than ``torch.load`` take the archive for damaged.

    >>> import flambeau as torch
    >>> torch.serialization.set_crc32_options(True)
    >>> torch.serialization.get_crc32_options()
    True
    """
    options.crc32 = compute_crc32


def get_crc32_options() -> bool:
    """Whether ``torch.save`` computes checksums; True at the start.

    >>> import flambeau as torch
    >>> torch.serialization.get_crc32_options()
    True
    """
    return options.crc32


class skip_data:
    """Within the block ``torch.save`` leaves room for the bytes of tensors without writing them, and
    ``torch.load`` makes tensors without reading them.

    >>> import flambeau as torch; import io
    >>> file = io.BytesIO()
    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(3), file)
    >>> _ = file.seek(0); torch.load(file)
    tensor([0., 0., 0.])
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors
        self._before = False

    def __enter__(self) -> None:
        self._before, options.skip_data = options.skip_data, True

    def __exit__(self, *exc: Any) -> None:
        options.skip_data = self._before


def get_default_mmap_options() -> int:
    """How ``torch.load(mmap=True)`` maps files: ``mmap.MAP_PRIVATE`` at the start.

    >>> import flambeau as torch
    >>> import mmap
    >>> torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    True
    """
    return options.mmap_flags


class set_default_mmap_options:
    """Map files so in ``torch.load(mmap=True)``, from now on or within a ``with`` block.

    Writes to tensors of a file mapped with ``mmap.MAP_PRIVATE`` stay in memory, with ``mmap.MAP_SHARED`` they
    go to the file.

    >>> import flambeau as torch; import mmap
    >>> with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags: int) -> None:
        if not hasattr(mmap, "MAP_PRIVATE"):
            raise RuntimeError("Changing the default mmap options is currently not supported for Windows")
        if flags not in (_PRIVATE, _SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                f"mmap.MAP_SHARED, but got {flags}"
            )
        self.prev = options.mmap_flags
        options.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        options.mmap_flags = self.prev


def maps_shared() -> bool:
    """Whether writes to mapped tensors go to the file."""
    return options.mmap_flags == _SHARED
