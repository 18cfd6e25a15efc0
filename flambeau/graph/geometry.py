"""Geometry: how a flat storage is read as a tensor. A view is a geometry, not an operation.

Note: interned geometries. Tensors of equal shape, strides, offset, dtype and device share one geometry, so
that caches can be keyed by identity. Geometries that differ in their offset alone (the rows of a table) are
a family, which knows what they have in common, and has them by offset. Once there are many, it lets go of
those that nobody else holds.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from operator import index

from .. import devices, dtypes
from ..devices import CPU, device
from ..dtypes import dtype, refuse_unfilled
from ..size import Size
from .recent import Recent
from .references import UNHELD
from .room import Key, families, sweep, taken
from .strides import dense_strides, follow, row_major_strides

_refcount = sys.getrefcount


class Geometry:
    """Shape, strides and offset (in elements), element type and device of a tensor. ``intern`` finds it."""

    __slots__ = ("shape", "strides", "offset", "dtype", "device", "ndim", "numel", "is_contiguous", "extent",
                 "family")

    shape: Size
    strides: tuple[int, ...]
    offset: int
    dtype: dtypes.dtype
    device: devices.device
    ndim: int
    numel: int
    is_contiguous: bool
    extent: int         # one past the last element of the storage that is read
    family: Family      # the same from all offsets

    def __init__(self, family: Family, offset: int) -> None:
        self.shape = family.shape
        self.strides = family.strides
        self.offset = offset
        self.dtype = family.dtype
        self.device = family.device
        self.ndim = family.ndim
        self.numel = family.numel
        self.is_contiguous = family.is_contiguous
        self.extent = family.numel and offset + family.span
        self.family = family

    def __repr__(self) -> str:
        return (f"Geometry({list(self.shape)}, strides={list(self.strides)}, offset={self.offset}, "
                f"{self.dtype.name})")

    @property
    def nbytes(self) -> int:
        """How many bytes the elements take that are read, each of them once."""
        return self.numel * self.dtype.itemsize

    @property
    def order(self) -> tuple[int, ...]:
        """Dimensions from the largest stride to the smallest: the order of the elements in memory."""
        family = self.family
        if family.order is None:
            size = list(zip(self.strides, self.shape))
            family.order = tuple(sorted(range(self.ndim), key=size.__getitem__, reverse=True))
        return family.order

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides, 0 where the extent is 1: which elements are read says no more."""
        family = self.family
        if family.steps is None:
            family.steps = tuple([s if n > 1 else 0 for n, s in zip(self.shape, self.strides)])
        return family.steps

    @property
    def flat(self) -> Geometry:
        """A vector of as many elements, from the start of a storage."""
        family = self.family
        if family.flat is None:
            found = contiguous((self.numel,), self.dtype, self.device)
            if found.family is family:  # not kept: it would hold itself
                return found
            family.flat = found
        return family.flat

    @property
    def is_dense(self) -> bool:
        """Whether the elements lie without gaps or overlaps, in some order of dimensions."""
        return self.is_contiguous or (self.numel == self.family.span and self.has_no_gaps)

    @property
    def has_no_gaps(self) -> bool:
        """Whether it is dense except for dimensions in which the same elements are read again and again."""
        family = self.family
        if family.gapless is None:
            family.gapless = family.is_contiguous or follow(family.shape, family.strides)
        return family.gapless

    def at(self, dim: int, position: int) -> Geometry:
        """One position of a dimension, without that dimension."""
        return self.family.parts(dim)[self.offset + position * self.strides[dim]]

    def with_view(self, shape: Sequence[int], strides: Sequence[int], offset: int) -> Geometry:
        """Another view of the same storage."""
        return intern(Size(shape), tuple(strides), offset, self.dtype, self.device)


def _too_large(shape: Sequence[int]) -> Exception:
    for place, n in enumerate(shape, 1):
        if n >= 1 << 63:
            return TypeError(f"empty(): argument 'size' failed to unpack the object at pos {place} with "
                             'error "Overflow when unpacking long long"')
    return RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")


