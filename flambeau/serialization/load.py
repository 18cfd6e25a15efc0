"""Reading checkpoints. Nothing in a file is trusted: sizes, offsets and names are checked before they are used."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import devices
from .._utils import LoadedStorage
from ..graph.geometry import contiguous
from ..graph.node import constant
from ..graph.storage import Storage
from .names import StorageType, find
from .safety import RestrictedUnpickler, UnsafeGlobal

_FAILED = ("Weights only load failed. This file can still be loaded, to do so you have two options, do those steps only if you "
           "trust the source of the checkpoint.\n\t(1) Re-running `torch.load` with `weights_only` set to `False` will likely "
           "succeed, but it can result in arbitrary code execution. Do it only if you got the file from a trusted source.\n\t"
           "(2) Alternatively, to load with `weights_only=True` please check the recommended steps in the following error "
           "message.\n\tWeightsUnpickler error: ")


class _Archive:
    """An open checkpoint: its records, and the storages made from them so far."""

    def __init__(self, file: Any, path: str | None, mmap: bool, map_location: Any) -> None:
        try:
            self.zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {error}") from None
        names = self.zip.namelist()
        pickles = [n for n in names if n.endswith("/data.pkl") and n.count("/") == 1]
        if not pickles:
            raise RuntimeError("PytorchStreamReader failed locating file data.pkl: file not found")
        self.prefix = pickles[0][:-len("data.pkl")]
        self.file, self.path, self.mmap, self.map_location = file, path, mmap, map_location
        self.storages: dict[str, Storage] = {}
        self.swap = self._byte_order() == "big"

    def _byte_order(self) -> str:
        if self.prefix + "byteorder" not in self.zip.namelist():
            return "little"
        order = self.read("byteorder").decode("ascii", "replace")
        if order not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {order}")
        return order

    def read(self, name: str) -> bytes:
        """The bytes of a record."""
        try:
            return self.zip.read(self.prefix + name)
        except KeyError:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found") from None
        except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: {error}") from None

    def load_storage(self, saved_id: Any) -> LoadedStorage:
        """The storage of a persistent id ('storage', type, key, location, number of elements)."""
        if not isinstance(saved_id, tuple) or len(saved_id) != 5 or saved_id[0] != "storage":
            raise RuntimeError(f"Unknown typename for persistent_load, expected 'storage' but got {str(saved_id)[:80]}")
        _, kind, key, location, numel = saved_id
        if not isinstance(kind, StorageType) or not isinstance(key, str) or type(numel) is not int or numel < 0:
            raise RuntimeError("a storage in the file is described by something else than type, key, location and size")
        device = self._device(location)
        if key not in self.storages:
            self.storages[key] = self._make(key, kind, numel, device)
        return LoadedStorage(self.storages[key], kind.dtype, device)

    def _device(self, location: Any) -> Any:
        wanted = self.map_location
        if isinstance(wanted, dict):
            wanted = wanted.get(location, location)
        elif wanted is None:
            wanted = location
        elif callable(wanted):
            answer = wanted(None, location)
            wanted = location if answer is None else getattr(answer, "device", "cpu")
        found = devices.device(str(wanted))
        if found.type == "cuda":
            raise RuntimeError(
                "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running "
                "on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the "
                "CPU.")
        return devices.resolve(found)

    def _make(self, key: str, kind: StorageType, numel: int, device: Any) -> Storage:
        dtype = kind.dtype
        geometry = contiguous((numel,), dtype, device)
        if device is devices.META:
            return Storage(constant(None), geometry)
        need = numel * dtype.itemsize
        name = f"data/{key}"
        info = self.zip.NameToInfo.get(self.prefix + name)
        if info is not None and info.file_size < need:
            raise RuntimeError(f"the record {name} has {info.file_size} bytes, but the storage needs {need}")
        flat = self._mapped(info, dtype, numel) if self.mmap and info is not None and self.path is not None \
            else np.frombuffer(bytearray(self.read(name)), np.uint8)[:need].view(dtype.numpy)
        if self.swap:
            flat = flat.byteswap()
        storage = Storage(constant(flat if flat.flags.owndata else flat.copy() if not self.mmap else flat), geometry)
        return storage

    def _mapped(self, info: zipfile.ZipInfo, dtype: Any, numel: int) -> Any:
        """A private mapping of a record's bytes: pages are read when they are needed."""
        assert self.path is not None
        with open(self.path, "rb") as file:
            file.seek(info.header_offset)
            header = file.read(30)
        start = info.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        if numel == 0:
            return np.zeros(0, dtype.numpy)
        return np.memmap(self.path, np.uint8, "c", start, (numel * dtype.itemsize,)).view(dtype.numpy).view(np.ndarray)


