"""Geometry: how a flat storage is read as a tensor. A view is a geometry, not an operation.

Geometries are interned: two tensors of equal shape, strides, offset, dtype and device share one object, so
that caches can be keyed by identity. It lives as long as somebody holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from weakref import ref

from .. import devices, dtypes
from ..devices import CPU, device
from ..dtypes import dtype, refuse_unfilled
from ..size import Size
from .recent import Recent

_new = object.__new__


class Geometry:
    """Shape, strides and offset (in elements), element type and device of a tensor."""

    __slots__ = ("shape", "strides", "offset", "dtype", "device", "ndim", "numel", "is_contiguous", "extent",
                 "_order", "_flat", "_part", "_steps", "__weakref__")

    shape: Size
    strides: tuple[int, ...]
    offset: int
    dtype: dtypes.dtype
    device: devices.device

    def __init__(self, shape: Size, strides: tuple[int, ...], offset: int, dtype: dtypes.dtype,
                 device: devices.device) -> None:
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.dtype = dtype
        self.device = device
        self.ndim = len(shape)
        self.numel = shape.numel()
        if self.numel >= 1 << 60 and any(strides):
            raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
        self.is_contiguous = self.numel == 0 or _row_major(shape, strides)
        # One past the last element of the storage that is read.
        self.extent = 0 if self.numel == 0 else offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides))
        self._order: tuple[int, ...] | None = None
        self._flat: Geometry | None = None
        self._part: tuple[int, Geometry] | None = None      # the latest ``without``
        self._steps: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return (f"Geometry({list(self.shape)}, strides={list(self.strides)}, offset={self.offset}, "
                f"{self.dtype.name})")

    @property
    def order(self) -> tuple[int, ...]:
        """Dimensions from the largest stride to the smallest: the order of the elements in memory."""
        if self._order is None:
            self._order = tuple(sorted(range(self.ndim), key=lambda d: (-self.strides[d], -self.shape[d])))
        return self._order

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides, 0 where the extent is 1: which elements are read says no more."""
        if self._steps is None:
            self._steps = tuple([s if n > 1 else 0 for n, s in zip(self.shape, self.strides)])
        return self._steps

    @property
    def flat(self) -> Geometry:
        """A vector of as many elements, from the start of a storage."""
        if self._flat is None:
            found = contiguous((self.numel,), self.dtype, self.device)
            if found is self:   # not kept: it would hold itself
                return found
            self._flat = found
        return self._flat

    @property
    def is_dense(self) -> bool:
        """Whether the elements lie without gaps or overlaps, in some order of dimensions."""
        if self.is_contiguous:
            return True
        expected = 1
        for d in reversed(self.order):
            if self.shape[d] == 1:
                continue
            if self.strides[d] != expected:
                return False
            expected *= self.shape[d]
        return True

    def moved(self, offset: int) -> Geometry:
        """The same, from another offset of the storage."""
        key = (self.shape, self.strides, offset, self.dtype, self.device)
        held = _interned.get(key)
        if held is None or (found := held()) is None:
            found = _new(Geometry)
            found.shape, found.strides, found.offset, found.dtype, found.device = key
            found.ndim = self.ndim
            found.numel = count = self.numel
            found.is_contiguous = self.is_contiguous
            found.extent = self.extent + offset - self.offset if count else 0
            found._order = self._order
            found._flat = found._part = None
            found._steps = self._steps
            if len(_interned) < _sweeping[0]:
                _interned[key] = ref(found)
            else:
                _keep(key, found)
        return found

    def without(self, dim: int) -> Geometry:
        """The first position of a dimension, without that dimension."""
        if self._part is None or self._part[0] != dim:
            shape, strides = tuple(self.shape), self.strides
            self._part = dim, self.with_view(shape[:dim] + shape[dim + 1:], strides[:dim] + strides[dim + 1:],
                                             self.offset)
        return self._part[1]

    def with_view(self, shape: Sequence[int], strides: Sequence[int], offset: int) -> Geometry:
        """Another view of the same storage."""
        return intern(Size(shape), tuple(strides), offset, self.dtype, self.device)


