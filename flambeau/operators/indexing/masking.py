"""Masks: masked_fill, masked_select, masked_scatter, and where a tensor is not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...devices import CPU
from ...executors.interpreter.places import places
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record
from ...tensor.aliasing.inplace import write_whole, writes_few
from ...tensor.aliasing.views import is_plain
from ...tensor.batching import by_example
from ...tensor.construct import from_array
from ...tensor.samples.known import from_value, known_arrays
from ..calls.number_range import check_number, number_for
from ..calls.out import Out, refuse_aliases, store
from ..declaration.definition import NUMBERS, broadcast_shapes, operator
from ..declaration.registry import api, in_place
from ..interop.looking import look
from ..shapes.joining import cat
from .filling import once, repeated_dims, warn_expanded


def _fill_geometry(operands: Any, attributes: Any) -> Geometry:
    g, mask = operands[:2]
    shape = broadcast_shapes([g.shape, mask.shape])
    return contiguous(shape, g.dtype, g.device)


def _fill_kernel(m: Any, input: Any, mask: Any, value: Any) -> Any:
    return m.where(mask, m.cast(m.asarray(value), input.dtype), input)


MASKED_FILL = operator("masked_fill", _fill_geometry, kind="choice")(_fill_kernel)


@MASKED_FILL.derivative("input", keeps="mask")
def _(ctx: Any, grad: Tensor, mask: Tensor) -> Tensor:
    return masked_fill(grad, mask, 0)


@MASKED_FILL.derivative("value", keeps="mask")
def _(ctx: Any, grad: Tensor, mask: Tensor) -> Tensor:
    return masked_fill(grad, ~mask, 0).sum()


def _filled(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    if mask._geometry.dtype is not dtypes.bool_:
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype "
                           f"{dtypes.c_name(mask.dtype)}")
    if isinstance(value, Tensor):
        if value._geometry.ndim:
            raise RuntimeError("masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                               f"{value.ndim} dimension(s).")
        if value.is_complex() and not input.is_complex():
            number = number_for(value.item(), input.dtype)      # only one without an imaginary part
            value = value.real if value.requires_grad else number
        elif value.dtype is not input.dtype and (found := known_arrays((value,))) is not None:
            check_number(found[0].item(), input.dtype)
    elif value is None:
        raise TypeError("masked_fill(): argument 'value' must be Number, not NoneType")
    else:
        value = number_for(value, input._geometry.dtype)
    return record(MASKED_FILL, (input, mask, value))


@api("torch", "Tensor")
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``input`` with ``value`` where ``mask`` is true; the mask is broadcast.

    >>> import flambeau as torch
    >>> torch.tensor([1., 2.]).masked_fill(torch.tensor([True, False]), 0)
    tensor([0., 2.])
    """
    try:
        return _filled(input, mask, value)
    except RuntimeError:
        broadcast_shapes([mask.shape, input.shape])     # an error names the mask first
        raise


_written = in_place(_filled, "masked_fill_", kind="pointwise")


@api("Tensor")
def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """In-place version of ``masked_fill``. Of an expanded tensor, an element is filled that is so anywhere.

    >>> import flambeau as torch
    >>> torch.zeros(2).masked_fill_(torch.tensor([True, False]), 1)
    tensor([1., 0.])
    """
    if value.__class__ in NUMBERS and mask.__class__ is Tensor and mask._geometry.dtype is dtypes.bool_ \
            and write_whole(MASKED_FILL, self, (self, mask, number_for(value, self._geometry.dtype))):
        return self
    if 0 in self._geometry.strides and (repeated := repeated_dims(self)) \
            and broadcast_shapes([self.shape, mask.shape]) == self.shape:
        warn_expanded("masked_fill_")
        anywhere = mask.expand(self.shape)
        for d in repeated:
            anywhere = anywhere.any(d, keepdim=True)
        _written(once(self, repeated), anywhere, value)
        return self
    filled: Tensor = _written(self, mask, value)
    return filled


# --- masked_select ------------------------------------------------------------------------------------------


def _select_geometry(operands: Any, attributes: Any) -> Geometry:
    return contiguous((operands[1].numel,), operands[0].dtype, operands[0].device)


@operator("masked_select", _select_geometry)
def MASKED_SELECT(m: Any, input: Any, positions: Any) -> Any:
    return m.take(input.reshape(-1), positions)


@MASKED_SELECT.derivative("input", keeps="positions", holds="input")
def _(ctx: Any, grad: Tensor, positions: Tensor) -> Tensor:
    shape = ctx.operand_geometry(0).shape
    return grad.new_zeros(shape.numel()).index_put((positions,), grad).reshape(shape)


_FEW = 1 << 12      # elements of which a mask chooses at once


def chosen_at_once(x: Tensor, mask: Tensor) -> Tensor | None:
    """The elements or rows that a mask chooses, which is looked at anyway (Note: known values).

    None where that is to be recorded: of many elements, or if history is wanted, or somebody watches.
    """
    shape, g = x._geometry.shape, mask._geometry
    if x._geometry.numel > _FEW or not g.ndim or (g.ndim < len(shape) and not x._geometry.is_contiguous) \
            or tuple(g.shape) != tuple(shape)[:g.ndim] or not is_plain(x) or not is_plain(mask) \
            or g.device is not CPU or not writes_few():
        return None
    array = look(mask, "index")
    known = known_arrays((x,))
    return None if known is None else _chosen(known[0], array, x._geometry.dtype)


