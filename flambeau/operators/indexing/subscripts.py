"""``x[key]`` and ``x[key] = value``: views for integers, slices, None and Ellipsis; indices for the rest."""

from __future__ import annotations

from math import copysign, inf
from operator import index as as_index
from typing import Any

import numpy as np

from ... import dtypes
from ...executors.interpreter.places import places
from ...graph.geometry import contiguous
from ...tensor import Tensor, assign, state, view
from ...tensor.aliasing.inplace import require_no_overlap, write_whole
from ...tensor.aliasing.overlap import require_apart
from ...tensor.aliasing.subscripts import known_view, makers
from ...tensor.aliasing.views import is_plain, moved, row, stretch
from ...tensor.batching import any_batched
from ...tensor.construct import from_array
from ...tensor.construct import tensor as make_tensor
from ...tensor.samples.known import known_arrays
from ...tensor.samples.stacking import take_rows
from ...tensor.warned import warn
from ...type_info import finfo
from ..calls.arguments import type_in_words
from ..calls.extents import type_name
from ..calls.number_range import number_for
from ..creation.casting import cast
from ..creation.creation import filled
from ..interop.looking import look
from ..shapes.expanding import UNSQUEEZE
from ..shapes.shape import ALIAS
from ..shapes.slicing import SELECT, SLICE
from . import index_operators
from .bare_writes import write_bare
from .by_positions import Positions, chosen_by, positions_in
from .elements import assign_number, known_number
from .filling import fill_subscript, once, repeated_dims, warn_expanded
from .masking import MASKED_FILL, chosen_at_once, masked_fill_
from .subscript_views import is_position, select, simple_view, sliced

_SEQUENCE = (list, tuple, range)
_BAD = ("only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
        "(got {})")


def _as_items(key: Any) -> tuple[Any, ...]:
    """A key as a tuple of single indices (lists of lists count as tuples, as they always have)."""
    if key.__class__ is tuple:
        return key
    if isinstance(key, list) and len(key) < 32 and any(
            isinstance(k, (Tensor, *_SEQUENCE, slice)) or k is None or k is Ellipsis for k in key):
        warn("Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in "
             "pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as "
             "tensor index, x[torch.tensor(seq)], which will result either in an error or a different result")
        return tuple(key)
    return tuple(key) if isinstance(key, tuple) else (key,)


def _as_index_tensor(item: Any) -> Tensor:
    if isinstance(item, Tensor):
        return item
    if isinstance(item, (np.ndarray, np.generic)):
        return from_array(np.array(item))
    if isinstance(item, _SEQUENCE):
        items = list(item)
        if items and isinstance(items[0], str):
            raise TypeError("new(): invalid data type 'str'")
        made = make_tensor(items)
        return cast(made, dtypes.int64) if made.numel() == 0 else made
    if isinstance(item, str):
        raise TypeError("new(): invalid data type 'str'")
    if hasattr(item, "__index__"):
        return from_array(np.array(as_index(item), np.int64))
    raise IndexError(_BAD.format(type_in_words(item)))


