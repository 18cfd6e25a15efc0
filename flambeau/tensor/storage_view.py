"""Storages as users see them: ``UntypedStorage`` (bytes) and ``TypedStorage`` (elements)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import devices, dtypes
from ..engine import address, expose, value_of
from ..graph.geometry import contiguous
from ..graph.node import constant
from ..graph.storage import Storage
from . import shared_memory

Array = np.ndarray[Any, Any]


def _zeros(count: int, dtype: dtypes.dtype) -> Storage:
    return Storage(constant(np.zeros(count, dtype.numpy)), contiguous((count,), dtype))


class StorageBase:
    """What a storage of bytes is an instance of."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is StorageBase:
            raise RuntimeError("Cannot directly construct StorageBase; subclass it and then construct that")
        return object.__new__(cls)


class UntypedStorage(StorageBase):
    """The bytes that a tensor and its views share.

    >>> import flambeau as torch
    >>> torch.zeros(2, 3).untyped_storage().nbytes()
    24
    """

    __slots__ = ("_storage",)

    is_cuda = is_sparse = False

    def __init__(self, size: int = 0, *, device: Any = None, _storage: Storage | None = None) -> None:
        self._storage = _zeros(size, dtypes.uint8) if _storage is None else _storage

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file, mapped into memory; with ``shared`` writes go to the file."""
        if nbytes == 0:
            return cls()
        mapped = np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(nbytes,))
        return cls(_storage=Storage(constant(np.asarray(mapped)), contiguous((nbytes,), dtypes.uint8)))

    @property
    def device(self) -> devices.device:
        """Where the bytes live."""
        return self._storage.geometry.device

    @property
    def _cdata(self) -> int:
        return id(self._storage)

    def nbytes(self) -> int:
        """Number of bytes.

        >>> import flambeau as torch
        >>> torch.ones(3).untyped_storage().nbytes()
        12
        """
        held = self._storage.geometry
        return held.nbytes

    size = __len__ = nbytes

    def element_size(self) -> int:
        """Bytes of one element: 1.

        >>> import flambeau as torch
        >>> torch.ones(3).untyped_storage().element_size()
        1
        """
        return 1

    def __reduce__(self) -> tuple[Any, ...]:
        return _reduced(self)

    def data_ptr(self) -> int:
        """Address of the first byte."""
        if self.device is devices.META or self.nbytes() == 0:
            return 0
        return address(self._storage)

    def _bytes(self) -> Array:
        return value_of(self._storage, "storage").view(np.uint8)

    def tolist(self) -> list[int]:
        """The bytes as integers.

        >>> import flambeau as torch
        >>> torch.tensor([1, 2], dtype=torch.uint8).untyped_storage().tolist()
        [1, 2]
        """
        return self._bytes().tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        found = self._bytes()[index]
        if not isinstance(index, slice):
            return int(found)
        made = _zeros(len(found), dtypes.uint8)
        made.node = constant(found.copy())
        return UntypedStorage(_storage=made)

    def __setitem__(self, index: Any, value: Any) -> None:
        expose(self._storage, "storage").view(np.uint8)[index] = value
        self._storage.version += 1

    def resize_(self, size: int) -> UntypedStorage:
        """Change the number of bytes, keeping what fits.

        >>> import flambeau as torch
        >>> storage = torch.tensor([1, 2], dtype=torch.uint8).untyped_storage()
        >>> _ = storage.resize_(1); storage.tolist()
        [1]
        """
        storage, held = self._storage, self._storage.geometry
        count = -(-size // held.dtype.itemsize)
        if self.device is not devices.META:
            flat = np.zeros(count, held.dtype.numpy)
            kept = min(count, held.numel)
            flat[:kept] = value_of(storage, "resize_")[:kept]
            storage.node, storage.exposed, storage.owner = constant(flat), False, None
        storage.geometry = contiguous((count,), held.dtype, held.device)
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> UntypedStorage:
        """Take the bytes of another storage.

        >>> import flambeau as torch
        >>> storage = torch.UntypedStorage(2)
        >>> _ = storage.copy_(torch.tensor([3, 4], dtype=torch.uint8).untyped_storage()); storage.tolist()
        [3, 4]
        """
        expose(self._storage, "storage").view(np.uint8)[:] = source.untyped()._bytes()
        self._storage.version += 1
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Set all bytes.

        >>> import flambeau as torch
        >>> storage = torch.UntypedStorage(2)
        >>> _ = storage.fill_(7); storage.tolist()
        [7, 7]
        """
        self[:] = value
        return self

    def clone(self) -> UntypedStorage:
        """A copy.

        >>> import flambeau as torch
        >>> x = torch.tensor([1, 2], dtype=torch.uint8)
        >>> copy = x.untyped_storage().clone()
        >>> _ = x.zero_(); copy.tolist()
        [1, 2]
        """
        held = self._storage.geometry
        made = Storage(constant(value_of(self._storage, "clone").copy()), held)
        return UntypedStorage(_storage=made)

    def cpu(self) -> UntypedStorage:
        """This storage: it is on the CPU."""
        return self

    def untyped(self) -> UntypedStorage:
        """This storage."""
        return self

    def is_shared(self) -> bool:
        """Whether other processes share the memory.

        >>> import flambeau as torch
        >>> x = torch.ones(1)
        >>> x.untyped_storage().is_shared(), x.share_memory_().untyped_storage().is_shared()
        (False, True)
        """
        return shared_memory.is_shared(self._storage)

    def share_memory_(self) -> UntypedStorage:
        """Move the bytes to memory that processes share."""
        shared_memory.share(self._storage)
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked: no."""
        return False

    def type(self, dtype: Any = None) -> str:
        """``torch.UntypedStorage``."""
        return "torch.UntypedStorage"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._storage is self._storage

    def __hash__(self) -> int:
        return hash(id(self._storage))

    def __repr__(self) -> str:
        text = "..." if self.device is devices.META else " " + "\n ".join(map(str, self.tolist()))
        return text + f"\n[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"


_INVALID_STORAGE = (
    "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:\n"
    " * (*, torch.device device, torch.dtype dtype)\n"
    " * (int size, *, torch.device device, torch.dtype dtype)\n"
    " * (Sequence data, *, torch.device device, torch.dtype dtype)\n"
    " * (*, UntypedStorage wrap_storage, torch.dtype dtype)\n")


def _stored(contents: tuple[Any, ...], dtype: dtypes.dtype) -> UntypedStorage:
    """Nothing, so many zeros, or the values of a sequence."""
    given = contents[0] if contents else 0
    if isinstance(given, str):
        raise TypeError("new(): invalid data type 'str'")
    if not isinstance(given, (int, Sequence)):
        raise RuntimeError(f"{_INVALID_STORAGE}Argument type not recognized: {type(given)}")
    values = np.zeros(given) if isinstance(given, int) else np.asarray(given)
    held = np.ascontiguousarray(values.astype(dtype.numpy))
    return UntypedStorage(_storage=Storage(constant(held), contiguous(held.shape, dtype)))


def _reduced(storage: Any) -> tuple[Any, ...]:
    """The call that pickles of PyTorch's storages make."""
    from ..serialization import save  # made of storages
    from ..storage import _load_from_bytes  # the same
    file = io.BytesIO()
    save(storage, file, _use_new_zipfile_serialization=False)
    return _load_from_bytes, (file.getvalue(),)


