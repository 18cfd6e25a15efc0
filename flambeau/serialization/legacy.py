"""PyTorch's format before 1.6: a row of pickles, then the bytes of the storages."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from ..devices import META
from ..dtypes import dtype
from ..engine import value_of
from ..graph.geometry import contiguous
from ..graph.node import constant
from ..graph.storage import Storage
from ..tensor.storage_view import TypedStorage, UntypedStorage
from .archive import read_array
from .loading_storages import described
from .locations import restore

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
_SYSTEM = {
    "protocol_version": PROTOCOL_VERSION,
    "little_endian": True,
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}

Unpickle = Callable[[Any, Callable[[Any], Any]], Any]


class _Storages:
    """Storages whose bytes follow after the pickle that names them."""

    def __init__(self, map_location: Any, room: int) -> None:
        self.map_location = map_location
        self.room = room
        self.made: dict[str, tuple[UntypedStorage, Storage]] = {}

    def __call__(self, saved_id: Any) -> Any:
        if isinstance(saved_id, tuple) and saved_id[:1] == ("module",) and len(saved_id) > 1:
            return saved_id[1]  # a class, with its source code: only a trusting unpickler comes so far
        kind, key, location, count = described(saved_id, 6)
        if saved_id[5] is not None:
            raise pickle.UnpicklingError(
                "the file has views of storages, which PyTorch wrote before version 0.4 only"
            )
        if key not in self.made:
            if count * kind.dtype.itemsize > self.room:
                raise pickle.UnpicklingError(f"a storage of {count} elements is larger than the file")
            # No memory is taken before the bytes come.
            empty = np.broadcast_to(np.zeros(1, kind.dtype.numpy), (count,))
            own = Storage(constant(empty), contiguous((count,), kind.dtype))
            placed = restore(UntypedStorage(_storage=own), location, self.map_location)
            self.made[key] = placed, own
        return TypedStorage(wrap_storage=self.made[key][0], dtype=kind.dtype)

    def fill(self, file: Any, keys: Any, swap: bool) -> None:
        """Read the bytes of all storages."""
        for key in keys if isinstance(keys, list) else ():
            if key not in self.made:
                raise pickle.UnpicklingError(
                    f"the file has bytes for a storage {str(key)[:80]!r} that nothing names"
                )
            placed, own = self.made[key]
            held = own.geometry
            count = int.from_bytes(file.read(8), "big" if swap else "little", signed=True)
            if count != held.numel:
                raise RuntimeError(
                    f"storage has wrong byte size: expected {held.numel} elements, got {count}"
                )
            flat = read_array(file, held.dtype, count, "a storage cannot be read")
            target = placed._storage
            if target.geometry.device is not META:
                target.node = constant(flat.byteswap() if swap else flat)
        missing = self.made.keys() - set(keys if isinstance(keys, list) else ())
        if missing:
            raise RuntimeError(f"the file has no bytes for {len(missing)} of its {len(self.made)} storages")


def load_legacy(file: Any, unpickle_plain: Unpickle, unpickle: Unpickle, map_location: Any) -> Any:
    """Read a file of the old format. ``unpickle_plain`` reads its header, ``unpickle`` its object."""
    start = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(start)
    try:
        magic = unpickle_plain(file, described_nowhere)
    except Exception:  # anything: the file has another format
        magic = None
    if magic is not None and magic != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    if magic is None:
        file.seek(start)
        tar = file.read(262)[257:] == b"ustar"
        raise pickle.UnpicklingError(
            "the file is a tar archive, as PyTorch wrote them before version 0.1.10"
            if tar
            else "Invalid magic number; corrupt file? It is neither a zip archive nor of PyTorch's older "
            "format."
        )
    version = unpickle_plain(file, described_nowhere)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    system = unpickle_plain(file, described_nowhere)
    storages = _Storages(map_location, end - file.tell())
    result = unpickle(file, storages)
    swap = isinstance(system, dict) and system.get("little_endian") is False
    storages.fill(file, unpickle_plain(file, described_nowhere), swap)
    return result


def described_nowhere(saved_id: Any) -> Any:
    """The header of a file names no storages."""
    raise pickle.UnpicklingError("the header of the file names a storage")


def save_legacy(file: Any, protocol: int, pickled: bytes, storages: list[tuple[Storage, dtype]]) -> None:
    """Write the old format: header, object, keys, and each storage with its number of elements."""
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, _SYSTEM):
        pickle.dump(part, file, protocol=protocol)
    file.write(pickled)
    pickle.dump([str(key) for key in range(len(storages))], file, protocol=protocol)
    for storage, of in storages:
        data = value_of(storage, "save").view(np.uint8)
        file.write((data.size // of.itemsize).to_bytes(8, "little"))
        file.write(data.data)