class Family(dict[int, Geometry]):
    """The geometries that differ in their offset alone, by offset; what is missing is made.

    ``kind``: the dtype, which extents are 0, 1 or more, where elements are read again and again, and whether
    it is contiguous: what kernels differ in. ``plain``: whether rows follow one another, with gaps,
    repeated, or not, so that shapes tell how results of operators lie; extents of 1 do not count. ``first``:
    the extent of the first dimension; ``table``: the same, if it is longer than ``TABLE``; ``rows``: what its
    positions are, once somebody asked; ``line``: those of a table from its beginning, by position, which
    takes fewer steps than by offset.
    """

    __slots__ = ("shape", "strides", "dtype", "device", "ndim", "numel", "is_contiguous", "kind", "plain",
                 "span", "first", "table", "rows", "line", "order", "steps", "flat", "gapless", "spare",
                 "_part", "_stretch", "_cuts", "_room", "passes", "_lately")

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__

    _lately: deque[int] | None      # of members that pass the offsets, the oldest first

    def __init__(self, shape: Size, strides: tuple[int, ...], dtype: dtype, device: device) -> None:
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.device = device
        self.ndim = len(shape)
        numel = span = regime = 1
        inner, ordered, plain = 0, True, True
        for n, s in zip(tuple(shape)[::-1], strides[::-1]):     # a ``Size`` takes longer to reverse
            regime = 4 * regime + (n if n < 2 else 2 if s else 3)
            if n != 1:
                if s != numel:
                    ordered = False
                if s:
                    plain = plain and s > inner
                    inner = s
                numel *= n
                span += (n - 1) * s
        if numel >= 1 << 60 and any(strides):
            raise _too_large(shape)
        self.numel, self.span = numel, span
        self.is_contiguous = ordered or not numel
        self.kind = dtype, 2 * regime + self.is_contiguous
        self.plain = plain and numel > 0
        self.order: tuple[int, ...] | None = None
        self.steps: tuple[int, ...] | None = None
        self.flat: Geometry | None = None
        self.gapless: bool | None = None
        self._part: tuple[int, Family] | None = None    # the latest ``parts``
        self._stretch: tuple[int, Family] | None = None     # the latest ``stretch``
        self._cuts = _NO_CUTS   # what ``cut`` gave lately
        self._room = _ROOM
        self.passes = False     # whether few of its members are met again: parts at any place, rows of many
        self.spare = _NO_SPARE  # what it let go of
        self.first = next(iter(shape), 0)
        self.table = self.first if self.first > TABLE else 0
        self.rows: Family | None = None
        self.line: list[Geometry | None] | None = None

    def __missing__(self, offset: int) -> Geometry:
        """A member that was not met, or not lately. (Note: hot functions, in ``recording/record.py``)"""
        if not self.passes:
            return self._remembered(offset)
        lately = self._lately
        if lately is None:      # most that pass have one member only
            lately = self._lately = deque()
        lately.append(offset)
        if _PASSING < len(lately) <= _LATELY:
            old = self.pop(lately.popleft(), None)  # from here on nobody finds it
            if old is not None:
                if _refcount(old) <= UNHELD:
                    old.offset = offset
                    old.extent = offset + self.span
                    return self.setdefault(offset, old)     # another thread may have been quicker
                lately.append(self.setdefault(old.offset, old).offset)
        return self._made_of_old(offset, lately)

    def _made_of_old(self, offset: int, lately: deque[int]) -> Geometry:
        made, enough = None, _PASSING
        for _ in _TRIES:
            if len(lately) <= enough:
                break
            old = self.pop(lately.popleft(), None)
            if old is not None and _refcount(old) > UNHELD:
                lately.append(self.setdefault(old.offset, old).offset)
            elif old is not None:
                made, enough = old, _LATELY
        if made is None:
            return self.setdefault(offset, Geometry(self, offset))
        made.offset = offset
        made.extent = offset + self.span
        return self.setdefault(offset, made)

    def _remembered(self, offset: int) -> Geometry:
        if len(self) >= self._room:
            self._grow()
        if self.spare:
            made = self.spare.pop()
            made.offset = offset
            made.extent = self.numel and offset + self.span
        else:
            made = Geometry(self, offset)
        return self.setdefault(offset, made)

    def pass_by(self) -> None:
        """From now on few of the members are met again: one is made of the oldest, if nobody holds that."""
        if self.numel and not self.passes:
            self._lately = None
            self.passes = True

    def _grow(self) -> None:
        taken[0] += self._room
        self._room *= 2
        if taken[0] > taken[1]:
            sweep()

    def let_go(self) -> int:
        """Let go of members that nobody else holds: the next ones are made of them. How many stay.

        They are taken out before the question is final, so that no other thread gets hold of them meanwhile.
        """
        spare: list[Geometry] = []
        for offset, member in list(self.items()):
            if _refcount(member) <= UNHELD + 2:     # by the family, and by the pair
                self.pop(offset)
                if _refcount(member) <= UNHELD + 1:
                    spare.append(member)
                else:
                    self.setdefault(offset, member)
        self.spare = spare
        self._room = max(_ROOM, 2 * len(self))
        return len(self)

    def forget_ways(self) -> None:
        """Forget the short ways to members and to other families, which hold them."""
        self.line = None
        self._cuts = _NO_CUTS

    def forget_spare(self) -> None:
        """Let go of what the next members would be made of."""
        self.spare = _NO_SPARE

    def parts(self, dim: int) -> Family:
        """What positions of a dimension are, without that dimension."""
        found = self._part
        if found is None or found[0] != dim:
            shape, strides = tuple(self.shape), self.strides
            found = self._part = dim, _family((Size(shape[:dim] + shape[dim + 1:]),
                                               strides[:dim] + strides[dim + 1:], self.dtype, self.device))
        return found[1]

    def row(self, offset: int, position: int) -> Geometry:
        """One position of the first dimension of what begins at an offset."""
        rows = self.rows
        if rows is None:
            rows = self.rows = self.parts(0)
            if self.first > LINE:
                rows.pass_by()
        found = rows[offset + position * self.strides[0]]
        if not offset and not rows.passes:
            line = self.line
            if line is None:
                line = self.line = [None] * self.first
                taken[1] += 2 * self.first     # room for them, before it is asked who holds any
            line[position] = found
        return found

    def stretch(self, length: int) -> Family:
        """What so many positions of the first dimension are, one after the other."""
        found = self._stretch
        if found is None or found[0] != length:
            found = self._stretch = length, _family((Size((length, *tuple(self.shape)[1:])), self.strides,
                                                     self.dtype, self.device))
        return found[1]

    def cut(self, lengths: tuple[int | None, ...]) -> Family:
        """What so many positions of the first dimensions are; None: one, without that dimension."""
        found = self._cuts.get(lengths)
        if found is None:
            given = len(lengths)
            strides = [s for s, n in zip(self.strides, lengths) if n is not None]
            found = _family((Size((*[n for n in lengths if n is not None], *tuple(self.shape)[given:])),
                             (*strides, *self.strides[given:]), self.dtype, self.device))
            if None not in lengths:
                found.pass_by()
            if not 0 < len(self._cuts) < _CUTS:
                self._cuts = {}
            self._cuts[lengths] = found
        return found