class TypedStorage:
    """A storage read as elements of one dtype.

    >>> import flambeau as torch
    >>> torch.tensor([1., 2.]).storage().tolist()
    [1.0, 2.0]
    """

    __slots__ = ("_untyped_storage", "dtype")

    is_cuda = is_sparse = False

    def __init__(self, *contents: Any, wrap_storage: UntypedStorage | None = None, device: Any = None,
                 dtype: dtypes.dtype | None = None, _internal: bool = False) -> None:
        if len(contents) > 1:
            raise RuntimeError(_INVALID_STORAGE + "Too many positional arguments")
        self.dtype = dtype or dtypes.get_default_dtype()
        self._untyped_storage = _stored(contents, self.dtype) if wrap_storage is None else wrap_storage

    def _array(self) -> Array:
        return self._untyped_storage._bytes().view(self.dtype.numpy)

    @property
    def _storage(self) -> Storage:
        return self._untyped_storage._storage

    @property
    def device(self) -> devices.device:
        """Where the elements live."""
        return self._untyped_storage.device

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def size(self) -> int:
        """Number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    __len__ = size

    def nbytes(self) -> int:
        """Number of bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def __reduce__(self) -> tuple[Any, ...]:
        return _reduced(self)

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self._untyped_storage.data_ptr()

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        array = self._array()
        if self.dtype in dtypes.LOW_PRECISION or self.dtype is dtypes.complex32:
            array = dtypes.converted(array, np.complex64 if self.dtype.is_complex else np.float32)
        return array.tolist()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        item = self._array()[index].item()
        return complex(*item) if self.dtype is dtypes.complex32 else item

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.dtype is dtypes.complex32:
            value = (value.real, value.imag)
        expose(self._storage, "storage").view(np.uint8).view(self.dtype.numpy)[index] = value
        self._storage.version += 1

    def resize_(self, size: int) -> TypedStorage:
        """Change the number of elements, keeping what fits."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def clone(self) -> TypedStorage:
        """A copy."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def cpu(self) -> TypedStorage:
        """This storage: it is on the CPU."""
        return self

    def is_shared(self) -> bool:
        """Whether other processes share the memory."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> TypedStorage:
        """Move the elements to memory that processes share."""
        self._untyped_storage.share_memory_()
        return self

    def pickle_storage_type(self) -> str:
        """The name of the storage type in checkpoints."""
        return self.type().rsplit(".", 1)[-1]

    def type(self, dtype: Any = None) -> str:
        """Such as ``torch.FloatStorage``."""
        return f"torch.{dtypes.SCALAR_NAMES[self.dtype]}Storage"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and other._storage is self._storage

    def __hash__(self) -> int:
        return hash(id(self._storage))

    def __repr__(self) -> str:
        text = "..." if self.device is devices.META else " " + "\n ".join(map(str, self.tolist()))
        return (
            text
            + f"\n[torch.storage.TypedStorage(dtype={self.dtype!r}, device={self.device}) of size "
              f"{len(self)}]"
        )