def _chosen(array: Any, mask: Any, dtype: dtypes.dtype) -> Tensor:
    """NumPy's ``array[mask]``, which is slow with rows."""
    rest = array.shape[mask.ndim:]
    if not rest:
        found = array[mask]
        return from_value(found, contiguous(found.shape, dtype))
    if mask.ndim > 1:
        array, mask = array.reshape(mask.size, *rest), mask.reshape(-1)
    found = array.compress(mask, 0)
    geometry = contiguous(found.shape, dtype)
    found.resize(found.size, refcheck=False)    # no view, whose memory another array has
    return from_value(found, geometry)


def positions_where(array: Any) -> list[Tensor]:
    """Where an array is not zero: a vector for each dimension, at least one."""
    found = array.nonzero() if array.ndim == 1 and array.dtype.kind == "b" else places(array)
    return [from_value(one.copy(), contiguous(one.shape, dtypes.int64)) for one in found]


def _positions(mask: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Positions in the flattened ``shape`` where a mask, broadcast to it, is true."""
    found = np.flatnonzero(np.broadcast_to(look(mask, "masked_select"), shape))
    return from_array(found.astype(np.int64, copy=False))


@api("torch", "Tensor", out=Out("{name}(): self and result must have the same scalar type", apart=True))
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where ``mask`` is true, as a vector.

    >>> import flambeau as torch
    >>> torch.tensor([1, 2, 3]).masked_select(torch.tensor([True, False, True]))
    tensor([1, 3])
    """
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if mask.ndim == input.ndim and (chosen := chosen_at_once(input, mask)) is not None:
        return chosen
    shape = broadcast_shapes([mask.shape, input.shape])
    wide = input if input.shape == shape else input.expand(shape)
    return record(MASKED_SELECT, (wide, _positions(mask, shape)))


@operator(
    "masked_scatter",
    lambda operands, attributes: contiguous(operands[0].shape, operands[0].dtype, operands[0].device),
)
def MASKED_SCATTER(m: Any, input: Any, source: Any, positions: Any) -> Any:
    result = m.array(input, order="C").reshape(-1)
    result[positions] = source.reshape(-1)[:positions.size]
    return result.reshape(input.shape)


@MASKED_SCATTER.derivative("input", keeps="positions")
def _(ctx: Any, grad: Tensor, positions: Tensor) -> Tensor:
    return grad.put(positions, grad.new_zeros(positions.shape))


@MASKED_SCATTER.derivative("source", keeps="positions")
def _(ctx: Any, grad: Tensor, positions: Tensor) -> Tensor:
    shape = ctx.operand_geometry(1).shape
    used = grad.take(positions)
    missing = shape.numel() - used.numel()
    if missing:
        used = cat([used, used.new_zeros(missing)])
    return used.reshape(shape)


@api("torch", "Tensor", inplace=True)
@by_example
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """``input`` with the elements of ``source``, in order, where ``mask`` is true.

    >>> import flambeau as torch
    >>> torch.zeros(3).masked_scatter(torch.tensor([True, False, True]), torch.tensor([1., 2.]))
    tensor([1., 0., 2.])
    """
    if input.dtype is not source.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes but got"
                           f"{dtypes.SCALAR_NAMES[input.dtype]} and {dtypes.SCALAR_NAMES[source.dtype]}")
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError("masked_scatter_ only supports boolean masks, but got mask with dtype "
                           f"{dtypes.SCALAR_NAMES[mask.dtype]}")
    shape = broadcast_shapes([mask.shape, input.shape])
    wide = input if input.shape == shape else input.expand(shape)
    positions = _positions(mask, shape)
    if positions.numel() > source.numel():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return record(MASKED_SCATTER, (wide, source, positions))


# --- where a tensor is not zero -----------------------------------------------------------------------------


_POSITIONS = Out("nonzero: Expected out tensor to have scalar type Long but got scalar type{Out}")


@api("torch", "Tensor", judge="first")
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Any = None) -> Any:
    """Positions of the elements that are not zero: (K, number of dimensions), or a vector for each dimension.

    >>> import flambeau as torch
    >>> torch.nonzero(torch.tensor([0, 3, 4]))
    tensor([[1],
            [2]])
    """
    array = look(input, "nonzero")
    if as_tuple:
        return tuple(positions_where(array))
    found = _stacked(places(array)) if array.ndim else np.empty((0, np.count_nonzero(array)), np.int64)
    result = from_array(found).t() if array.ndim else from_array(found.T)   # dimension by dimension
    if out is None:
        return result
    refuse_aliases((input,), out, True)
    return store(result, out, "nonzero", _POSITIONS)


def _stacked(rows: tuple[Any, ...]) -> Any:
    """NumPy's ``stack`` of a few short rows, without what that asks first."""
    found = np.empty((len(rows), len(rows[0])), rows[0].dtype)
    for k, row in enumerate(rows):
        found[k] = row
    return found


@api("torch", "Tensor")
@by_example
def argwhere(input: Tensor) -> Tensor:
    """Positions of the elements that are not zero, (K, number of dimensions).

    >>> import flambeau as torch
    >>> torch.argwhere(torch.tensor([0, 3, 4]))
    tensor([[1],
            [2]])
    """
    return nonzero(input)


@api("torch", "Tensor")
@by_example
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first ``size`` positions that ``nonzero`` gives, filled up with ``fill_value``.

    >>> import flambeau as torch
    >>> torch.nonzero_static(torch.tensor([0, 5, 6]), size=3, fill_value=-1)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    found = np.argwhere(look(input, "nonzero"))[:size].astype(np.int64)
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, but got: {size}")
    result = np.full((size, input.ndim), fill_value, np.int64)
    result[:len(found)] = found
    return from_array(result)