class Subscript:
    """A key applied to a tensor: the view of its integers, slices and new dimensions, and what is left."""

    __slots__ = ("view", "dims", "indices", "mask", "bare", "keep_whole")

    def __init__(self, x: Tensor, key: Any, keep_masks: bool = False, writing: bool = False) -> None:
        self.bare = key.__class__ is not tuple
        self.keep_whole = self.bare and not writing  # x[:] is a view of its own; x[:] = value writes x itself
        items = [
            item
            if item is None or item is Ellipsis or item.__class__ in (int, bool, slice)
            else self._prepared(item)
            for item in _as_items(key)
        ]
        self.dims: list[int] = []
        self.indices: list[Tensor] = []
        self.mask: tuple[Tensor, int] | None = None
        self.view = self._apply(x, items, keep_masks)

    @staticmethod
    def _prepared(item: Any) -> Any:
        if isinstance(item, slice):
            return item
        if isinstance(item, (np.bool_, np.integer)):
            return item.item()
        tensor = _as_index_tensor(item)
        category = tensor._geometry.dtype.category
        if category > dtypes.INTEGER or tensor._geometry.dtype.name not in (
            "int64",
            "int32",
            "uint8",
            "bool",
        ):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if tensor._geometry.dtype is dtypes.uint8 and tensor._geometry.ndim:
            warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
        one = tensor._geometry.ndim == 0 and tensor._geometry.device.type != "meta"
        if one and not any_batched((tensor,)):
            found = tensor.item()   # a view, as PyTorch gives
            return bool(found) if tensor._geometry.dtype is dtypes.uint8 else found
        return tensor

    def _apply(self, x: Tensor, items: list[Any], keep_masks: bool) -> Tensor:
        specified = sum(_width(item) for item in items)
        ndim = x._geometry.ndim
        if specified > ndim:
            if ndim == 0 and self.bare and items[0].__class__ is int:
                select(x, 0, items[0], 0)
            if ndim == 0 and self.bare and items[0].__class__ is slice:
                raise IndexError("slice() cannot be applied to a 0-dim tensor.")
            raise IndexError(f"too many indices for tensor of dimension {ndim}")
        dim = 0
        tensors: list[tuple[int, Tensor]] = []
        for place, item in enumerate(items):
            kind = item.__class__
            if kind is int:
                x = select(x, dim, item, place)
            elif kind is slice:
                x = sliced(x, dim, item, self.keep_whole)
                dim += 1
            elif item is None:
                x = view(UNSQUEEZE, x, (dim,))
                dim += 1
            elif item is Ellipsis:
                dim += ndim - specified     # a second one too: then nothing is left for what follows
            elif kind is bool:
                x = view(UNSQUEEZE, x, (dim,))
                tensors.append((dim, from_array(np.zeros(int(item), np.int64))))
                dim += 1
            else:
                tensors.append((dim, item))
                dim += _width(item)
        for dim, item in tensors:
            self._tensor(x, item, dim, keep_masks and len(items) == 1)
        return x

    def _add(self, dim: int, index: Tensor) -> None:
        self.dims.append(dim)
        self.indices.append(index)

    def _tensor(self, x: Tensor, item: Tensor, dim: int, keep_mask: bool) -> None:
        g = item._geometry
        if g.dtype.name not in ("bool", "uint8"):
            self._add(dim, item)
            return
        shape = x._geometry.shape
        for d, n in enumerate(g.shape):
            if n != shape[dim + d]:
                raise IndexError(f"The shape of the mask {list(g.shape)} at index {d} does not match the "
                                 f"shape of the indexed tensor {list(shape)} at index {dim + d}")
        if keep_mask:
            self.mask = (item, dim)
            return
        for d, positions in enumerate(places(look(item, "index"))):
            self._add(dim + d, from_array(positions.astype(np.int64, copy=False)))


def _width(item: Any) -> int:
    if item is None or item is Ellipsis or item.__class__ is bool:
        return 0
    if item.__class__ in (int, slice):
        return 1
    return item._geometry.ndim if item._geometry.dtype.name in ("bool", "uint8") else 1


def _rows(x: Tensor, key: list[Any]) -> Tensor | None:
    """The rows at a list of positions, at once; None where that has to be recorded, or is a mistake."""
    if not key or not {*map(type, key)} <= _POSITIONS or not x._geometry.is_contiguous \
            or (tables := known_arrays((x,))) is None:
        return None
    (table,), rows = tables, np.array(key)
    if not table.ndim or rows.dtype != np.int64 or rows.min() < 0 or rows.max() >= len(table):
        return None
    return take_rows(table, rows, table.shape[1:])


def _by_mask(x: Tensor, key: tuple[Any, ...]) -> Tensor | None:
    """What a mask of one dimension chooses after integers, at once; None where there is more to a key."""
    for k, item in enumerate(key):
        if item.__class__ is Tensor and item._geometry.dtype is dtypes.bool_ and item._geometry.ndim == 1:
            whole = simple_view(x, (*key[:k], _WHOLE, *key[k + 1:]))
            return None if whole is None else chosen_at_once(whole, item)
        if item.__class__ is not int:
            break
    return None


_WHOLE = slice(None)
_POSITIONS = {int}
_FIRST = (0,)


