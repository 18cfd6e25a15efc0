"""Elements repeated or in another order: flip, roll, rot90, repeat, tile, repeat_interleave."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from operator import index
from typing import Any

import numpy as np

from ...graph.geometry import Geometry, contiguous, dense_like
from ...graph.operator import OnStacks
from ...layouts import contiguous_format
from ...tensor import Tensor, check_dim, record, record_one
from ...tensor.batching import by_example
from ...tensor.construct import from_array
from ..calls.arguments import is_integer
from ..calls.extents import alone, sizes_of
from ..creation.memory_formats import suggested_geometry
from ..creation.ranges import arange
from ..declaration.definition import dense_as_first, operator
from ..declaration.domain import not_implemented
from ..declaration.registry import api
from ..interop.looking import look


def _rolled(operands: Any, attributes: Any) -> Geometry:
    g = operands[0]
    return suggested_geometry(g.shape, g)


@cache
def _backwards(ndim: int, dims: tuple[int, ...]) -> tuple[slice, ...]:
    """The subscript that reverses dimensions."""
    return tuple([slice(None, None, -1 if d in dims else None) for d in range(ndim)])


FLIP = operator("flip", dense_as_first)(lambda m, input, dims: input[_backwards(input.ndim, dims)])
ROLL = operator("roll", _rolled)(lambda m, input, shifts, dims: m.roll(input, shifts, dims))
FLIP.on_stacks, ROLL.on_stacks = OnStacks(), OnStacks(dims=1)


def _turned(operands: Any, attributes: Any) -> Geometry:
    """By a quarter it is a flipped copy whose dimensions are exchanged."""
    g, (k, (a, b)) = operands[0], attributes
    if not k:
        return contiguous(g.shape, g.dtype, g.device)
    flipped = dense_like(g.shape, g, g.dtype)
    if k == 2:
        return flipped
    shape, strides = list(flipped.shape), list(flipped.strides)
    for own in (shape, strides):
        own[a], own[b] = own[b], own[a]
    return flipped.with_view(tuple(shape), tuple(strides), 0)


ROT90 = operator("rot90", _turned)(lambda m, input, k, dims: m.rot90(input, k, dims))


@ROT90.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    k, dims = ctx.attributes
    return record(ROT90, (grad,), (-k % 4, dims))


@FLIP.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return record_one(FLIP, grad, ctx.attributes)


@ROLL.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    shifts, dims = ctx.attributes
    return record_one(ROLL, grad, (_within([-s for s in shifts], dims, grad), dims))


def _within(shifts: Sequence[int], dims: Sequence[int], x: Tensor) -> tuple[int, ...]:
    """Shifts by less than the extents, and forwards: those of the same effect have the same plans."""
    return tuple([index(s) % x.shape[d] for s, d in zip(shifts, dims)])


def _flipped_once(input: Any = None, *dims: Any) -> Tensor | None:
    """``x.flip(-1)``, mostly."""
    if input.__class__ is not Tensor or len(dims) != 1:
        return None
    dim, ndim = dims[0], input._geometry.ndim
    if (dim.__class__ is list or dim.__class__ is tuple) and len(dim) == 1:
        dim = dim[0]
    if dim.__class__ is not int or not -ndim <= dim < ndim:
        return None
    return record_one(FLIP, input, ((dim % ndim,),))


@api("torch", "Tensor", judge="first", quick=_flipped_once)
def flip(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """The order along the given dimensions reversed (a copy).

    >>> import flambeau as torch
    >>> torch.arange(3).flip(0)
    tensor([2, 1, 0])
    """
    found = tuple(
        [check_dim(d, input.ndim) for d in sizes_of(dims, "flip", "dims", alone("dims", "flip", dims, named))]
    )
    for position, d in enumerate(found):
        if d in found[:position]:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return record_one(FLIP, input, (found if input.ndim else (),))


@api("torch", "Tensor")
def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse order.

    >>> import flambeau as torch
    >>> torch.fliplr(torch.tensor([[1, 2]]))
    tensor([[2, 1]])
    """
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


@api("torch", "Tensor")
def flipud(input: Tensor) -> Tensor:
    """Rows in reverse order.

    >>> import flambeau as torch
    >>> torch.flipud(torch.tensor([[1], [2]]))
    tensor([[2],
            [1]])
    """
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


