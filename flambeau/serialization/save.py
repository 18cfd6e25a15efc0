"""Writing checkpoints: a zip archive with a pickle of the structure and a record of bytes for each storage."""

from __future__ import annotations

import io
import os
import pickle
import struct
import tempfile
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

from .. import _utils, dtypes
from ..engine import value_of
from ..graph.storage import Storage
from ..nn.parameter import Parameter
from ..tensor import Tensor
from .names import STORAGE_NAMES, StorageType, public_name

_ALIGNMENT = 64


class _StorageReference:
    """A storage as seen by a tensor of some dtype: written as a persistent id."""

    def __init__(self, storage: Storage, dtype: dtypes.dtype) -> None:
        self.storage = storage
        self.dtype = dtype


class _Pickler(pickle._Pickler):  # type: ignore[misc,name-defined]
    """Writes globals under PyTorch's names, and storages as references to records.

    The pure-Python pickler is used because only it lets a global's name be chosen.
    """

    def __init__(self, file: Any, protocol: int) -> None:
        super().__init__(file, protocol)
        self.keys: dict[int, str] = {}
        self.storages: list[Storage] = []

    def persistent_id(self, obj: Any) -> Any:
        """The id of a storage; other objects have none."""
        if not isinstance(obj, _StorageReference):
            return None
        storage = obj.storage
        key = self.keys.get(id(storage))
        if key is None:
            key = self.keys[id(storage)] = str(len(self.storages))
            self.storages.append(storage)
        held = storage.geometry
        numel = held.numel * held.dtype.itemsize // obj.dtype.itemsize
        return "storage", StorageType(STORAGE_NAMES.get(obj.dtype, "UntypedStorage")), key, str(held.device), numel

    def reducer_override(self, obj: Any) -> Any:
        """How tensors and the stand-ins for storage types are written."""
        if isinstance(obj, StorageType):
            return obj.name
        if isinstance(obj, Tensor):
            return _reduce_tensor(obj)
        return NotImplemented

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """A global under the name it has in PyTorch."""
        module, qualified = public_name(obj, name)
        if module.split(".")[0] != "torch":
            super().save_global(obj, name)
            return
        self.write(pickle.GLOBAL + f"{module}\n{qualified}\n".encode())
        self.memoize(obj)

    dispatch = dict(pickle._Pickler.dispatch)  # type: ignore[attr-defined]


def _save_type(self: _Pickler, obj: Any) -> None:
    if obj in (type(None), type(NotImplemented), type(...)):
        pickle._Pickler.save_type(self, obj)  # type: ignore[attr-defined]
    else:
        self.save_global(obj)


_Pickler.dispatch[type] = _save_type
_Pickler.dispatch[type(_save_type)] = _Pickler.save_global


def _reduce_tensor(x: Tensor) -> Any:
    """The call that makes a tensor again."""
    hooks: OrderedDict[Any, Any] = OrderedDict()
    if isinstance(x, Parameter):
        plain = x.detach()
        return _utils._rebuild_parameter, (plain, x.requires_grad, hooks)
    g = x._geometry
    if g.device.type == "meta":
        return _utils._rebuild_meta_tensor_no_storage, (g.dtype, tuple(g.shape), g.strides, x.requires_grad)
    reference = _StorageReference(x._storage, g.dtype)
    arguments = (reference, g.offset, tuple(g.shape), g.strides, x.requires_grad, hooks)
    if g.dtype in STORAGE_NAMES:
        made: Any = (_utils._rebuild_tensor_v2, arguments)
    else:
        made = (_utils._rebuild_tensor_v3, (_StorageReference(x._storage, dtypes.uint8), *arguments[1:], g.dtype))
    if type(x) is not Tensor:
        return _utils._rebuild_from_type_v2, (made[0], type(x), made[1], dict(_own_attributes(x)))
    return made


def _own_attributes(x: Tensor) -> dict[str, Any]:
    return {name: value for name, value in vars(x).items() if not hasattr(Tensor, name) and name[0] != "_"}


def save(obj: Any, f: Any, pickle_module: Any = pickle, pickle_protocol: int = 2,
         _use_new_zipfile_serialization: bool = True, _disable_byteorder_record: bool = False) -> None:
    """Save an object to a path (atomically: a failure leaves the old file) or a binary file.

    >>> import io; import flambeau as torch
    >>> file = io.BytesIO(); torch.save({"x": torch.ones(2)}, file)
    >>> _ = file.seek(0); torch.load(file)
    {'x': tensor([1., 1.])}
    """
    if not isinstance(f, (str, os.PathLike)):
        if not hasattr(f, "write"):
            raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
        _write_archive(obj, f, "archive", pickle_protocol)
        return
    path = Path(f)
    if not path.absolute().parent.is_dir():
        raise RuntimeError(f"Parent directory {path.parent} does not exist.")
    if path.is_dir():
        raise IsADirectoryError(f"[Errno 21] Is a directory: '{path}'")
    handle, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            _write_archive(obj, file, path.stem or "archive", pickle_protocol)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _write_archive(obj: Any, file: Any, name: str, protocol: int) -> None:
    buffer = io.BytesIO()
    pickler = _Pickler(buffer, protocol)
    pickler.dump(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _record(archive, f"{name}/data.pkl", buffer.getvalue())
        _record(archive, f"{name}/.format_version", b"1")
        _record(archive, f"{name}/.storage_alignment", str(_ALIGNMENT).encode())
        _record(archive, f"{name}/byteorder", b"little")
        for key, storage in enumerate(pickler.storages):
            _record(archive, f"{name}/data/{key}", memoryview(value_of(storage, "save").view("u1")))
        _record(archive, f"{name}/version", b"3\n")


def _record(archive: zipfile.ZipFile, name: str, data: Any) -> None:
    """A stored record whose bytes begin at a multiple of 64, so that it can be memory-mapped."""
    info = zipfile.ZipInfo(name)
    start = archive.fp.tell() + zipfile.sizeFileHeader + len(name.encode())  # type: ignore[union-attr]
    padding = -(start + 4) % _ALIGNMENT
    info.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
    archive.writestr(info, data)