def getitem(self: Tensor, key: Any) -> Tensor:
    """``x[key]``: a view for integers, slices, None and Ellipsis, a copy for lists and tensors.

    >>> import flambeau as torch
    >>> x = torch.arange(6).reshape(2, 3)
    >>> x[:, -1], x[x > 3]
    (tensor([2, 5]), tensor([4, 5]))
    """
    if key.__class__ is int:
        family = self._geometry.family
        if 0 <= key < family.table or (0 <= key < family.first and state.at_once is not None):
            return row(self, key)
        return select(self, 0, key, 0)
    if key.__class__ is slice:
        start, stop = key.start, key.stop
        if start.__class__ is int and stop.__class__ is int and key.step is None \
                and 0 <= start < stop <= self._geometry.family.table \
                and (rows := stretch(self, key)) is not None:
            return rows
        return sliced(self, 0, key, True)
    if key is None:
        sample = moved(UNSQUEEZE, self, _FIRST) if state.at_once else None
        return view(UNSQUEEZE, self, _FIRST) if sample is None else sample
    if key is Ellipsis:
        return view(ALIAS, self)
    if key.__class__ is tuple:
        if (known := known_view(self, key)) is not None:
            return known
        if Tensor in map(type, key) and (chosen := chosen_by(self, key)) is not None:
            return chosen
        simple = simple_view(self, key)
        if simple is not None:
            return view(ALIAS, self) if simple is self else simple
        if (chosen := _by_mask(self, key)) is not None:
            return chosen
    elif is_position(key):
        return getitem(self, key.item())
    elif key.__class__ is Tensor and key._geometry.dtype is dtypes.int64 and key._geometry.ndim \
            and self._geometry.ndim:
        return index_operators.read_rows(self, key)
    elif key.__class__ is Tensor and key._geometry.dtype is dtypes.bool_:
        chosen = chosen_at_once(self, key)
        if chosen is None:
            chosen = chosen_by(self, (key,))
        if chosen is not None:
            return chosen
    elif key.__class__ is list and state.at_once and (rows := _rows(self, key)) is not None:
        return rows
    found = Subscript(self, key)
    if not found.dims:
        return view(ALIAS, self) if found.view is self else found.view
    dims = tuple(found.dims)
    index_operators.check_known(found.view, found.indices, dims)
    return index_operators.read(found.view, found.indices, dims)


def setitem(self: Tensor, key: Any, value: Any) -> None:
    """``x[key] = value``, written in place (Note: hot functions, in ``recording/record.py``)."""
    kind = value.__class__
    simple_number = known_number(value, self) if kind is Tensor else value
    if simple_number.__class__ in (float, int) and assign_number(self, key, simple_number):
        return
    number = kind in (int, float, bool, complex)
    if number and self._geometry.dtype in (dtypes.float16, dtypes.bfloat16):
        value = _rounded(value, self._geometry.dtype)
    elif not number and not isinstance(value, Tensor):
        if not isinstance(value, (np.generic, int, float, bool, complex)):
            raise TypeError(f"can't assign a {_type_title(value)} to a {type_name(self._geometry)}")
        value, number = value.item() if isinstance(value, np.generic) else value, True
    items = (key,) if key.__class__ is int or key.__class__ is slice or is_position(key) else key
    if items.__class__ is Tensor and number and _fill_chosen(self, items, value):
        return
    if items.__class__ is tuple:
        if Tensor in map(type, items) and len(items) > 1 and (found := positions_in(self, items)) is not None:
            _put(self, found, value, number)
            return
        if (number or kind is Tensor) and write_bare(self, items, value, number):
            return
        simple = simple_view(self, items)
        if simple is not None and number:
            require_no_overlap(simple._geometry)
            fill_subscript(simple, value)
            return
        if simple is not None and simple._geometry.shape == value._geometry.shape:
            if value._storage is self._storage and value._geometry is simple._geometry and is_plain(self) \
                    and not value._requires_grad:
                self._storage.version += 1      # x[i] += y assigns to x[i] what was just written there
            else:
                simple.copy_(value)
            return
    _set_generally(self, key, value, number)


