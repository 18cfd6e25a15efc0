"""How an operand becomes what a kernel gets: an array of its node's flat value, or a number of its type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.geometry import Geometry
from ...graph.node import Node, Signature
from ...graph.recent import Recent
from .arrays import NATIVE_KINDS, Array, read, reinterpret

Reader = Callable[[Any], Any]
_readers: Recent[Any, Reader] = Recent(1 << 12)


def readers_of(signature: Signature, flat: bool) -> list[Reader]:
    """What reads the operands of a signature as its kernel wants them."""
    compute = signature.compute.numpy if signature.compute is not None else None
    if signature.rounds is None:
        return [reader(g, compute, flat) for g in signature.geometries]
    return [_rounding(reader(g, compute, flat), dtype)
            for g, dtype in zip(signature.geometries, signature.rounds)]


def reader(geometry: Any, compute: np.dtype[Any] | None, flat: bool = False) -> Reader:
    """What reads operands of a geometry, or Python numbers; signatures share it.

    ``compute``: the type that the kernel wants; ``flat``: as a vector, whatever the shape.
    """
    key = geometry, compute, flat
    found = _readers.get(key) or _readers.recall(key)
    return found or _readers.keep(key, _new_reader(geometry, compute, flat))


def _rounding(found: Reader, dtype: np.dtype[Any] | None) -> Reader:
    """What reads an operand rounded to a type, in the type in which it was read."""
    if dtype is None:
        return found

    def read_rounded(x: Any) -> Any:
        exact = found(x)
        return exact.astype(dtype).astype(exact.dtype)
    return read_rounded


def number_of(number: Any, numpy_type: np.dtype[Any]) -> Any:
    """A Python number as a scalar of the type, integers wrapping around as PyTorch's do."""
    if numpy_type.kind in "iu" and isinstance(number, int):
        bits = numpy_type.itemsize * 8
        number &= (1 << bits) - 1
        if numpy_type.kind == "i" and number >> (bits - 1):
            number -= 1 << bits
    return numpy_type.type(number)


def _new_reader(geometry: Any, compute: np.dtype[Any] | None, flat: bool) -> Reader:
    if not isinstance(geometry, Geometry):
        if compute is None or geometry is type(None):
            return _itself
        if compute.kind not in "iu":
            return compute.type     # as ``number_of``, and quicker
        return lambda number: number_of(number, compute)
    if flat:
        found = _flat(geometry)
    elif geometry.is_contiguous:
        found = _shaped(geometry)
    else:
        found = _strided(geometry)
    if compute is not None and geometry.dtype.numpy != compute:
        return lambda node: found(node).astype(compute)
    return found


def _itself(x: Any) -> Any:
    return x


def _flat(geometry: Geometry) -> Reader:
    first, count, numpy_type = geometry.offset, geometry.numel, geometry.dtype.numpy
    after = first + count

    def read_flat(node: Node) -> Array:
        value: Array = node.value
        if value.dtype is not numpy_type and value.dtype != numpy_type:
            value = reinterpret(value, numpy_type)
        return value if len(value) == count else value[first:after]
    return read_flat


def _shaped(geometry: Geometry) -> Reader:
    first, count, numpy_type = geometry.offset, geometry.numel, geometry.dtype.numpy
    after, shape = first + count, tuple(geometry.shape)

    def read_shaped(node: Node) -> Array:
        value: Array = node.value
        if value.dtype is not numpy_type and value.dtype != numpy_type:
            value = reinterpret(value, numpy_type)
        return (value if len(value) == count else value[first:after]).reshape(shape)
    return read_shaped


def _strided(geometry: Geometry) -> Reader:
    shape, numpy_type = tuple(geometry.shape), geometry.dtype.numpy
    start = geometry.offset * numpy_type.itemsize
    strides = tuple([s * numpy_type.itemsize for s in geometry.strides])
    if numpy_type.kind not in NATIVE_KINDS:
        return lambda node: read(node.value, geometry)
    array = np.ndarray

    def read_strided(node: Node) -> Array:
        value: Array = node.value
        if value.dtype is not numpy_type:
            return read(value, geometry)
        return array(shape, numpy_type, value, start, strides)
    return read_strided
