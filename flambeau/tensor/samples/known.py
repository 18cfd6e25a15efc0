"""Values that are there already, for code that would rather compute at once than record.

Note: known values. Joining hundreds of small tensors that hold values, as the loading of data does, costs
more to record than to do, and every batch would be another graph. So where all values are known, nobody
watches the calls and no history is wanted, the result is computed at once, as a new constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...devices import CPU
from ...dtypes import from_numpy_dtype
from ...executors.gather import gather, is_native
from ...graph.geometry import Family, Geometry, contiguous
from ...graph.node import Node
from ...graph.storage import Storage
from ..batching import levels
from ..overrides import modes
from ..recording.record import interceptors
from ..tape import INFERENCE, inferring, state
from ..tensor import Tensor
from .chains import native_samples
from .waiting import Later, Waits

Array = np.ndarray[Any, Any]
_new = object.__new__


def known_arrays(tensors: Iterable[Any]) -> list[Array] | None:
    """Arrays on the memory of tensors, to be read only; None unless all are known (Note: known values)."""
    if modes or levels or interceptors:
        return None
    arrays = []
    flat = dtype = None
    for x in tensors:
        if x.__class__ is not Tensor or x._requires_grad or x._sparse:
            return None
        base = x._base
        if base is not None and base._requires_grad:
            return None
        g = x._geometry
        value = x._storage.node.value
        if value is not flat or g.dtype is not dtype:
            flat, dtype = value, g.dtype
            if flat.__class__ is not np.ndarray or g.device is not CPU or flat.dtype != dtype.numpy:
                return None
        if g.is_contiguous:
            offset = g.offset
            part = flat[offset:offset + g.numel]
            arrays.append(part if g.ndim == 1 else part.reshape(g.shape))
        else:
            size, at = flat.itemsize, g.offset
            arrays.append(np.ndarray(g.shape, flat.dtype, flat, at * size, [s * size for s in g.strides]))
    return arrays


def known_rows_of(tensors: Sequence[Any]) -> tuple[Array, Family, Any] | None:
    """The value of which all tensors are parts, the family of how they read it, and their offsets; None as in
    ``known_arrays``, or if they are not.

    That is what most samples of a batch are, so it is bare. Stretches of one sequence, or parts of images,
    are such.
    """
    first = tensors[0]
    if modes or levels or interceptors or first.__class__ is not Tensor or first._sparse:
        return None
    storage, base, family = first._storage, first._base, first._geometry.family
    if base is None or base._requires_grad or not family.numel or storage.__class__ is Waits:
        return None
    value = storage.node.value
    if family.device is not CPU or value.__class__ is not np.ndarray or value.dtype != family.dtype.numpy:
        return None
    if is_native():
        offsets = native_samples().offsets([*tensors])
        return None if offsets is None else (value, family, offsets)
    offsets = []
    for x in tensors:
        if x.__class__ is not Tensor or x._base is not base or x._storage is not storage or x._requires_grad:
            return None
        g = x._geometry
        if g.family is not family:
            return None
        offsets.append(g.offset)
    return value, family, offsets


def private(count: int, dtype: Any) -> Array:
    return np.empty(count, dtype)


def rows_of(value: Array, family: Family, offsets: Any,
            allocate: Callable[[int, Any], Array] = private) -> Array:
    """What a family's geometries read at offsets of a flat value, one after the other."""
    size, count = family.numel, len(offsets)
    flat = allocate(count * size, value.dtype)
    if size == 1:
        value.take(offsets, 0, flat, "clip")    # other modes copy in between
    elif size:
        gather(flat.reshape(count, size), value, offsets, family.shape, family.strides)
    return flat


def known_rows(tensors: Sequence[Any]) -> list[Array] | None:
    """The elements of tensors of one shape, in order; None as in ``known_arrays``, or if they lie otherwise.

    The samples of a batch, as a rule: so it is bare, and nothing is asked twice.
    """
    if modes or levels or interceptors:
        return None
    flat = dtype = shape = None
    size, rows = 0, []
    for x in tensors:
        if x.__class__ is not Tensor or x._requires_grad or x._sparse:
            return None
        g = x._geometry
        if g.shape is not shape and shape is not None and g.shape != shape:
            return None
        value = x._storage.node.value
        if value is not flat or g.dtype is not dtype:
            if value.__class__ is not np.ndarray or g.device is not CPU or value.dtype != g.dtype.numpy or (
                    dtype is not None and g.dtype is not dtype):
                return None
            flat, dtype, shape, size = value, g.dtype, g.shape, g.numel
        base, offset = x._base, g.offset
        if not g.is_contiguous or (base is not None and base._requires_grad):
            return None
        rows.append(value[offset:offset + size])
    return rows


def known_parts(tensors: Sequence[Any]) -> tuple[list[Array], int] | None:
    """The elements of tensors that differ in their first extent alone, and the sum of those; or None.

    The samples of a batch whose lengths vary; as ``known_rows`` otherwise.
    """
    if modes or levels or interceptors:
        return None
    first = tensors[0]._geometry
    rest, dtype, kind, parts, length = tuple(first.shape)[1:], first.dtype, first.dtype.numpy, [], 0
    like = None
    for x in tensors:
        if x.__class__ is not Tensor or x._requires_grad or x._sparse:
            return None
        g, value, base = x._geometry, x._storage.node.value, x._base
        if g is not like:   # nearly always it is
            shape = tuple(g.shape)
            if not g.is_contiguous or not g.numel or not shape or shape[1:] != rest or g.dtype is not dtype \
                    or g.device is not CPU:
                return None
            like, extent, start, end = g, shape[0], g.offset, g.extent
        if value.__class__ is not np.ndarray or (value.dtype is not kind and value.dtype != kind) \
                or (base is not None and base._requires_grad):
            return None
        length += extent
        parts.append(value if not start and end == len(value) else value[start:end])
    return parts, length


def made(flat: Array, shape: Sequence[int]) -> Tensor:
    """A tensor of a shape whose value is a flat array that nobody else will write to."""
    return from_value(flat, contiguous(shape, from_numpy_dtype(flat.dtype)))


def later(kind: type[Later], owner: Any, geometry: Geometry) -> Tensor:
    """A tensor whose storage has no node before somebody asks for it."""
    out = _new(Tensor)
    out._storage = storage = _new(kind)
    storage.version = 0
    storage.owner = owner
    storage.geometry = geometry
    out._geometry = geometry
    out._requires_grad = False
    out._grad_fn = out._base = None
    out._counter = INFERENCE if inferring and state.inference else None
    return out


def from_value(flat: Array, geometry: Geometry) -> Tensor:
    """A tensor of a dense geometry with such a value."""
    node = _new(Node)   # as ``constant`` and ``fresh`` do it, without a call: for each number that is drawn
    node.signature = node.site = None
    node.operands = ()
    node.value = flat
    out = _new(Tensor)
    out._storage = storage = _new(Storage)
    storage.node = node
    storage.version = 0
    storage.exposed = False
    storage.geometry = geometry
    storage.owner = None
    out._geometry = geometry
    out._requires_grad = False
    out._grad_fn = out._base = None
    out._counter = INFERENCE if inferring and state.inference else None
    return out
