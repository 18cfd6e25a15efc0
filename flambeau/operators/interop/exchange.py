"""Memory shared with others: NumPy's array protocol, DLPack, storages and addresses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...devices import META
from ...engine import address
from ...tensor import Tensor
from ...tensor.aliasing.turned import is_turned, root
from ...tensor.construct import from_array, shared
from ...tensor.storage_view import TypedStorage, UntypedStorage
from ...tensor.warned import warn_once
from ..declaration.registry import NAMESPACES, api


@api("Tensor", name="__array__")
def to_numpy_array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """NumPy's protocol: ``numpy.asarray(x)``."""
    array = self.numpy()
    if dtype is not None and array.dtype != np.dtype(dtype):
        return array.astype(dtype)
    return array.copy() if copy else array


@api("Tensor", name="__array_wrap__")
def from_numpy_result(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """NumPy's protocol: results of its functions on a tensor are tensors again; truth values are 0 and 1."""
    return from_array(np.array(array, dtype=np.uint8 if array.dtype == np.bool_ else None))


# --- addresses and storages ---------------------------------------------------------------------------------


@api("Tensor")
def data_ptr(self: Tensor) -> int:
    """Address of the first element.

    Views of one storage have addresses some elements apart.

    >>> import flambeau as torch
    >>> x = torch.zeros(3)
    >>> x[1:].data_ptr() - x.data_ptr()
    4
    """
    g = self._geometry
    if g.device is META or g.numel == 0:
        return 0
    return address(root(self._storage)) + g.offset * g.dtype.itemsize


@api("Tensor")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes that this tensor shares with its views.

    >>> import flambeau as torch
    >>> torch.ones(3).untyped_storage().nbytes()
    12
    """
    return UntypedStorage(_storage=root(self._storage))


@api("Tensor", aliases=("_typed_storage",))
def storage(self: Tensor) -> TypedStorage:
    """The elements that this tensor shares with its views.

    >>> import flambeau as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> list(torch.arange(3).storage())
    [0, 1, 2]
    """
    warn_once("TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the "
              "only storage class. This should only matter to you if you are using storages directly.  To "
              "access UntypedStorage directly, use tensor.untyped_storage() instead of tensor.storage()")
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self._geometry.dtype)


def is_storage(obj: Any) -> bool:
    """Whether something is a storage.

    >>> import flambeau as torch
    >>> torch.is_storage(torch.ones(1).untyped_storage()), torch.is_storage(torch.ones(1))
    (True, False)
    """
    return isinstance(obj, (TypedStorage, UntypedStorage))


NAMESPACES["torch"].update(is_storage=is_storage, UntypedStorage=UntypedStorage, TypedStorage=TypedStorage)


@api("Tensor")
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is page-locked for transfers to an accelerator: there is none.

    >>> import flambeau as torch
    >>> torch.ones(1).is_pinned()
    False
    """
    return False


@api("Tensor")
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Page-lock the memory for transfers to an accelerator."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


# --- DLPack -------------------------------------------------------------------------------------------------


_CONJUGATED = "Can't export tensors with the conjugate bit set"


@api("Tensor", name="__dlpack__")
def dlpack_capsule(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: Any = None,
    dl_device: Any = None,
    copy: Any = None,
) -> Any:
    """A DLPack capsule of this tensor's memory."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if is_turned(self)[0]:
        raise BufferError(_CONJUGATED)
    return self.numpy(force=is_turned(self)[1]).__dlpack__(max_version=max_version, copy=copy)


@api("Tensor", name="__dlpack_device__")
def dlpack_device(self: Tensor) -> tuple[int, int]:
    """DLPack's number of the device: (1, 0), the CPU."""
    return 1, 0


class _Producer:
    """A bare capsule in the form that NumPy takes."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@api("torch")
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares memory with an object that speaks DLPack.

    >>> import flambeau as torch, numpy
    >>> torch.from_dlpack(numpy.arange(3))
    tensor([0, 1, 2])
    """
    if isinstance(ext_tensor, Tensor):
        if is_turned(ext_tensor)[0]:
            raise BufferError(_CONJUGATED)
        return ext_tensor.clone() if copy else ext_tensor.view(ext_tensor.shape)
    if hasattr(ext_tensor, "__dlpack__"):
        array = np.from_dlpack(ext_tensor)
    else:
        array = _writable(np.from_dlpack(_Producer(ext_tensor)))
    return from_array(np.array(array)) if copy or not array.flags.writeable else shared(array)


def _writable(array: np.ndarray) -> np.ndarray:
    """The same memory, to be written: NumPy locks that of bare capsules, which don't say whether they may."""
    return np.asarray(_Memory(array))


class _Memory:
    """An array's memory in NumPy's array interface, writable."""

    def __init__(self, owner: np.ndarray) -> None:
        self.owner = owner
        self.__array_interface__ = {**owner.__array_interface__, "data": (owner.ctypes.data, False)}


@api("torch")
def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of a tensor's memory.

    >>> import flambeau as torch
    >>> torch.from_dlpack(torch.utils.dlpack.to_dlpack(torch.tensor([1, 2])))
    tensor([1, 2])
    """
    return tensor.__dlpack__()
