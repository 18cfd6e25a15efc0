"""Movements of elements: copies, writes into parts, borders, repetitions, fills.

Each is a list of copies and fills between parts of operands and results (``copying.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from .....graph.geometry import Geometry
from .....graph.node import Signature
from .....graph.strides import row_major_strides
from ...movement.boxes import box_of, surroundings
from ...movement.copying import Place, copied, filled
from ...plan import Call, Plan, Template

SMALL = 1 << 16     # bytes of zeros that cost no more than to find out which of them are written anyway


def source_of(g: Geometry, operand: int = 0) -> Place:
    """An operand as a place to copy from."""
    return Place(g.strides, 0, operand, g)


def bytes_moved(signature: Signature) -> float:
    """What reading and writing the results' bytes amounts to."""
    return 2.0 * signature.nbytes


def _plan(signature: Signature, calls: Sequence[Call | None], **how: Any) -> Plan:
    return Plan([call for call in calls if call is not None], traffic=bytes_moved(signature), **how)


def _same_type(signature: Signature, operands: int = 1) -> bool:
    out = signature.outputs[0]
    return out.numel > 0 and all(g.dtype is out.dtype for g in signature.geometries[:operands])


def number_for(kind: Any, dtype: Any) -> bool:
    """Whether a Python number of a type can be put into a word as an element of ``dtype``."""
    if dtype.itemsize > 8 or not isinstance(kind, type):
        return False
    if dtype.is_complex:
        return issubclass(kind, (int, float, complex))
    return issubclass(kind, (int, float) if dtype.is_floating_point else int)


# --- copies -------------------------------------------------------------------------------------------------

def _copy(signature: Signature) -> Plan | None:
    """The operand's elements in the same shape, or row by row in another one."""
    g, out = signature.geometries[0], signature.outputs[0]
    if not _same_type(signature) or g.numel != out.numel:
        return None
    same = g.shape == out.shape
    if not same and not out.is_contiguous:
        return None
    strides = out.strides if same else row_major_strides(g.shape)
    return _plan(signature, [copied(Place(strides), source_of(g), g.shape, out.dtype.itemsize)])


def _write(signature: Signature) -> Plan | None:
    """A part of a flat storage overwritten, in place, with a tensor or one number."""
    value, part = signature.geometries[1], signature.attributes[0]
    size = part.dtype.itemsize
    if value.__class__ is not Geometry:
        if not part.numel or not number_for(value, part.dtype):
            return None
        call = filled(Place(part.strides, part.offset), part.shape, size, (1, np.dtype(part.dtype.numpy)))
        return Plan([call], in_place=[(0, 0)], traffic=1.0 * part.numel * size)
    if value.dtype is not part.dtype or value.shape != part.shape or not part.numel:
        return None
    call = copied(Place(part.strides, part.offset), source_of(value, 1), part.shape, size)
    return Plan([call], in_place=[(0, 0)], traffic=2.0 * part.numel * size)


def _part_replaced(signature: Signature) -> Plan | None:
    """A copy in which a view holds other elements: slice_scatter and its kin."""
    g, src = signature.geometries
    out = signature.outputs[0]
    how, arguments = signature.attributes
    if not _same_type(signature, 2):
        return None
    size = out.dtype.itemsize
    part = how.infer((out,), arguments)
    calls = [copied(Place(out.strides), source_of(g), g.shape, size)]
    if part.numel:
        calls.append(copied(Place(part.strides, part.offset), source_of(src, 1), part.shape, size))
    return _plan(signature, calls)


# --- parts of zeros -----------------------------------------------------------------------------------------

def _embedded(signature: Signature) -> Plan | None:
    """The gradient of a view: zeros with the operand in the part that the view shows."""
    g = signature.geometries[0]
    whole, part = signature.attributes[:2]
    if not _same_type(signature) or not whole.is_contiguous or g.shape != part.shape:
        return None
    size = whole.dtype.itemsize
    # What is small is cleared as a whole: where a part begins and ends then decides nothing.
    box = box_of(whole, part) if part.numel and whole.numel * size > SMALL else None
    if box is None:     # every other column, a diagonal
        calls = [filled(Place((1,)), (whole.numel,), size)]
    else:
        calls = [filled(Place(whole.strides, offset), extents, size)
                 for offset, extents in surroundings(whole.shape, whole.strides, *box)]
    if part.numel:
        calls.append(copied(Place(part.strides, part.offset), source_of(g), g.shape, size))
    return _plan(signature, calls)


