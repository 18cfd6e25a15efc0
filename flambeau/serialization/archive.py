"""Reading the zip archive of a checkpoint. No size or offset in it is believed before it has been checked."""

from __future__ import annotations

import os
import zipfile
from typing import Any

import numpy as np

from ..dtypes import dtype
from .options import maps_shared, options

Array = np.ndarray[Any, Any]

_HEADER = 30  # bytes of a local file header without name and extra field
_BOMB_SIZE = 64 << 20  # compressed records larger than this ...
_BOMB_RATIO = 100  # ... and than this many times their compressed size are refused
_DAMAGED = (
    " The file is probably damaged: not saved to its end, not transferred completely, or changed since it "
    "was saved."
)


class Archive:
    """An open checkpoint and its records. ``path`` is given where records may be mapped into memory."""

    def __init__(self, file: Any, path: str | None = None) -> None:
        self.file, self.path = file, path
        self.length = file.seek(0, os.SEEK_END)
        try:
            self.zip = zipfile.ZipFile(file)
        except Exception as error:  # a damaged directory fails in many ways
            reason = (
                "failed finding central directory" if isinstance(error, zipfile.BadZipFile) else repr(error)
            )
            raise RuntimeError(
                f"PytorchStreamReader failed reading zip archive: {reason}.{_DAMAGED}"
            ) from None
        self.records = self.zip.NameToInfo
        if sum(info.compress_size for info in self.zip.infolist()) > self.length:
            raise RuntimeError(
                "PytorchStreamReader failed reading zip archive: its records claim more bytes than the "
                f"file has.{_DAMAGED}"
            )
        found = [name for name in self.records if name.endswith("/data.pkl") and name.count("/") == 1]
        if not found:
            raise RuntimeError(
                f"PytorchStreamReader failed locating file data.pkl: file not found.{_DAMAGED}"
            )
        self.prefix = found[0][: -len("data.pkl")]

    def has(self, name: str) -> bool:
        """Whether there is such a record."""
        return self.prefix + name in self.records

    def read(self, name: str) -> bytes:
        """The bytes of a record."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED:
            return self._inflate(info, name)
        self.file.seek(self._start(info, name))
        return self._complete(self.file.read(info.file_size), info, name)

    def size(self, name: str) -> int:
        """How many bytes a record has."""
        return self._info(name).file_size

    def array(self, name: str, of: dtype, count: int, mapped: bool) -> Array:
        """A record as ``count`` elements: read into memory, or mapped (pages are read when needed)."""
        info = self._info(name)
        need = count * of.itemsize
        if info.file_size != need:
            raise RuntimeError(
                f"record size ({info.file_size} bytes) does not match expected size ({need} bytes = {need} "
                "elements * 1 bytes/element) for dtype Byte"
            )
        if count == 0:
            return np.empty(0, of.numpy)
        if info.compress_type != zipfile.ZIP_STORED:
            return np.frombuffer(bytearray(self._inflate(info, name)), of.numpy)
        start = self._start(info, name)
        if options.skip_data:
            return np.empty(count, of.numpy)
        if mapped and self.path is not None and start % of.itemsize == 0:
            mode: Any = "r+" if maps_shared() else "c"
            view = np.memmap(self.path, np.uint8, mode, start, (need,)).view(np.ndarray)
            return view.view(of.numpy)
        self.file.seek(start)
        return read_array(self.file, of, count, f"PytorchStreamReader failed reading file {name}")

    def _info(self, name: str) -> zipfile.ZipInfo:
        info = self.records.get(self.prefix + name)
        if info is None:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found.{_DAMAGED}")
        if info.compress_type == zipfile.ZIP_STORED and info.file_size != info.compress_size:
            raise self._failure(name, "its two sizes differ")
        return info

    def _start(self, info: zipfile.ZipInfo, name: str) -> int:
        """Where the bytes of a stored record begin; it is sure that they end within the file."""
        if not 0 <= info.header_offset <= self.length - _HEADER or info.flag_bits & 1:
            raise self._failure(name, "its header is out of bounds or it is encrypted")
        self.file.seek(info.header_offset)
        header = self.file.read(_HEADER)
        if header[:4] != b"PK\3\4":
            raise self._failure(name, "it has no header")
        start = info.header_offset + _HEADER
        start += int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        if start + info.file_size > self.length:
            raise self._failure(name, "it is longer than the file")
        return start

    def _inflate(self, info: zipfile.ZipInfo, name: str) -> bytes:
        """A compressed record, as archives have that were packed again by other tools."""
        if info.file_size > max(_BOMB_SIZE, _BOMB_RATIO * info.compress_size):
            raise self._failure(name, f"{info.compress_size} compressed bytes claim to be {info.file_size}")
        try:
            with self.zip.open(info) as record:
                return self._complete(record.read(info.file_size), info, name)
        except Exception as error:  # of zlib, zipfile, struct, ...
            raise self._failure(name, str(error)) from None

    def _complete(self, data: bytes, info: zipfile.ZipInfo, name: str) -> bytes:
        if len(data) != info.file_size:
            raise self._failure(name, "it is shorter than it claims")
        return data

    @staticmethod
    def _failure(name: str, reason: str) -> RuntimeError:
        return RuntimeError(f"PytorchStreamReader failed reading file {name}: {reason}.{_DAMAGED}")


def read_array(file: Any, of: dtype, count: int, failure: str) -> Array:
    """The next ``count`` elements of a file, read straight into an array."""
    flat = np.empty(count, of.numpy)
    room = memoryview(flat.view(np.uint8).data)
    done = 0
    while done < len(room):
        if hasattr(file, "readinto"):
            got = file.readinto(room[done:])
        else:
            data = file.read(len(room) - done)
            got = len(data)
            room[done : done + got] = data
        if not got:
            raise RuntimeError(f"{failure}: unexpected end of the file.{_DAMAGED}")
        done += got
    return flat
