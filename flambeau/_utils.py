"""Rebuilding tensors from checkpoints: the functions that PyTorch's pickles call, under those names."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from . import dtypes
from .devices import META
from .devices import device as Device
from .graph.geometry import intern
from .nn.parameter import Parameter
from .operators.interop.protocols import PRIVATE
from .operators.shapes.joining import cat
from .size import Size
from .sparse.construct import rebuilt
from .tensor import Tensor, fresh
from .tensor.aliasing.turned import turn
from .tensor.construct import empty_geometry
from .tensor.storage_view import TypedStorage
from .utils.data._utils.errors import ExceptionWrapper as ExceptionWrapper

_MOST_DIMENSIONS = 64
_LARGEST = 2**63 - 1


def _checked(offset: Any, size: Any, stride: Any) -> tuple[Size, tuple[int, ...]]:
    """Sizes and strides from a file, which are not trusted."""
    shape, strides = tuple(size), tuple(stride)
    if len(shape) != len(strides):
        raise RuntimeError(f"unequal size length ({len(shape)}) and stride length ({len(strides)})")
    if len(shape) > _MOST_DIMENSIONS:
        raise RuntimeError(
            f"a tensor in the file has {len(shape)} dimensions; {_MOST_DIMENSIONS} are possible"
        )
    if any(type(n) is not int for n in (offset, *shape, *strides)):
        raise RuntimeError("sizes, strides and storage offset of a tensor in the file must be integers")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if any(n < 0 for n in (*shape, *strides)):
        raise RuntimeError(
            f"a tensor in the file has negative sizes or strides: sizes={list(shape)} and "
            f"strides={list(strides)}"
        )
    if Size(shape).numel() > _LARGEST or max((offset, *shape, *strides)) > _LARGEST:
        raise RuntimeError("numel: integer multiplication overflow")
    return Size(shape), strides


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """A tensor on a loaded storage, if it lies within it."""
    if not isinstance(storage, TypedStorage):
        raise RuntimeError("a tensor in the file refers to something that is not a storage")
    shape, strides = _checked(storage_offset, size, stride)
    geometry = intern(shape, strides, storage_offset, storage.dtype, storage.device)
    room = storage.nbytes()
    if geometry.extent * storage.dtype.itemsize > room:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {storage_offset}, and "
            f"itemsize {storage.dtype.itemsize} requiring a storage size of "
            f"{geometry.extent * storage.dtype.itemsize} are out of bounds for storage of size {room}"
        )
    return fresh(storage._storage, geometry)


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor as saved since PyTorch 0.4; ``metadata`` says whether to conjugate or negate it."""
    made = _rebuild_tensor(storage, storage_offset, size, stride)
    if isinstance(metadata, dict):
        turn(made, metadata.get("conj") is True and made.is_complex(), metadata.get("neg") is True)
    return made.requires_grad_() if requires_grad else made


def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    """A tensor whose dtype has no typed storage of its own."""
    if not isinstance(storage, TypedStorage) or not isinstance(dtype, dtypes.dtype):
        raise RuntimeError("a tensor in the file is described by something else than a storage and a dtype")
    typed = TypedStorage(wrap_storage=storage.untyped(), dtype=dtype)
    return _rebuild_tensor_v2(typed, storage_offset, size, stride, requires_grad, backward_hooks, metadata)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Any:
    """A Parameter."""
    if not isinstance(data, Tensor):
        raise RuntimeError("a parameter in the file is made of something that is not a tensor")
    return Parameter(data, bool(requires_grad))


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    """A Parameter with attributes of its own."""
    made = _rebuild_parameter(data, requires_grad, backward_hooks)
    _set_attributes(made, state)
    return made


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Any:
    """An instance of a subclass of Tensor, or a tensor with attributes of its own."""
    own = globals().get(getattr(func, "__name__", "")) is func     # under whichever name of this module
    if not own or not (isinstance(new_type, type) and issubclass(new_type, Tensor)):
        raise RuntimeError("a tensor in the file is made by something else than a function for it")
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    if type(made).__setstate__ is not Tensor.__setstate__:  # type: ignore[attr-defined]
        made.__setstate__(state)
    else:
        _set_attributes(made, state)
    return made


def _set_attributes(x: Tensor, state: Any) -> None:
    """Attributes that users had set: never those by which a tensor knows its memory."""
    plain, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for attributes in (plain or {}, slots or {}):
        if not isinstance(attributes, dict) or any(type(name) is not str for name in attributes):
            raise RuntimeError("the attributes of a tensor in the file are not a dictionary of names")
        if not PRIVATE.isdisjoint(attributes):
            raise RuntimeError("the file sets attributes of a tensor that are not its user's")
        x.__dict__.update(attributes)


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    """A sparse tensor, from its parts; what a file says of it is checked."""
    if not isinstance(data, tuple):
        raise RuntimeError("a sparse tensor in the file is not described by its parts")
    return rebuilt(layout, data)


def _rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: bool) -> Tensor:
    """A tensor of the meta device."""
    if not isinstance(dtype, dtypes.dtype):
        raise RuntimeError("a tensor in the file has no dtype")
    shape, strides = _checked(0, size, stride)
    made = empty_geometry(intern(shape, strides, 0, dtype, META))
    return made.requires_grad_() if requires_grad else made


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of tensors of one dtype in a row."""
    flat = [x.contiguous().view(-1) for x in tensors]
    return flat[0] if len(flat) == 1 else cat(flat)


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of a row in the shapes of ``tensors``."""
    parts = flat.split([x.numel() for x in tensors])
    return tuple(part.view_as(x) for part, x in zip(parts, tensors, strict=True))


def _get_device_module(device_type: str) -> Any:
    """``torch.cpu``, ``torch.cuda``, ... for the name of a kind of device."""
    package = sys.modules[__name__.partition(".")[0]]
    found = getattr(package, device_type, None)
    if found is None:
        raise RuntimeError(f"Device '{device_type}' does not have a corresponding module registered as "
                           f"'torch.{device_type}'.")
    return found


def _get_available_device_type() -> str | None:
    """The kind of accelerator that is there: none."""
    return None


def _element_size(dtype: dtypes.dtype) -> int:
    """Bytes of an element."""
    return dtype.itemsize


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int | None:
    """The number of a device that is given as text, number or device; of the CPU -1, where that is allowed.

    Without a number it is that of the device in use, if one may be ``optional``: without a device None.
    """
    if isinstance(device, int):
        return device
    if device is None and optional:
        return None
    found = Device(device) if isinstance(device, str) else device
    if isinstance(found, Device):
        if found.type == "cpu":
            if not allow_cpu:
                raise ValueError(f"Expected a non cpu device, but got: {device}")
            return -1
        if found.index is not None or optional:
            return found.index
    raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Tensors of one type, as many in a row as have at most ``size_limit`` bytes."""
    waiting: dict[dtypes.dtype, tuple[list[Tensor], int]] = {}
    for x in tensors:
        taken, size = waiting.get(x.dtype, ([], 0))
        more = x.numel() * x.element_size()
        if taken and size + more > size_limit:
            yield taken
            taken, size = [], 0
        waiting[x.dtype] = [*taken, x], size + more
    yield from (taken for taken, _ in waiting.values())