@api("torch", "Tensor", judge="first")
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements moved along dimensions (the flattened tensor, by default), coming in again at the other end.

    >>> import flambeau as torch
    >>> torch.arange(4).roll(1)
    tensor([3, 0, 1, 2])
    """
    shifts = (shifts,) if is_integer(shifts) else tuple(shifts)
    dims = () if dims is None else (dims,) if is_integer(dims) else tuple(dims)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return roll(input.reshape(-1), shifts, 0).reshape(input.shape)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if input.ndim == 0:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    found = tuple([check_dim(d, input.ndim) for d in dims])
    return record_one(ROLL, input, (_within(shifts, found, input), found)) if input.numel() else input.clone()


@api("torch", "Tensor", judge="first")
def rot90(input: Tensor, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """The plane of two dimensions turned ``k`` times by 90 degrees, from the first towards the second.

    >>> import flambeau as torch
    >>> torch.rot90(torch.arange(4).reshape(2, 2))
    tensor([[1, 3],
            [0, 2]])
    """
    dims = tuple(dims)
    ndim = input.ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = "
                           f"{dims[1]}")
    for name, d in zip(("dim0", "dim1"), dims):
        if not -ndim <= d < ndim:
            raise RuntimeError(f"Rotation {name} out of range, {name} = {d}")
    return record(ROT90, (input,), (k % 4, tuple([d % ndim for d in dims])))


# --- repetition ---------------------------------------------------------------------------------------------


def _repeat_geometry(operands: Any, attributes: Any) -> Geometry:
    g, repeats = operands[0], attributes[0]
    lead = len(repeats) - g.ndim
    if lead < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions "
                           "of tensor")
    shape = [n * r for n, r in zip((*[1] * lead, *g.shape), repeats)]
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {shape}")
    return contiguous(shape, g.dtype, g.device)


REPEAT = operator("repeat", _repeat_geometry)(lambda m, input, repeats: m.tile(input, repeats))


@REPEAT.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    shape, repeats = ctx.operand_geometry(0).shape, ctx.attributes[0]
    lead = len(repeats) - len(shape)
    full = (*[1] * lead, *shape)
    if not repeats:
        return grad
    split = [n for r, extent in zip(repeats, full) for n in (r, extent)]
    return grad.reshape(split).sum(tuple(range(0, 2 * len(full), 2))).reshape(shape)


@api("Tensor")
def repeat(self: Tensor, *repeats: Any, **named: Any) -> Tensor:
    """Copies of the tensor along each dimension.

    >>> import flambeau as torch
    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    return record(
        REPEAT, (self,), (sizes_of(repeats, "repeat", "repeats", alone("repeats", "repeat", repeats, named)),)
    )


@api("torch", "Tensor", judge="first")
def tile(input: Tensor, *dims: Any, **named: Any) -> Tensor:
    """As ``repeat``, where missing counts are 1.

    >>> import flambeau as torch
    >>> torch.tile(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    counts = sizes_of(dims, "tile", "dims", alone("dims", "tile", dims, named))
    return record_one(REPEAT, input, ((1,) * (input.ndim - len(counts)) + counts,))


@api("torch", "Tensor", judge="first")
@by_example
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element repeated in place; ``repeats`` is one count, or one for each position of ``dim``.

    >>> import flambeau as torch
    >>> torch.repeat_interleave(torch.tensor([1, 2]), torch.tensor([1, 2]))
    tensor([1, 2, 2])
    """
    if isinstance(repeats, Tensor) and repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats is None and input.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats is None:  # the counts alone: positions, each as often as its count says
        return repeat_interleave(arange(input.numel()), input, 0, output_size=output_size)
    if dim is None:
        input, dim = input.reshape(-1), 0
    scalar = input.ndim == 0
    if scalar:
        input = input.reshape(1)
    d = check_dim(dim, input.ndim)
    extent = input.shape[d]
    if not isinstance(repeats, Tensor):
        n = index(repeats)
        if n < 0:
            raise RuntimeError("Repeats must be non-negative")
        if output_size is not None and output_size != n * extent:
            raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {n * extent} but got "
                               f"{output_size}")
        wide = input.unsqueeze(d + 1).expand(*input.shape[:d + 1], n, *input.shape[d + 1:])
        return wide.clone(memory_format=contiguous_format).flatten(d, d + 1)
    if scalar and repeats.numel() != 1:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    positions = _positions(repeats, extent, dim)
    if output_size is not None and output_size != positions.numel():
        raise RuntimeError("allocated size does not match required size" if output_size >= 0 else
                           f"Trying to create tensor with negative dimension {output_size}: [{output_size}]")
    return input.index_select(d, positions)


def _positions(repeats: Tensor, extent: int, dim: int) -> Tensor:
    if repeats.dtype.name not in ("int64", "int32"):
        raise not_implemented("repeat_interleave_cpu", repeats.dtype)
    counts = look(repeats, "repeat_interleave").reshape(-1)
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    if len(counts) == 1:
        counts = np.repeat(counts, extent)
    if len(counts) != extent:
        raise RuntimeError("repeats must have the same size as input along dim, but got repeats.size(0) = "
                           f"{len(counts)} and input.size({dim}) = {extent}")
    return from_array(np.repeat(np.arange(extent), counts))
