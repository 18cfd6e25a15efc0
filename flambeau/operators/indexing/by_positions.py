"""Keys of index tensors and masks beside whole dimensions: most of those that make no view."""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import dtypes
from ...devices import META
from ...tensor import Tensor
from ..interop.looking import look
from .index_operators import check_known, read
from .masking import chosen_at_once, positions_where


class Positions(NamedTuple):
    """Index tensors, and for which dimensions; ``within``: the numbers of those that masks gave."""

    dims: tuple[int, ...]
    indices: list[Tensor]
    within: tuple[int, ...]


def positions_in(x: Tensor, key: tuple[Any, ...]) -> Positions | None:
    """What a key of index tensors, masks and whole dimensions stands for; None where there is more to it."""
    dims: list[int] = []
    items: list[Tensor] = []
    dim, masked, shape = 0, False, tuple(x._geometry.shape)
    for item in key:
        if item.__class__ is Tensor:
            g = item._geometry
            if not g.ndim or g.device is META:
                return None
            if g.dtype is dtypes.bool_ and g.shape == shape[dim:dim + g.ndim]:
                masked = True
                dims += range(dim, dim + g.ndim)
                dim += g.ndim
            elif g.dtype is dtypes.int64:
                dims.append(dim)
                dim += 1
            else:
                return None
            items.append(item)
        elif item.__class__ is slice and item.start is item.stop is item.step is None:
            dim += 1
        else:
            return None
    if dim > len(shape) or not dims:
        return None
    return _with_places(tuple(dims), items) if masked else Positions(tuple(dims), items, ())


def _with_places(dims: tuple[int, ...], items: list[Tensor]) -> Positions:
    """The same with what masks choose in their places."""
    indices: list[Tensor] = []
    within: list[int] = []
    for item in items:
        if item._geometry.dtype is not dtypes.bool_:
            indices.append(item)
            continue
        found = positions_where(look(item, "index"))
        within += range(len(indices), len(indices) + len(found))
        indices += found
    return Positions(dims, indices, tuple(within))


def chosen_by(x: Tensor, key: tuple[Any, ...]) -> Tensor | None:
    """What index tensors and masks choose beside whole dimensions; None where there is more to a key."""
    first = key[0]
    if first.__class__ is Tensor and first._geometry.dtype is dtypes.bool_ and len(key) > 1 \
            and len(key) + first._geometry.ndim <= x._geometry.ndim + 1 and _are_whole(key[1:]) \
            and (chosen := chosen_at_once(x, first)) is not None:
        return chosen
    found = positions_in(x, key)
    if found is None:
        return None
    check_known(x, found.indices, found.dims, found.within)
    return read(x, found.indices, found.dims)


def _are_whole(items: tuple[Any, ...]) -> bool:
    """Whether all items of a key are ``:``."""
    return all(item.__class__ is slice and item.start is item.stop is item.step is None for item in items)
