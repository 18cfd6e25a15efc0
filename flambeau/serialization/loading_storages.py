"""From the ids of storages in a pickle to storages: those of a zip archive."""

from __future__ import annotations

import pickle
import reprlib
from typing import Any

from ..devices import META
from ..dtypes import dtype
from ..graph.geometry import contiguous
from ..graph.node import constant
from ..graph.storage import Storage
from ..tensor.recording.record import META_NODE
from ..tensor.storage_view import TypedStorage, UntypedStorage
from .archive import Archive
from .endianness import must_swap
from .locations import named_location, restore
from .names import StorageType
from .options import maps_shared

_LARGEST = 2**63 - 1


class ArchiveStorages:
    """Makes each storage of an archive once, when it is first named."""

    def __init__(self, archive: Archive, map_location: Any, mapped: bool) -> None:
        self.archive, self.map_location, self.mapped = archive, map_location, mapped
        order = archive.read("byteorder").decode("ascii", "replace") if archive.has("byteorder") else None
        self.swap = must_swap(order)
        self.made: dict[str, UntypedStorage] = {}

    def __call__(self, saved_id: Any) -> TypedStorage:
        """The storage that a persistent id names."""
        kind, key, location, count = described(saved_id, 5)
        if key not in self.made:
            self.made[key] = self._make(key, kind.dtype, location, count)
        return TypedStorage(wrap_storage=self.made[key], dtype=kind.dtype)

    def _make(self, key: str, of: dtype, location: str, count: int) -> UntypedStorage:
        if named_location(location, self.map_location) == "meta":
            return UntypedStorage(_storage=Storage(META_NODE, contiguous((count,), of, META)))
        flat = self.archive.array(f"data/{key}", of, count, self.mapped)
        if self.swap:
            flat = flat.byteswap()
        storage = Storage(constant(flat), contiguous((count,), of))
        storage.exposed = self.mapped and maps_shared()  # who writes to it writes to the file
        made = UntypedStorage(_storage=storage)
        return restore(made, location, self.map_location)


def described(saved_id: Any, length: int) -> tuple[StorageType, str, str, int]:
    """Type, key, location and number of elements that a persistent id gives, if it is one of a storage."""
    if not isinstance(saved_id, tuple):
        raise pickle.UnpicklingError(f"saved_id must be a tuple, got {type(saved_id).__name__}")
    if not saved_id or saved_id[0] != "storage":
        raise pickle.UnpicklingError(
            f"Only persistent_load of storage is allowed, but got {reprlib.repr(saved_id[:1])}"
        )
    if len(saved_id) == length:
        _, kind, key, location, count, *_ = saved_id
        known = isinstance(kind, StorageType) and isinstance(key, str) and isinstance(location, str)
        if known and type(count) is int and 0 <= count <= _LARGEST // kind.dtype.itemsize:
            return kind, key, location, count
    raise pickle.UnpicklingError(
        "a storage is described by something else than its type, key, location and number of "
        f"elements: {reprlib.repr(saved_id)}"
    )
