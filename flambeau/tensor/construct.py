"""Tensors from Python data and NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from .. import devices, dtypes
from ..executors.interpreter.quiet import hush, speak
from ..graph.geometry import Geometry, contiguous, intern
from ..graph.node import constant
from ..graph.recent import Recent
from ..graph.storage import Storage
from ..naming import shown_type
from ..size import Size
from .attributes import blank
from .recording.record import META_NODE
from .samples.known import from_value, later, made
from .samples.waiting import Shared
from .tape import INFERENCE, state
from .tensor import Tensor, fresh
from .uninitialized import unset_value
from .warned import warn


def from_array(array: np.ndarray[Any, Any], dtype: dtypes.dtype | None = None, device: Any = None) -> Tensor:
    """A tensor with the values of an array that nobody else will write to (not copied if contiguous)."""
    found = dtypes.from_numpy_dtype(array.dtype)
    if dtype is not None and dtype is not found:
        array = dtypes.converted(array, dtype.numpy)
        found = dtype
    geometry = contiguous(array.shape, found, device or devices.CPU)
    flat = array if array.ndim == 1 and array.flags.c_contiguous else np.ascontiguousarray(array).reshape(-1)
    if geometry.device is devices.META:
        return fresh(Storage(META_NODE, geometry), geometry)
    if flat.base is not None or not flat.flags.writeable:
        flat = flat.copy()
    return fresh(Storage(constant(flat), geometry), geometry)


def _refuse_negative_strides(array: np.ndarray[Any, Any]) -> None:
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are "
            "not currently supported. (You can probably work around this by making a copy of your array  "
            "with array.copy().) ")


_dense: Recent[Any, Geometry] = Recent(1 << 8)  # of shared arrays, by dtype and shape


def shared(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares memory with an array (``from_numpy``)."""
    kind = array.dtype, array.shape
    if (known := _dense.get(kind)) is not None and array.__class__ is np.ndarray and array.flags.c_contiguous:
        return later(Shared, array, known)
    array = np.asarray(array)   # a matrix stays two-dimensional whatever is done to it
    dtype = dtypes.from_numpy_dtype(array.dtype)
    if array.flags.c_contiguous:
        geometry = _dense.keep(kind, contiguous(array.shape, dtype))
        return later(Shared, array, geometry)
    itemsize = array.itemsize
    _refuse_negative_strides(array)
    if any(s % itemsize for s in array.strides):
        raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy "
                         "array to reallocate the memory.")
    strides = tuple(s // itemsize for s in array.strides)
    geometry = intern(Size(array.shape), strides, 0, dtype, devices.CPU)
    if geometry.is_contiguous:  # except for strides of what has one element, or none
        geometry = contiguous(array.shape, dtype)
        flat = array.reshape(-1)
    else:
        flat = np.lib.stride_tricks.as_strided(array, (geometry.extent,), (itemsize,))
    out = from_value(flat, contiguous((flat.size,), dtype))
    out._geometry = geometry
    out._storage.exposed = True
    out._storage.owner = array
    return out


def infer_dtype(data: Any) -> dtypes.dtype:
    """The dtype ``tensor(data)`` has: from the Python numbers in it."""
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, (np.ndarray, np.generic)):
        return dtypes.from_numpy_dtype(data.dtype)
    if isinstance(data, bool):
        return dtypes.bool_
    if isinstance(data, int):
        return dtypes.int64
    if isinstance(data, float):
        return dtypes.get_default_dtype()
    if isinstance(data, complex):
        return dtypes.get_default_dtype().to_complex()
    if hasattr(data, "__array__") or hasattr(data, "dtype"):
        return dtypes.from_numpy_dtype(np.asarray(data).dtype)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{shown_type(data)}'")
    if isinstance(data, dict) or not hasattr(data, "__iter__"):
        raise RuntimeError(f"Could not infer dtype of {shown_type(data)}")
    found: dtypes.dtype | None = None
    for item in data:
        one = infer_dtype(item)
        found = one if found is None else dtypes.promote_types(found, one)
        if found.is_complex:
            break
    return dtypes.get_default_dtype() if found is None else found


