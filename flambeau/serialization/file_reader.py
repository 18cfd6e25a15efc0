"""``torch.PyTorchFileReader``: the records of a checkpoint, one by one."""

from __future__ import annotations

import os
from typing import Any

from .. import dtypes
from ..operators.creation.factories import from_numpy
from ..tensor import Tensor
from .archive import Archive


class PyTorchFileReader:
    """Reads records of a file in PyTorch's zip format by name.

    >>> import flambeau as torch, io
    >>> file = io.BytesIO()
    >>> torch.save({"x": torch.ones(2)}, file)
    >>> torch.PyTorchFileReader(file).get_record("version")
    b'3\\n'
    """

    def __init__(self, name_or_buffer: str | os.PathLike[str] | Any) -> None:
        self._own = isinstance(name_or_buffer, (str, os.PathLike))
        if not self._own:
            self._archive = Archive(name_or_buffer)
            return
        path = os.fspath(name_or_buffer)
        try:
            file = open(path, "rb")
        except OSError as error:
            raise RuntimeError(f"open file failed because of errno {error.errno} on fopen: "
                               f"{error.strerror}, file path: {path}") from None
        try:
            self._archive = Archive(file, path)
        except Exception:
            file.close()
            raise

    def __del__(self) -> None:
        if getattr(self, "_own", False) and hasattr(self, "_archive"):
            self._archive.file.close()

    def get_all_records(self) -> list[str]:
        """The names of the records.

        >>> import flambeau as torch
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save(torch.ones(2), file)
        >>> "data/0" in torch.PyTorchFileReader(io.BytesIO(file.getvalue())).get_all_records()
        True
        """
        prefix = self._archive.prefix
        return [name[len(prefix):] for name in self._archive.records if name.startswith(prefix)]

    def has_record(self, name: str) -> bool:
        """Whether there is such a record.

        >>> import flambeau as torch
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save(torch.ones(2), file)
        >>> torch.PyTorchFileReader(io.BytesIO(file.getvalue())).has_record("data.pkl")
        True
        """
        return self._archive.has(name)

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        return self._archive.read(name)

    def get_record_size(self, name: str) -> int:
        """How many bytes a record has."""
        return self._archive.size(name)

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Tensor:
        """An empty tensor whose storage is a record of ``numel`` elements (bytes, if untyped)."""
        of = dtype if isinstance(dtype, dtypes.dtype) else dtypes.uint8
        need, size = numel * of.itemsize, self._archive.size(name)
        if need != size:
            raise RuntimeError(f"record size ({size} bytes) does not match expected size ({need} bytes = "
                               f"{numel} elements * {of.itemsize} bytes/element) for dtype "
                               f"{dtypes.SCALAR_NAMES[of]}")
        whole: Tensor = from_numpy(self._archive.array(name, of, numel, mapped=False))
        return whole[:0]


__all__ = ["PyTorchFileReader"]