def _row_major(shape: Sequence[int], strides: Sequence[int]) -> bool:
    expected = 1
    for n, s in zip(reversed(shape), reversed(strides)):
        if n != 1:
            if s != expected:
                return False
            expected *= n
    return True


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a contiguous tensor; an extent of zero counts as one, as in PyTorch."""
    if not shape:
        return ()
    strides = [1]
    for n in [*shape][:0:-1]:
        strides.append(strides[-1] * (n or 1))
    return tuple(strides[::-1])


_interned: dict[tuple[object, ...], ref[Geometry]] = {}
_sweeping = [1 << 11]   # how many entries there may be before those of dropped geometries are looked for
_contiguous: Recent[tuple[object, ...], Geometry] = Recent(1 << 13)


def _keep(key: tuple[object, ...], made: Geometry) -> Geometry:
    """Make ``made`` the one geometry of a key.

    Sweeping now and then costs less than a callback for each geometry: rows of a table come and go.
    """
    if len(_interned) >= _sweeping[0]:
        alive = [entry for entry in list(_interned.items()) if entry[1]() is not None]
        _interned.clear()
        _interned.update(alive)
        _sweeping[0] = max(1 << 11, 2 * len(_interned))
    _interned[key] = ref(made)
    return made


def intern(shape: Size, strides: tuple[int, ...], offset: int, dtype: dtype, device: device) -> Geometry:
    """The one geometry with these fields."""
    key = (shape, strides, offset, dtype, device)
    held = _interned.get(key)
    found = None if held is None else held()
    if found is None:
        refuse_unfilled(dtype)
        if any(n.__class__ is not int for n in (*shape, *strides, offset)):
            return intern(Size(map(index, shape)), tuple(map(index, strides)), index(offset), dtype, device)
        size = shape if shape.__class__ is Size else Size(shape)
        found = _keep(key, Geometry(size, strides, offset, dtype, device))
    return found


def contiguous(shape: Sequence[int], dtype: dtype, device: device = CPU) -> Geometry:
    """The geometry of a fresh, contiguous tensor."""
    key = (tuple(shape), dtype, device)
    found = _contiguous.get(key)
    if found is None:
        if any(n.__class__ is not int for n in shape):
            return contiguous([index(n) for n in shape], dtype, device)
        size = Size(shape)
        found = _contiguous.keep(key, intern(size, row_major_strides(size), 0, dtype, device))
    return found


def dense_like(shape: Sequence[int], template: Geometry, dtype: dtype) -> Geometry:
    """A fresh dense geometry whose dimensions lie in memory in the order of ``template``'s.

    Of a dense template of the same shape the strides are kept as they are, also where the size is 1.
    """
    if len(shape) != template.ndim:
        return contiguous(shape, dtype, template.device)
    if template.is_dense and tuple(shape) == template.shape:
        return intern(template.shape, template.strides, 0, dtype, template.device)
    return intern(Size(shape), dense_strides(shape, [template.strides]), 0, dtype, template.device)


def dense_strides(shape: Sequence[int], operands: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The strides of a result without gaps, ordered in memory as the operands are.

    ``operands`` are strides aligned with ``shape``. The first operand that tells two dimensions apart
    decides: one with a stride of 0 in either (a broadcast dimension) does not. Otherwise the order stays
    row-major.
    """
    inner_first = list(range(len(shape)))[::-1]
    for i in range(1, len(inner_first)):
        at = i
        for before in range(i - 1, -1, -1):
            order = _compare(inner_first[before], inner_first[at], shape, operands)
            if order < 0:
                break
            if order > 0:
                inner_first[before], inner_first[at] = inner_first[at], inner_first[before]
                at = before
    if inner_first == list(range(len(shape)))[::-1]:
        return row_major_strides(shape)
    strides, step = [1] * len(shape), 1
    for d in inner_first:
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def _compare(a: int, b: int, shape: Sequence[int], operands: Sequence[Sequence[int]]) -> int:
    """Positive if dimension a belongs outside dimension b, negative if inside, 0 if no operand tells."""
    for strides in operands:
        if strides[a] and strides[b]:
            if strides[a] != strides[b]:
                return strides[a] - strides[b]
            if shape[a] > shape[b]:
                return 1
    return 0