def _padded(signature: Signature) -> Plan | None:
    """A border of one value; negative widths crop."""
    g, kind = signature.geometries
    pad, out = signature.attributes[0], signature.outputs[0]
    if not _same_type(signature) or not number_for(kind, out.dtype):
        return None
    widths = [(0, 0)] * (g.ndim - len(pad) // 2) + [(pad[2 * i], pad[2 * i + 1])
                                                    for i in range(len(pad) // 2)][::-1]
    size, number = out.dtype.itemsize, (1, out.dtype.numpy)
    starts = [min(max(a, 0), n) for (a, _), n in zip(widths, out.shape)]
    extents = [max(n - max(-a, 0) - max(-b, 0), 0) for n, (a, b) in zip(g.shape, widths)]
    if not math.prod(extents):
        return _plan(signature, [filled(Place((1,)), (out.numel,), size, number)])
    calls = [filled(Place(out.strides, offset), rest, size, number)
             for offset, rest in surroundings(out.shape, out.strides, starts, extents)]
    offset = sum(start * s for start, s in zip(starts, out.strides))
    skipped = sum(max(-a, 0) * s for (a, _), s in zip(widths, g.strides))
    calls.append(copied(Place(out.strides, offset), Place(g.strides, skipped, 0, g), extents, size))
    return _plan(signature, calls)


def _diagonals(signature: Signature) -> Plan | None:
    """Zeros with the operand on the diagonals of matrices."""
    g, out = signature.geometries[0], signature.outputs[0]
    if not _same_type(signature) or not g.numel or not out.is_contiguous:
        return None
    offset, row, column = signature.attributes
    size = out.dtype.itemsize
    strides = [s for d, s in enumerate(out.strides) if d not in (row, column)]
    strides.append(out.strides[row] + out.strides[column])
    start = offset * out.strides[column] if offset >= 0 else -offset * out.strides[row]
    return _plan(signature, [filled(Place((1,)), (out.numel,), size),
                             copied(Place(tuple(strides), start), source_of(g), g.shape, size)])


# --- other orders -------------------------------------------------------------------------------------------

def _turned_over(g: Geometry, dims: Sequence[int]) -> Place:
    """An operand read backwards in some dimensions."""
    strides = [-s if d in dims else s for d, s in enumerate(g.strides)]
    return Place(tuple(strides), sum((g.shape[d] - 1) * g.strides[d] for d in dims), 0, g)


def _flipped(signature: Signature) -> Plan | None:
    g, out = signature.geometries[0], signature.outputs[0]
    if not _same_type(signature):
        return None
    place = _turned_over(g, signature.attributes[0])
    return _plan(signature, [copied(Place(out.strides), place, g.shape, out.dtype.itemsize)])


def _rotated(signature: Signature) -> Plan | None:
    g, out = signature.geometries[0], signature.outputs[0]
    if not _same_type(signature):
        return None
    k, (a, b) = signature.attributes
    place = _turned_over(g, [(), (b,), (a, b), (a,)][k])
    strides = list(place.strides)
    if k % 2:
        strides[a], strides[b] = strides[b], strides[a]
    return _plan(signature, [copied(Place(out.strides), Place(tuple(strides), *place[1:]), out.shape,
                                    out.dtype.itemsize)])


def _rolled(signature: Signature) -> Plan | None:
    """Each rolled dimension falls into two parts that change places."""
    g, out = signature.geometries[0], signature.outputs[0]
    shifts = [0] * g.ndim
    for shift, d in zip(*signature.attributes):
        shifts[d] += shift
    moved = [d for d in range(g.ndim) if g.shape[d] and shifts[d] % g.shape[d]]
    if not _same_type(signature) or len(moved) > 4:
        return None
    calls = []
    for wrapped in product((False, True), repeat=len(moved)):
        extents, to, start = list(g.shape), 0, 0
        for d, around in zip(moved, wrapped):
            shift = shifts[d] % g.shape[d]
            extents[d] = shift if around else g.shape[d] - shift
            to += 0 if around else shift * out.strides[d]
            start += (g.shape[d] - shift) * g.strides[d] if around else 0
        calls.append(copied(Place(out.strides, to), Place(g.strides, start, 0, g), extents,
                            out.dtype.itemsize))
    return _plan(signature, calls)


def _repeated(signature: Signature) -> Plan | None:
    """Each dimension is written as (repetition, position); the operand does not move along the first."""
    g, out = signature.geometries[0], signature.outputs[0]
    if not _same_type(signature):
        return None
    repeats = signature.attributes[0]
    lead = len(repeats) - g.ndim
    shape, steps = (*[1] * lead, *g.shape), (*[0] * lead, *g.strides)
    extents = [n for pair in zip(repeats, shape) for n in pair]
    into = [s for n, s in zip(shape, out.strides) for s in (n * s, s)]
    out_of = [s for step in steps for s in (0, step)]
    return _plan(signature, [copied(Place(tuple(into)), Place(tuple(out_of), 0, 0, g), extents,
                                    out.dtype.itemsize)])


# --- one value ----------------------------------------------------------------------------------------------

def _fill(operand: int) -> Template:
    def template(signature: Signature) -> Plan | None:
        """All elements are one Python number."""
        out, kind = signature.outputs[0], signature.geometries[operand]
        if not out.numel or not out.is_dense or not number_for(kind, out.dtype):
            return None
        call = filled(Place((1,)), (out.numel,), out.dtype.itemsize, (operand, np.dtype(out.dtype.numpy)))
        return Plan([call], traffic=1.0 * signature.nbytes)
    return template


TEMPLATES: dict[str, Template] = {
    "unsafe_view": _copy,
    "contiguous_copy": _copy,
    "clone": _copy,
    "copy": _copy,
    "write": _write,
    "select_scatter": _part_replaced,
    "slice_scatter": _part_replaced,
    "diagonal_scatter": _part_replaced,
    "view_backward": _embedded,
    "constant_pad_nd": _padded,
    "diag_embed": _diagonals,
    "flip": _flipped,
    "rot90": _rotated,
    "roll": _rolled,
    "repeat": _repeated,
    "full": _fill(0),
    "fill": _fill(1),
}
