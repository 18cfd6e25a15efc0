"""``FileStore``: a store in a file, for processes that share a disk.

The file is a list of records: a key and its new value, or that it is gone. Each operation locks the file,
reads what others have added since, and appends its own record, so the file of a run says all that happened.
"""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .stores import Store, remaining
from .table import Table

_HEAD = struct.Struct("<Bqq")  # whether it is a value, length of the key, length of the value
_USERS = "efcount/"
_PAUSE = 0.01


class FileStore(Store):
    """A store in a file; the last one of a process deletes the file.

    >>> import tempfile
    >>> import flambeau as torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = torch.distributed.FileStore(f"{folder}/store", 1)
    ...     store.set("epoch", "3")
    ...     torch.distributed.FileStore(f"{folder}/store", 1).get("epoch")
    b'3'
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self._path, self._table, self._read = file_name, Table(), 0
        self._do("add", _USERS, 1)

    @property
    def path(self) -> str:
        """The file."""
        return self._path

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        import fcntl  # not on every system: only who makes a FileStore needs it
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            self._follow(file)
            yield file
        finally:
            os.close(file)

    def _follow(self, file: int) -> None:
        """Apply the records that are new."""
        data = os.pread(file, os.fstat(file).st_size - self._read, self._read)
        at = 0
        while at < len(data):
            there, key_length, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            key = data[at:at + key_length].decode()
            at += key_length
            if there:
                self._table.set(key, data[at:at + length])
            else:
                self._table.delete_key(key)
            at += length
        self._read += at

    def _do(self, name: str, *args: Any) -> Any:
        if name.startswith("queue"):
            raise NotImplementedError("queue support is not implemented.")
        if name in ("get", "wait", "multi_get"):
            return self._waiting(name, *args)
        with self._locked() as file:
            result = getattr(self._table, name)(*args)
            if name not in ("check", "num_keys", "list_keys"):
                for key in args[0] if isinstance(args[0], list) else [args[0]]:
                    self._write(file, key)
        return True if name == "delete_key" else result

    def _write(self, file: int, key: str) -> None:
        there = self._table.check([key])
        value = self._table.get(key, 0) if there else b""
        name = key.encode()
        record = _HEAD.pack(there, len(name), len(value)) + name + value
        self._read += os.pwrite(file, record, self._read)

    def _waiting(self, name: str, keys: Any, seconds: float) -> Any:
        wanted, end = keys if isinstance(keys, list) else [keys], time.monotonic() + seconds
        while True:
            with self._locked():
                if self._table.check(wanted):
                    return getattr(self._table, name)(keys, 0)
            if not remaining(end):
                late = f"Timeout waiting for key: {wanted[0]} after {round(seconds * 1000)} ms"
                raise RuntimeError("Wait timeout" if name == "wait" else late)
            time.sleep(min(_PAUSE, remaining(end)))

    def clone(self) -> FileStore:
        """Another handle on the same file."""
        other = FileStore(self._path)
        other._time = self._time
        return other

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # while Python ends, or the file is gone
            if Path(self._path).exists() and self._do("add", _USERS, -1) <= 0:
                Path(self._path).unlink()
