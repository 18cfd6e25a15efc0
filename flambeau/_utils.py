"""Rebuilding tensors from checkpoints: the functions that PyTorch's pickles call, under the names they call them by."""

from __future__ import annotations

from typing import Any

from .graph.geometry import intern
from .graph.storage import Storage
from .size import Size
from .tensor import Tensor, fresh

_NO_SHARE = object()


class LoadedStorage:
    """A storage from a file, with the dtype under which it was referred to."""

    __slots__ = ("storage", "dtype", "device")

    def __init__(self, storage: Storage, dtype: Any, device: Any) -> None:
        self.storage = storage
        self.dtype = dtype
        self.device = device


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """A tensor on a loaded storage; sizes and strides from a file are not trusted."""
    if not isinstance(storage, LoadedStorage):
        raise RuntimeError("a tensor in the file refers to something that is not a storage")
    shape, strides = tuple(size), tuple(stride)
    numbers = (storage_offset, *shape, *strides)
    if len(shape) != len(strides) or any(type(n) is not int or n < 0 for n in numbers):
        raise RuntimeError(f"a tensor in the file has an impossible geometry: size {list(shape)}, stride "
                           f"{list(strides)}, "
                           f"storage offset {storage_offset}")
    geometry = intern(Size(shape), strides, storage_offset, storage.dtype, storage.device)
    held = storage.storage.geometry
    room = held.numel * held.dtype.itemsize // storage.dtype.itemsize
    if geometry.extent > room:
        raise RuntimeError(f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset "
                           f"{storage_offset}, and "
                           f"itemsize {storage.dtype.itemsize} requiring a storage size of "
                           f"{geometry.extent * storage.dtype.itemsize} are out of bounds for storage of "
                           "size "
                           f"{room * storage.dtype.itemsize}")
    return fresh(storage.storage, geometry)


def _rebuild_tensor_v2(storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool,
                       backward_hooks: Any, metadata: Any = None) -> Tensor:
    """A tensor as saved since PyTorch 0.4."""
    made = _rebuild_tensor(storage, storage_offset, size, stride)
    return made.requires_grad_() if requires_grad else made


def _rebuild_tensor_v3(storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool,
                       backward_hooks: Any, dtype: Any, metadata: Any = None) -> Tensor:
    """A tensor whose dtype has no typed storage of its own."""
    typed = LoadedStorage(storage.storage, dtype, storage.device)
    return _rebuild_tensor_v2(typed, storage_offset, size, stride, requires_grad, backward_hooks)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Any:
    """A Parameter."""
    from .nn.parameter import Parameter
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    """A Parameter with attributes of its own."""
    made = _rebuild_parameter(data, requires_grad, backward_hooks)
    for name, value in (state if isinstance(state, dict) else state[0]).items():
        setattr(made, name, value)
    return made


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Any:
    """An instance of a subclass of Tensor."""
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    if state:
        (made.__setstate__ if hasattr(type(made), "__setstate__") else made.__dict__.update)(state)
    return made


def _rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    """A tensor of the meta device."""
    from .devices import META
    from .tensor.construct import empty_geometry
    made = empty_geometry(intern(Size(size), tuple(stride), 0, dtype, META))
    return made.requires_grad_() if requires_grad else made