def _set_generally(x: Tensor, key: Any, value: Any, number: bool) -> None:
    """``setitem`` of a number or a tensor, whatever the subscript is."""
    if key is False:
        return
    if key is True:     # no indices are made of it
        key = None
    scalar = number or value._geometry.ndim == 0
    found = Subscript(x, key, keep_masks=scalar, writing=True)
    target = found.view
    if found.mask is not None:
        mask, dim = found.mask
        trailing = target.ndim - dim - mask.ndim
        mask = mask.bool() if mask.dtype is not dtypes.bool_ else mask
        target.masked_fill_(mask.reshape(*mask.shape, *[1] * trailing) if trailing else mask, value)
        return
    if not found.dims:
        if number:
            require_no_overlap(target._geometry)
            fill_subscript(target, value)
        else:
            if not value.ndim and value._storage is target._storage:
                value = value.clone()       # one element: it is read before any is written
            target.copy_(_without_leading_ones(value, target.ndim).expand(target.shape))
        return
    _put(target, Positions(tuple(found.dims), found.indices, ()), value, number)


def _fill_chosen(x: Tensor, mask: Tensor, value: Any) -> bool:
    """Write a number where a mask is true; false, and nothing done, if the key is another or does not fit."""
    g, shape = mask._geometry, tuple(x._geometry.shape)
    if g.dtype is not dtypes.bool_ or not g.ndim or g.shape != shape[:g.ndim]:
        return False
    trailing = len(shape) - g.ndim
    if not trailing and write_whole(MASKED_FILL, x, (x, mask, number_for(value, x._geometry.dtype))):
        return True
    masked_fill_(x, mask.reshape(*g.shape, *[1] * trailing) if trailing else mask, value)
    return True


def _put(x: Tensor, at: Positions, value: Any, number: bool) -> None:
    """Write a number or a tensor to positions."""
    dims, indices, within = at
    g = x._geometry
    if number:
        value = filled(contiguous((), g.dtype, g.device), number_for(value, g.dtype))
    index_operators.check_known(x, indices, dims, within)
    require_apart(x, (value, *indices), same_allowed=False)
    if value._geometry.ndim:
        value = _without_leading_ones(value, len(index_operators.indexed_shape(
            g.shape, dims, index_operators.index_shape([i._geometry.shape for i in indices]))))
    put_in_place(x, value, indices, dims, False)


def put_in_place(x: Tensor, values: Tensor, indices: Any, dims: tuple[int, ...], accumulate: bool) -> None:
    """Write or add values at index tensors. To what several elements of an expanded tensor are, one after
    the other is written.
    """
    repeated = repeated_dims(x) if 0 in x._geometry.strides else None
    if not repeated:
        assign(x, index_operators.put(x, values, indices, dims, accumulate), "index_put_")
        return
    warn_expanded("index_put_", "tensor[indices] = tensor")
    elements = once(x, repeated)
    numbers = from_array(np.arange(elements.numel()).reshape(elements.shape)).expand(x.shape)
    chosen = index_operators.read(numbers, indices, dims)
    index_operators.require_broadcast(values.shape, chosen.shape)
    written = index_operators.put(elements.reshape(-1), values.expand(chosen.shape).reshape(-1),
                                  (chosen.reshape(-1),), _FIRST, accumulate)
    assign(elements, written.reshape(elements.shape), "index_put_")


def _rounded(value: Any, dtype: dtypes.dtype) -> Any:
    """A number to assign, infinite where 16 bits do not hold it."""
    if value.__class__ is complex or not abs(value) > finfo(dtype).max:
        return value
    return copysign(inf, value)


def _type_title(value: Any) -> str:
    return "numpy.ndarray" if isinstance(value, np.ndarray) else type(value).__name__


def _without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    shape = value._geometry.shape
    lead = len(shape) - ndim
    if lead > 0 and all(n == 1 for n in shape[:lead]):
        return value.reshape(shape[lead:])
    return value


makers += SELECT, SLICE, UNSQUEEZE, ALIAS
_methods: Any = Tensor
_methods.__getitem__ = getitem
_methods.__setitem__ = setitem
