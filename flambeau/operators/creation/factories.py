"""Tensors from data: tensor, as_tensor, asarray, from_numpy, frombuffer, scalar_tensor, and ``new``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import devices, dtypes
from ...engine import expose
from ...graph.geometry import contiguous
from ...tensor import Tensor
from ...tensor.construct import from_array, legacy_new, shared, to_array
from ...tensor.construct import tensor as _tensor
from ...tensor.storage_view import UntypedStorage
from ...tensor.warned import warn, warn_once
from ..calls.arguments import require_bool
from ..calls.number_range import number_for
from ..declaration.registry import NAMESPACES, api
from ..interop.exchange import from_dlpack
from .creation import filled, leaf

tensor = api("torch", name="tensor")(_tensor)


@api("torch", judge="never")
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor that shares memory with a NumPy array.

    >>> import flambeau as torch, numpy
    >>> torch.from_numpy(numpy.arange(3))
    tensor([0, 1, 2])
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    _warn_of_read_only(ndarray)
    return shared(ndarray)


def _warn_of_read_only(array: Any) -> None:
    if not array.flags.writeable:
        warn_once("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. "
                  "This means writing to this tensor will result in undefined behavior. You may want to copy "
                  "the array to protect its data or make it writable before converting it to a tensor. This "
                  "type of warning will be suppressed for the rest of this program.")


@api("torch")
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """``data`` as a tensor, without a copy where possible: tensors as they are, arrays sharing memory.

    >>> import flambeau as torch
    >>> torch.as_tensor([1, 2])
    tensor([1, 2])
    """
    if isinstance(data, Tensor):
        return data.to(device=device or data.device, dtype=dtype or data.dtype)
    if isinstance(data, np.ndarray):
        _warn_of_read_only(data)
        made = shared(data) if data.flags.writeable else from_array(np.array(data))
        if dtype is None and device is None and devices.resolve(None) is devices.CPU:
            return made
        return made.to(device=devices.resolve(device), dtype=dtype or made.dtype)
    return from_array(to_array(data, dtype), device=devices.resolve(device))


@api("torch")
def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``obj`` as a tensor: tensors, arrays, buffers and DLPack capsules share memory unless ``copy``.

    >>> import flambeau as torch
    >>> torch.asarray([1, 2], dtype=torch.float32)
    tensor([1., 2.])
    """
    if copy is not None:
        require_bool("asarray", "copy", copy)
    require_bool("asarray", "requires_grad", requires_grad)
    if isinstance(obj, UntypedStorage):
        obj = expose(obj._storage, "asarray").view(np.uint8)
    if isinstance(obj, np.ndarray):
        _warn_of_read_only(obj)
    if isinstance(obj, Tensor):
        made = obj.detach() if obj.requires_grad and not requires_grad else obj
    elif isinstance(obj, np.ndarray) and obj.flags.writeable:
        made = shared(obj)
    elif isinstance(obj, (bytearray, memoryview)):
        made = frombuffer(obj, dtype=dtype or dtypes.get_default_dtype())
    elif hasattr(obj, "__dlpack__"):
        made = from_dlpack(obj)
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        made, copy = from_array(to_array(obj, dtype), device=devices.resolve(device)), None
    wanted, place = dtype or made.dtype, made.device if device is None else devices.resolve(device)
    if copy is False and place is not made.device:
        raise ValueError(f"can't alias tensor from device '{made.device}' to '{place}'.")
    if copy is False and wanted is not made.dtype:
        given, asked = (dtypes.SCALAR_NAMES[one] for one in (made.dtype, wanted))
        raise ValueError(f"can't alias tensor with dtype '{given}' into dtype '{asked}'.")
    out = made.to(device=place, dtype=wanted)
    if copy and out is made:
        out = made.clone()
    if requires_grad and not out.requires_grad:
        out = leaf(out.detach() if out is obj else out)
    return out


@api("torch", judge="first")
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A vector that shares memory with an object that has the buffer protocol.

    >>> import flambeau as torch
    >>> torch.frombuffer(bytearray(b"ab"), dtype=torch.uint8)
    tensor([97, 98], dtype=torch.uint8)
    """
    try:
        held = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    size, itemsize = held.nbytes, dtype.itemsize
    if size == 0 or count == 0:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
                         f"({size} bytes) minus 1")
    if count > 0 and offset + count * itemsize > size:
        raise ValueError(f"requested buffer length ({count} * {itemsize} bytes) after offset ({offset} "
                         f"bytes) must not be greater than actual buffer length ({size} bytes)")
    if count < 0:
        if (size - offset) % itemsize:
            raise ValueError(f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a "
                             f"multiple of element size ({itemsize})")
        count = (size - offset) // itemsize
    array = np.frombuffer(buffer, np.uint8, count * itemsize, offset).view(dtype.numpy)
    if not array.flags.writeable:
        warn_once("The given buffer is not writable, and PyTorch does not support non-writable tensors. This "
                  "means you can write to the underlying (supposedly non-writable) buffer using the tensor. "
                  "You may want to copy the buffer to protect its data or make it writable before converting "
                  "it to a tensor. This type of warning will be suppressed for the rest of this program.")
        made = from_array(array.copy())
    else:
        made = shared(array)
    return leaf(made) if requires_grad else made


@api("torch", judge="first")
def scalar_tensor(
    s: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A 0-dim tensor of one number, of the default dtype.

    >>> import flambeau as torch
    >>> torch.scalar_tensor(2.)
    tensor(2.)
    """
    wanted = dtype or dtypes.get_default_dtype()
    return filled(contiguous((), wanted, devices.resolve(device)), number_for(s, wanted), requires_grad)


@api("Tensor")
def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
               layout: Any = None, pin_memory: bool = False) -> Tensor:
    """A tensor with a copy of ``data``, of this tensor's dtype and device.

    >>> import flambeau as torch
    >>> torch.ones(1, dtype=torch.float64).new_tensor([1, 2])
    tensor([1., 2.], dtype=torch.float64)
    """
    require_bool("new_tensor", "requires_grad", requires_grad)
    if isinstance(data, Tensor):
        warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
             "sourceTensor.detach().clone().requires_grad_(True), rather than "
             "tensor.new_tensor(sourceTensor).")
        made = data.detach().to(self.device if device is None else device, dtype or self.dtype, copy=True)
        return leaf(made) if requires_grad else made
    return _tensor(data, dtype=dtype or self.dtype, device=self.device if device is None else device,
                   requires_grad=requires_grad)


@api("Tensor")
def new(self: Tensor, *data: Any, size: Any = None, device: Any = None) -> Tensor:
    """The old constructor: a tensor of this one's dtype from sizes or data.

    >>> import flambeau as torch
    >>> torch.ones(1, dtype=torch.int64).new([1, 2])
    tensor([1, 2])
    """
    data = data if size is None else tuple(size)
    made: Tensor = legacy_new(Tensor, *data, dtype=self.dtype, device=device or self.device)
    return made


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a tensor type, such as ``torch.DoubleTensor`` or its name.

    >>> import flambeau as torch
    >>> torch.set_default_tensor_type(torch.DoubleTensor); torch.ones(1).dtype
    torch.float64
    >>> torch.set_default_tensor_type("torch.FloatTensor")
    """
    name = t.rsplit(".", 1)[-1] if isinstance(t, str) else t.__name__
    kinds = {"FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16,
             "BFloat16Tensor": dtypes.bfloat16}
    if name not in kinds:
        raise TypeError("only floating-point types are supported as the default type")
    dtypes.set_default_dtype(kinds[name])


NAMESPACES["torch"]["set_default_tensor_type"] = set_default_tensor_type
