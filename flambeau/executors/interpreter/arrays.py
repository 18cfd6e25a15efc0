"""Between flat values and the arrays that kernels see: reading through a geometry, and laying results out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.geometry import Geometry

Array = np.ndarray[Any, Any]

# ml_dtypes' arrays export no buffer, and pairs are not one number: they are read as integers of their size.
_CARRIERS: dict[int, np.dtype[Any]] = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32)}
NATIVE_KINDS = frozenset("biufc?")


def carrier(numpy_type: np.dtype[Any]) -> np.dtype[Any]:
    """The type through which elements of ``numpy_type`` are addressed."""
    return numpy_type if numpy_type.kind in NATIVE_KINDS else _CARRIERS[numpy_type.itemsize]


def read(value: Array, geometry: Geometry) -> Array:
    """The array that ``geometry`` sees in a flat value; never a copy."""
    numpy_type = geometry.dtype.numpy
    if value.dtype != numpy_type:
        value = reinterpret(value, numpy_type)
    if geometry.is_contiguous:
        if geometry.numel != value.size:
            value = value[geometry.offset:geometry.offset + geometry.numel]
        return value.reshape(geometry.shape)
    return strided(value, geometry.shape, geometry.strides, geometry.offset)


def reinterpret(value: Array, numpy_type: np.dtype[Any]) -> Array:
    """A flat value's memory as elements of another type."""
    usable = value.nbytes - value.nbytes % numpy_type.itemsize
    return value.view(np.uint8)[:usable].view(numpy_type)


def rounded(x: Any, dtype: Any) -> Any:
    """x rounded to a narrower type, in its own type; as it is without a type."""
    return x if dtype is None else x.astype(dtype.numpy).astype(x.dtype)


def strided(value: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
    """A writable view of a flat array with strides and an offset in elements."""
    numpy_type = value.dtype
    itemsize = numpy_type.itemsize
    steps = tuple([s * itemsize for s in strides])
    if numpy_type.kind in NATIVE_KINDS:
        return np.ndarray(shape, numpy_type, value, offset * itemsize, steps)
    held = carrier(numpy_type)
    array: Array = np.ndarray(shape, held, value.view(held), offset * itemsize, steps)
    return array.view(numpy_type)


def flatten(result: Any, geometry: Geometry) -> Array:
    """A kernel's result as the flat value of ``geometry`` (fresh: dense, offset 0)."""
    numpy_type = geometry.dtype.numpy
    array: Array = result if isinstance(result, np.ndarray) else np.asarray(result)
    if array.dtype != numpy_type:
        array = array.astype(numpy_type)
    if array.shape != geometry.shape:
        array = np.broadcast_to(array, geometry.shape)
    if not geometry.is_contiguous:
        array = array.transpose(geometry.order)
    flat: Array = array.reshape(-1)
    return flat if flat.flags.c_contiguous else flat.copy()  # one dimension of a strided view stays strided