def nested_shape(data: Any) -> tuple[int, ...]:
    """Shape of nested sequences; ``ValueError`` where they are ragged."""
    shape: list[int] = []
    level = [data]
    while level and _is_sequence(level[0]):
        length = len(level[0])
        for row in level:
            if not _is_sequence(row):
                raise TypeError("not a sequence")
            if len(row) != length:
                raise ValueError(f"expected sequence of length {length} at dim {len(shape)} (got {len(row)})")
        shape.append(length)
        level = [item for row in level for item in row]
    first = level[0] if level else None
    if isinstance(first, np.ndarray) and first.ndim:
        shape.extend(first.shape)
    for item in level:
        if isinstance(item, Tensor) and item.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
    return tuple(shape)


def _starts_with_text(data: Any) -> bool:
    while _is_sequence(data) and len(data):
        data = data[0]
    return isinstance(data, str) and data != ""


def _is_sequence(item: Any) -> bool:
    return isinstance(item, (list, tuple, range)) or (
        hasattr(item, "__len__") and hasattr(item, "__getitem__")
        and not isinstance(item, (Tensor, np.ndarray, np.generic, str, bytes, dict)))


def _of_one_kind(data: Any, dtype: dtypes.dtype | None) -> np.ndarray[Any, Any] | None:
    """The array of a number, of numbers of one kind or of rows of them; None of anything else."""
    kind = data.__class__
    if kind is list or kind is tuple:
        kinds = set(map(type, data))
        if kinds == {list}:
            if len(set(map(len, data))) != 1:
                return None
            kinds = set(map(type, chain.from_iterable(data)))
        kind = kinds.pop() if len(kinds) == 1 else None
    if kind is float or (kind is int and dtype is not None and dtype.is_floating_point):
        wanted = dtype or dtypes.get_default_dtype()
        return _rounded(data, wanted) if wanted.is_floating_point else None
    if kind is bool and dtype in (None, dtypes.bool_):
        return np.array(data, np.bool_)
    if kind is int and dtype in (None, dtypes.int64):
        try:
            return np.array(data, np.int64)
        except OverflowError:
            return None
    return None


def to_array(data: Any, dtype: dtypes.dtype | None) -> np.ndarray[Any, Any]:
    """Python data as an array of the dtype (inferred when None)."""
    found = _of_one_kind(data, dtype)
    return _of_any(data, dtype) if found is None else found


def _of_any(data: Any, dtype: dtypes.dtype | None) -> np.ndarray[Any, Any]:
    """``to_array`` of what is not of one kind."""
    if isinstance(data, Tensor):
        array = _values(data)
        return array if dtype is None else dtypes.converted(array, dtype.numpy)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{shown_type(data)}'")
    if isinstance(data, (np.ndarray, np.generic)) or hasattr(data, "__array__"):
        array = np.asarray(data)
        found = dtypes.from_numpy_dtype(array.dtype)
        if dtype is dtypes.complex32:
            return dtypes.converted(array, dtype.numpy)
        _refuse_negative_strides(array)
        return np.array(array, dtype=(dtype or found).numpy)
    if not isinstance(data, (bool, int, float, complex)) and not _is_sequence(data):
        listed = not isinstance(data, (dict, set, frozenset, Iterator)) and hasattr(data, "__iter__")
        if dtype is not None and not listed and not hasattr(data, "__float__"):
            raise _no_number(data, dtype)
        if dtype is None and not listed:
            raise RuntimeError(f"Could not infer dtype of {shown_type(data)}")
        data = list(data) if listed else data
    if _starts_with_text(data):
        raise ValueError("too many dimensions 'str'")
    inferred = infer_dtype(data) if dtype is None else dtype
    shape = nested_shape(data) if _is_sequence(data) else ()
    _require_numbers(data, len(shape), inferred)
    return _fill(data, shape, inferred)