class _TrustingUnpickler(pickle.Unpickler):
    """Loads anything, and so can run anything: for files one trusts."""

    def __init__(self, file: Any, load_storage: Callable[[Any], Any], **options: Any) -> None:
        super().__init__(file, **options)
        self.load_storage = load_storage

    def find_class(self, module: str, name: str) -> Any:
        """Names of PyTorch's are found here under flambeau's."""
        return find(module, name) if module.split(".")[0] == "torch" else super().find_class(module, name)

    def persistent_load(self, saved_id: Any) -> Any:
        """The storage that an id names."""
        return self.load_storage(saved_id)


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: bool | None = None,
         mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """Load what ``save`` (PyTorch's or flambeau's) wrote, from a path or a binary file.

    With ``weights_only`` (the default) nothing in the file can run code: tensors, numbers, strings and plain containers are
    loaded, anything else raises ``pickle.UnpicklingError``. ``weights_only=False`` runs what the file says: only for files
    one trusts.
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if isinstance(f, (str, os.PathLike)):
        path = str(f)
        with open(path, "rb") as file:
            return _load(file, path, map_location, weights_only, bool(mmap), pickle_load_args)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    if not hasattr(f, "read"):
        raise AttributeError(f"'{type(f).__name__}' object has no attribute 'read'. You can only torch.load from a file that is "
                             "seekable. Please pre-load the data into a buffer like io.BytesIO and try to load from it instead.")
    return _load(f, None, map_location, weights_only, False, pickle_load_args)


def _load(file: Any, path: str | None, map_location: Any, weights_only: bool, mmap: bool,
          options: dict[str, Any]) -> Any:
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    if not head:
        raise EOFError("Ran out of input")
    if head[:2] != b"PK":
        return _load_other(file, weights_only)
    archive = _Archive(file, path, mmap, map_location)
    data = io.BytesIO(archive.read("data.pkl"))
    if not weights_only:
        return _TrustingUnpickler(data, archive.load_storage, **options).load()
    return _restricted(data, archive.load_storage)


def _restricted(data: Any, load_storage: Callable[[Any], Any]) -> Any:
    try:
        return RestrictedUnpickler(data, load_storage).load()
    except UnsafeGlobal as error:
        raise pickle.UnpicklingError(_FAILED + str(error)) from None
    except (pickle.UnpicklingError, RuntimeError, EOFError):
        raise
    except RecursionError:
        raise pickle.UnpicklingError(_FAILED + "the pickle is nested too deeply") from None
    except Exception as error:  # a damaged pickle fails in any way
        raise pickle.UnpicklingError(_FAILED + f"{type(error).__name__}: {error}") from None


def _load_other(file: Any, weights_only: bool) -> Any:
    """A file that is no zip archive: PyTorch's format before 1.6 is a row of pickles."""
    if not weights_only:
        raise RuntimeError("flambeau reads PyTorch's zip format; this file has another one. Save it again with PyTorch 1.6 or "
                           "later.")
    raise pickle.UnpicklingError(_FAILED + "the file is not a zip archive, or it is damaged")


__all__ = ["Path", "load"]