# Of most families, of which there is one for each geometry that comes only once.
_NO_CUTS: dict[tuple[int | None, ...], Family] = {}
_NO_SPARE: list[Geometry] = []

# A dimension that is longer is taken for the rows of a table: which is read next is not the same as in the
# last step, and to remember how it was read would push out what comes back.
TABLE = 1024
LINE = 1 << 15          # of a longer table few rows are remembered
_CUTS = 256             # how many ways of cutting a family are remembered: of a text's, one for each length
_ROOM = 32              # how many members a family has room for at first
_PASSING = 1 << 6       # and how many at most, where most are met once and nobody holds them
_LATELY = 1 << 10       # from so many on there become fewer again, which somebody held for a while
_TRIES = range(2)
_INTEGERS = {int}
_contiguous: Recent[tuple[object, ...], Geometry] = Recent(1 << 13)


def _family(key: Key) -> Family:
    """The one family of a shape, strides, dtype and device."""
    found = families.get(key)
    if found is None:
        refuse_unfilled(key[2])
        shape, strides, _, _ = key
        for n, s in zip(shape, strides):
            if n.__class__ is not int or s.__class__ is not int:
                return _family((Size(map(index, shape)), tuple(map(index, strides)), *key[2:]))
        found = families[key] = Family(shape, strides, key[2], key[3])
        taken[0] += 1
        if taken[0] > taken[1]:
            sweep()
    return found


def intern(shape: Size, strides: tuple[int, ...], offset: int, dtype: dtype, device: device) -> Geometry:
    """The one geometry with these fields."""
    family = _family((shape if shape.__class__ is Size else Size(shape), strides, dtype, device))
    return family[offset if offset.__class__ is int else index(offset)]


def contiguous(shape: Sequence[int], dtype: dtype, device: device = CPU) -> Geometry:
    """The geometry of a fresh, contiguous tensor."""
    key = (tuple(shape), dtype, device)
    found = _contiguous.get(key)
    if found is None:
        if not {*map(type, shape)} <= _INTEGERS:
            return contiguous([index(n) for n in shape], dtype, device)
        size = Size(shape)
        found = _contiguous.keep(key, intern(size, row_major_strides(size), 0, dtype, device))
    return found


def known_contiguous(shape: tuple[int, ...], dtype: dtype, device: device) -> Geometry | None:
    """The same of integers, if it was asked for lately."""
    return _contiguous.get((shape, dtype, device))


def dense_like(shape: Sequence[int], template: Geometry, dtype: dtype) -> Geometry:
    """A fresh dense geometry whose dimensions lie in memory in the order of ``template``'s.

    Of a dense template of the same shape the strides are kept as they are, also where the size is 1.
    """
    if shape is template.shape and dtype is template.dtype and template.is_dense and not template.offset \
            and template.__class__ is Geometry:
        return template
    if len(shape) != template.ndim:
        return contiguous(shape, dtype, template.device)
    if template.is_dense and (shape is template.shape or tuple(shape) == template.shape):
        return intern(template.shape, template.strides, 0, dtype, template.device)
    return intern(Size(shape), dense_strides(shape, [template.strides]), 0, dtype, template.device)