def _require_numbers(data: Any, depth: int, dtype: dtypes.dtype) -> None:
    """Refuse what NumPy would make something of: None, texts, sequences beside numbers."""
    items = [data]
    for _ in range(depth):
        items = [item for row in items for item in (row if _is_sequence(row) else (row,))]
    for item in items:
        if not hasattr(item, "__float__") and not isinstance(item, complex):
            raise _no_number(item, dtype)


def _no_number(item: Any, dtype: dtypes.dtype) -> TypeError:
    kind = shown_type(item)
    if dtype.category < dtypes.FLOATING:
        return TypeError(f"'{kind}' object cannot be interpreted as an integer")
    return TypeError(f"must be real number, not {kind}")


def _fill(data: Any, shape: tuple[int, ...], dtype: dtypes.dtype) -> np.ndarray[Any, Any]:
    plain = _plain(data)
    if dtype.category == dtypes.INTEGER:
        return _integers(np.array(plain), dtype).reshape(shape)
    if dtype.category == dtypes.FLOATING:
        try:
            return _rounded(plain, dtype).reshape(shape)
        except TypeError:
            raise TypeError("must be real number, not complex") from None
    if dtype is dtypes.complex32:
        return dtypes.converted(np.array(plain, np.complex64), dtype.numpy).reshape(shape)
    with np.errstate(over="ignore"):
        return np.array(plain, dtype=dtype.numpy).reshape(shape)


def _rounded(data: Any, dtype: dtypes.dtype) -> np.ndarray[Any, Any]:
    """Real numbers in a floating type; what is too large is infinite."""
    array = np.array(data, dtype=np.float64)
    if dtype is dtypes.float64:
        return array
    before = hush()
    try:
        return array.astype(dtype.numpy)
    finally:
        speak(before)


def _integers(array: np.ndarray[Any, Any], dtype: dtypes.dtype) -> np.ndarray[Any, Any]:
    """Numbers as integers of the type: negative ones wrap around in unsigned types, as far as they go."""
    kind, limits = array.dtype.kind, np.iinfo(dtype.numpy)
    if kind == "c":
        raise TypeError("'complex' object cannot be interpreted as an integer")
    low, high = (int(array.min()), int(array.max())) if array.size and kind in "iuO" else (0, 0)
    if dtype is dtypes.uint64 and not 0 <= low <= high <= limits.max:
        raise OverflowError("can't convert negative int to unsigned" if low < 0 else "int too big to convert")
    if dtype is not dtypes.uint64 and not -(1 << 63) <= low <= high < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    lowest = limits.min or -limits.max
    if kind == "f":
        fits = np.isfinite(array) & (array >= limits.min) & (array <= limits.max) & (array < limits.max + 1.0)
    else:
        fits = np.array(lowest <= low <= high <= limits.max)
    if not fits.all():
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return array.astype(np.int64).astype(dtype.numpy) if kind == "f" else array.astype(dtype.numpy)


def _values(x: Tensor) -> np.ndarray[Any, Any]:
    """The elements as NumPy has them: of half complex numbers wider ones."""
    return (x.to(dtypes.complex64) if x.dtype is dtypes.complex32 else x).detach().numpy(force=True)


def _plain(data: Any) -> Any:
    if isinstance(data, Tensor):
        return _values(data).reshape(())
    if isinstance(data, (list, tuple)):
        if data and not isinstance(data[0], (list, tuple, Tensor)) and not hasattr(data[0], "__len__"):
            return [x.item() if isinstance(x, Tensor) else x for x in data] if any(
                isinstance(x, Tensor) for x in data) else data
        return [_plain(item) for item in data]
    return list(data) if _is_sequence(data) else data


def _require_flags(function: str, requires_grad: Any, pin_memory: Any) -> None:
    for name, value in (("pin_memory", pin_memory), ("requires_grad", requires_grad)):
        if value.__class__ is not bool:
            raise TypeError(f"{function}(): argument '{name}' must be bool, not {type(value).__name__}")
    if pin_memory:
        raise RuntimeError(NOT_PINNED)


NOT_PINNED = ("pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is "
              "available on this system.")


