"""``torch.FloatStorage`` and its kin: storages by the dtype of their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from .construct import from_array
from .storage_view import TypedStorage, UntypedStorage
from .tensor import Tensor

_FORMS = ("Expected one of:\n * no arguments\n * (int size)\n * (Sequence data)\n * (*, UntypedStorage "
          "wrap_storage)\n")


class _StorageType(type):
    """Calling one makes a TypedStorage; instances are the TypedStorages of its dtype."""

    dtype: dtypes.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __subclasscheck__(cls, other: Any) -> bool:
        return other is cls or (cls is STORAGES["Storage"] and isinstance(other, _StorageType))

    def __call__(cls, *args: Any, wrap_storage: UntypedStorage | None = None) -> TypedStorage:
        wrong = f"{cls}.__new__ received an invalid combination of arguments. " + _FORMS
        if len(args) > 1:
            raise RuntimeError(wrong + "Too many positional arguments")
        if wrap_storage is not None:
            return TypedStorage(wrap_storage=wrap_storage, dtype=cls.dtype)
        if args and not isinstance(args[0], (int, Sequence)):
            raise TypeError(wrong + f"Argument type not recognized: {type(args[0])}")
        return TypedStorage(*args, dtype=cls.dtype)

    def _holding(cls, array: Any) -> TypedStorage:
        held = from_array(np.ascontiguousarray(array))
        return TypedStorage(wrap_storage=UntypedStorage(_storage=held._storage), dtype=cls.dtype)

    def from_buffer(cls, buffer: Any, byte_order: str, count: int = -1, offset: int = 0) -> TypedStorage:
        """Elements copied from bytes in 'native', 'little' or 'big' order."""
        order: Any = {"native": "=", "little": "<", "big": ">"}[byte_order]
        kind = cls.dtype.numpy.newbyteorder(order) if cls.dtype.numpy.kind != "V" else cls.dtype.numpy
        return cls._holding(np.frombuffer(buffer, kind, count, offset).astype(cls.dtype.numpy))

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


_NAMES = {"BFloat16Storage": dtypes.bfloat16, "BoolStorage": dtypes.bool_, "ByteStorage": dtypes.uint8,
          "CharStorage": dtypes.int8, "ComplexDoubleStorage": dtypes.complex128,
          "ComplexFloatStorage": dtypes.complex64, "DoubleStorage": dtypes.float64,
          "FloatStorage": dtypes.float32, "HalfStorage": dtypes.float16, "IntStorage": dtypes.int32,
          "LongStorage": dtypes.int64, "ShortStorage": dtypes.int16}
STORAGES: dict[str, Any] = {}
STORAGES.update({name: _StorageType(name, (), {"dtype": kind, "__doc__": f"Elements of {kind}."})
                 for name, kind in _NAMES.items()})
STORAGES["Storage"] = STORAGES["FloatStorage"]


def storage_type(self: Tensor) -> Any:
    """The storage class of this tensor's dtype, such as ``torch.FloatStorage``.

    >>> import flambeau as torch
    >>> torch.ones(2).storage_type()
    <class 'torch.FloatStorage'>
    """
    return next((cls for cls in STORAGES.values() if cls.dtype is self.dtype), None)


Tensor.storage_type = storage_type  # type: ignore[attr-defined]
