"""Writing checkpoints: a zip archive with a pickle of the structure and a record of bytes per storage."""

from __future__ import annotations

import contextlib
import os
import pickle
import secrets
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..dtypes import dtype
from ..engine import value_of
from ..graph.storage import Storage
from .legacy import save_legacy
from .options import options
from .pickling import pickled

_NO_FILE = "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
_ZIP64_EXTRA = 20  # bytes that zipfile puts into the header of a large record
_ZIP64_FROM = zipfile.ZIP64_LIMIT / 1.05


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Save an object to a path (atomically: a failure leaves the old file) or a binary file.

    >>> import io; import flambeau as torch
    >>> file = io.BytesIO(); torch.save({"x": torch.ones(2)}, file)
    >>> _ = file.seek(0); torch.load(file)
    {'x': tensor([1., 1.])}
    """
    is_path = isinstance(f, (str, os.PathLike))
    if not is_path and not hasattr(f, "write"):
        raise AttributeError(_NO_FILE)
    legacy = not _use_new_zipfile_serialization
    if legacy and options.skip_data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    data, storages = pickled(obj, pickle_module, pickle_protocol, legacy)
    name = _archive_name(Path(f)) if is_path else "archive"

    def write(file: Any) -> None:
        if legacy:
            save_legacy(file, pickle_protocol, data, storages)
        else:
            _write_archive(file, name, data, storages, _disable_byteorder_record)

    if is_path:
        with _replacing(Path(f)) as file:
            write(file)
    else:
        write(f if legacy else _Sink(f))
        if hasattr(f, "flush"):  # who reads it next may do so by its name
            f.flush()


def _archive_name(path: Path) -> str:
    return path.stem if path.stem.isascii() and path.stem else "archive"


class _Sink:
    """A file of which only ``write`` is asked: sockets and compressed files can do no more."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.position = 0

    def write(self, data: Any) -> int:
        """Write bytes."""
        self.file.write(data)
        self.position += len(data)
        return len(data)

    def tell(self) -> int:
        """How many bytes have been written: the archive begins where the file stood."""
        return self.position

    def flush(self) -> None:
        """Nothing is kept here."""


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Any]:
    """A new file that takes the place of ``path`` when it is complete, and vanishes when that fails."""
    with contextlib.suppress(OSError):
        path = path.resolve()  # a link stays, its target is replaced
    if not path.parent.is_dir():
        raise RuntimeError(f"Parent directory {path.parent} does not exist.")
    old = _mode(path)
    if old is not None and stat.S_ISDIR(old):
        raise RuntimeError(f"open file failed with strerror: Is a directory: '{path}'")
    if old is not None and not stat.S_ISREG(old):  # a device or a pipe cannot be replaced
        with open(path, "wb") as file:
            yield file
        return
    temporary = path.parent / f".{path.name[:200]}.{secrets.token_hex(6)}.tmp"
    try:
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    except OSError as error:
        raise RuntimeError(f"open file failed with strerror: {error.strerror}: '{temporary}'") from error
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if old is not None:
            os.chmod(temporary, stat.S_IMODE(old))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except OSError:
        return None


def _write_archive(
    file: Any, name: str, data: bytes, storages: list[tuple[Storage, dtype]], without_byteorder: bool
) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _record(archive, f"{name}/data.pkl", data)
        _record(archive, f"{name}/.format_version", b"1")
        _record(archive, f"{name}/.storage_alignment", str(options.storage_alignment).encode())
        if not without_byteorder:
            _record(archive, f"{name}/byteorder", b"little")
        for key, (storage, _) in enumerate(storages):
            if options.skip_data:
                _record(archive, f"{name}/data/{key}", bytes(storage.size * storage.geometry.dtype.itemsize))
                continue
            flat = _little(value_of(storage, "save"))
            _record(archive, f"{name}/data/{key}", flat.view(np.uint8).data)
        _record(archive, f"{name}/version", b"3\n")


def _little(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return value.byteswap() if np.little_endian is False else value


def _record(archive: Any, name: str, data: Any) -> None:
    """A stored record whose bytes begin at a multiple of 64, so that it can be memory-mapped.

    What ``ZipFile.writestr`` does, in one go: it would come back to the header when the bytes are written.
    """
    info = zipfile.ZipInfo(name)
    start = archive.fp.tell() + zipfile.sizeFileHeader + len(name.encode())  # type: ignore[attr-defined]
    if len(data) > _ZIP64_FROM:
        start += _ZIP64_EXTRA
    padding = -(start + 4) % options.storage_alignment
    info.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
    file = archive.fp
    info.CRC = zlib.crc32(data) if options.crc32 else 0
    info.file_size = info.compress_size = len(data)
    info.header_offset = file.tell()
    file.write(info.FileHeader(len(data) > _ZIP64_FROM))
    file.write(data)
    archive.filelist.append(info)
    archive.NameToInfo[info.filename] = info
    archive.start_dir = file.tell()  # where the directory will be written
    archive._didModify = True