def tensor(data: Any, *, dtype: dtypes.dtype | None = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Tensor:
    """A new leaf with a copy of ``data``: numbers, nested sequences, arrays or tensors.

    >>> import flambeau as torch
    >>> torch.tensor([[1, 2], [3, 4]]).dtype
    torch.int64
    """
    if requires_grad is not False or pin_memory is not False:
        _require_flags("tensor", requires_grad, pin_memory)
    if isinstance(data, Tensor):
        warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
             "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).")
        if data._overrides and not data._sparse:
            data = data.as_subclass(Tensor)
        out = data.detach().to(dtype=dtype or data.dtype, device=device or data.device, copy=True)
    else:
        out = _of_data(data, dtype, devices.resolve(device))
    if requires_grad and out._geometry.dtype.category < dtypes.FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return out.requires_grad_() if requires_grad else out


def _of_data(data: Any, dtype: dtypes.dtype | None, device: devices.device) -> Tensor:
    """``tensor`` of what is no tensor; an integer, as a label is, and a list of numbers in few steps."""
    if device is devices.CPU:
        if data.__class__ is int and dtype is None and -(1 << 63) <= data < 1 << 63:
            return from_value(np.array([data], np.int64), _INTEGER)
        if data.__class__ is float and -1e38 < data < 1e38 and (
                dtype is dtypes.float32 or (dtype is None and dtypes.get_default_dtype() is dtypes.float32)):
            return from_value(np.array([data], np.float32), _NUMBER)
        found = _of_one_kind(data, dtype)
        if found is None:
            return from_array(_of_any(data, dtype))
        if found.ndim == 1 and found.base is None:
            return made(found, found.shape)
        return from_array(found)
    return from_array(to_array(data, dtype), device=device)


_INTEGER, _NUMBER = contiguous((), dtypes.int64), contiguous((), dtypes.float32)


def empty_geometry(geometry: Geometry) -> Tensor:
    """An uninitialised tensor (zeros: what is uninitialised need not be garbage)."""
    if geometry.device is devices.META:
        return fresh(Storage(META_NODE, geometry), geometry)
    value = unset_value(geometry.dtype)
    filled = np.full(geometry.numel, value, geometry.dtype.numpy) if value else \
        np.zeros(geometry.numel, geometry.dtype.numpy)
    return fresh(Storage(constant(filled), geometry), geometry)


def _options(dtype: dtypes.dtype) -> str:
    return (f"TensorOptions(dtype={dtypes.c_name(dtype)}, device=cpu, layout=Strided, "
            "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))")


def legacy_new(cls: type, *data: Any, dtype: Any = None, device: Any = None) -> Any:
    """``torch.Tensor(2, 3)`` (uninitialised) and ``torch.Tensor([1, 2])`` (float32 whatever the data)."""
    default = dtype or dtypes.get_default_dtype()
    if len(data) == 1 and isinstance(data[0], Size):
        data = tuple(data[0])
    if all(isinstance(n, int) for n in data):
        if negative := [n for n in data if n < 0]:
            raise RuntimeError(f"Trying to create tensor with negative dimension {negative[0]}: {list(data)}")
        made = empty_geometry(contiguous(data if data else (0,), default, devices.resolve(device)))
    elif len(data) == 1 and isinstance(data[0], Tensor):
        made = data[0].detach()
        if dtype is not None and made._geometry.dtype is not dtype:
            raise TypeError(f"expected {_options(dtype)} (got {_options(made._geometry.dtype)})")
    elif len(data) == 1 and (data[0] is None or isinstance(data[0], (float, complex))):
        raise TypeError(f"new(): data must be a sequence (got {type(data[0]).__name__})")
    elif len(data) == 1:
        made = from_array(to_array(data[0], default))
    else:
        raise TypeError("new() received an invalid combination of arguments - got "
                        f"({', '.join(type(d).__name__ for d in data)})")
    if cls is Tensor:
        return made
    out: Any = blank(cls)
    out._storage, out._geometry = made._storage, made._geometry
    if state.inference:
        out._counter = INFERENCE
    return out
