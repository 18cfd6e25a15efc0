"""Views by integers, slices, None and Ellipsis: what most keys of ``x[key]`` are."""

from __future__ import annotations

from functools import partial
from operator import index as as_index
from typing import Any

from ...devices import META
from ...dtypes import int64
from ...graph.geometry import TABLE, Geometry
from ...graph.operator import Operator
from ...tensor import Tensor, view
from ...tensor.aliasing.views import has_no_history, part, row
from ..shapes.expanding import UNSQUEEZE
from ..shapes.slicing import SELECT, SLICE

_PLAIN = {int, slice, type(None), type(Ellipsis)}
_extent = tuple.__getitem__     # of a Size, whose own method looks for slices


def select(x: Tensor, dim: int, position: int, place: int) -> Tensor:
    """``x`` at a position of a dimension, which the key's item number ``place`` names."""
    g = x._geometry
    if dim >= g.ndim:
        if g.ndim == 0:
            if position:
                raise IndexError(f"index {position} is out of bounds for dimension 0 with size 0")
            raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                             "`tensor.item<T>()` in C++ to "
                             "convert a 0-dim tensor to a number")
        raise IndexError(f"index {position} is out of bounds for dimension {place} with size 0")
    n = _extent(g.shape, dim)
    if not -n <= position < n:
        raise IndexError(f"index {position} is out of bounds for dimension {place} with size {n}")
    if dim == 0 and n > TABLE:
        return row(x, position if position >= 0 else position + n)
    return view(SELECT, x, (dim, position))


def _whole(bound: Any) -> Any:
    """A bound of a slice as an integer."""
    try:
        return as_index(bound)
    except TypeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None


def sliced(x: Tensor, dim: int, key: slice, keep_whole: bool) -> Tensor:
    """A stretch of a dimension; ``keep_whole``: a view of its own even where it is all of it."""
    start, stop, step = key.start, key.stop, key.step
    if start is not None and start.__class__ is not int:
        start = _whole(start)
    if stop is not None and stop.__class__ is not int:
        stop = _whole(stop)
    if step is None:
        step = 1
    else:
        step = _whole(step)
        if step <= 0:
            raise ValueError("step must be greater than zero" if step else "slice step cannot be zero")
    shape = x._geometry.shape
    if dim >= len(shape):
        if not shape:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        if step == 1 and not start and (stop is None or stop >= 0):
            return x    # the whole of what is not there
        raise IndexError(f"Dimension out of range (expected to be in range of [{-len(shape)}, "
                         f"{len(shape) - 1}], but got {dim})")
    if (
        not keep_whole
        and step == 1
        and (start is None or start == 0)
        and (stop is None or stop >= shape[dim])
    ):
        return x
    return view(SLICE, x, (dim, start, stop, step))


def is_position(item: Any) -> bool:
    """Whether an item of a key is a tensor that stands for an integer: it gives a view, as that does."""
    return item.__class__ is Tensor and item._geometry.dtype is int64 and not item._geometry.ndim \
        and item._geometry.device is not META


def simple_view(x: Tensor, items: tuple[Any, ...]) -> Tensor | None:
    """The view for a key that makes one, item after item; None where there is more to it, or too much."""
    g = x._geometry
    is_bare = has_no_history(x) and len(items) <= g.ndim
    if is_bare and (found := part_of(g, items)) is not None:
        return part(x, found, partial(_steps, g, items))
    kinds = {*map(type, items)}
    if not kinds <= _PLAIN:
        if Tensor in kinds:
            items = tuple([item.item() if is_position(item) else item for item in items])
        if not {*map(type, items)} <= _PLAIN:
            return None
        if is_bare and (found := part_of(g, items)) is not None:
            return part(x, found, partial(_steps, g, items))
    return _one_by_one(x, items)


def _one_by_one(x: Tensor, items: tuple[Any, ...]) -> Tensor | None:
    dim = 0
    # The dimensions of an ellipsis.
    left = x._geometry.ndim - len(items) + items.count(None) + items.count(Ellipsis)
    if left < 0:
        return None
    for place, item in enumerate(items):
        if item.__class__ is int:
            x = select(x, dim, item, place)
        elif item is Ellipsis:
            dim += left     # a second one too: then nothing is left for what follows
        else:
            if item is None:
                x = view(UNSQUEEZE, x, (dim,))
            elif item.start is not None or item.stop is not None or item.step is not None:
                x = sliced(x, dim, item, False)
            dim += 1
    return x


def part_of(g: Geometry, items: tuple[Any, ...]) -> Geometry | None:
    """What integers and slices cut out in one step; None where it is the whole, another key, or a mistake."""
    lengths: list[int | None] = []
    offset, whole = g.offset, True
    for item, n, stride in zip(items, g.shape, g.strides):
        if item.__class__ is slice:
            start, stop = item.start, item.stop
            if item.step is not None:
                return None
            if start is None:
                if stop is None:
                    lengths.append(n)
                    continue
                start = 0
            elif start.__class__ is not int:
                return None
            elif start < 0:
                start += n
            if stop is None:
                stop = n
            elif stop.__class__ is not int:
                return None
            elif stop < 0:
                stop += n
            if not 0 <= start <= stop <= n:
                return None
            lengths.append(stop - start)
            if stop - start != n:
                offset += start * stride
                whole = False
        elif item.__class__ is int and -n <= item < n:
            offset += (item if item >= 0 else item + n) * stride
            lengths.append(None)
            whole = False
        else:
            return None
    if whole or len(lengths) < len(items):
        return None
    return g.family.cut(tuple(lengths))[offset]


def _steps(g: Geometry, items: tuple[Any, ...]) -> tuple[tuple[Operator, tuple[Any, ...]], ...]:
    """The view operators that make the same part, one after the other."""
    how: list[tuple[Operator, tuple[Any, ...]]] = []
    dim = 0
    for item, n in zip(items, g.shape):
        if item.__class__ is int:
            how.append((SELECT, (dim, item)))
            continue
        start, stop, _ = item.indices(n)
        if stop - start != n:
            how.append((SLICE, (dim, start, stop, 1)))
        dim += 1
    return tuple(how)
