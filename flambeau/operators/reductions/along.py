"""Choosing elements along a dimension by index, and putting them back: what max, sort, topk, ... derive
through."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record_pair
from ..declaration.definition import operator


def _pick_geometry(operands: Any, attributes: Any) -> Geometry:
    x, indices = operands
    return contiguous(indices.shape, x.dtype, x.device)


@operator("gather", _pick_geometry)
def PICK(m: Any, input: Any, indices: Any, dim: int, accumulate: bool) -> Any:
    return m.take_along_axis(input, indices, axis=dim) if input.ndim else input


def _place_geometry(operands: Any, attributes: Any) -> Geometry:
    x = operands[0]
    return contiguous(attributes[0], x.dtype, x.device)


@operator("value_selecting_reduction", _place_geometry)
def PLACE(m: Any, input: Any, indices: Any, shape: tuple[int, ...], dim: int, accumulate: bool) -> Any:
    if not shape:
        return input
    if accumulate:
        place = [
            np.arange(n).reshape([-1 if d == i else 1 for d in range(len(shape))])
            for i, n in enumerate(indices.shape)
        ]
        place[dim] = indices
        sums = m.zeros(shape, arithmetic_dtype_of(input))
        m.add.at(sums, tuple(place), input)
        return sums
    result = m.zeros(shape, input.dtype)
    m.put_along_axis(result, indices, input, axis=dim)
    return result


def arithmetic_dtype_of(array: Any) -> Any:
    """The type in which elements of an array are added: single precision for 16-bit types."""
    return (
        np.dtype(np.float32) if array.dtype.itemsize == 2 and array.dtype.kind not in "iub" else array.dtype
    )


@PICK.derivative("input", keeps="indices")
def _(ctx: Any, grad: Tensor, indices: Tensor) -> Any:
    return record_pair(PLACE, grad, indices, (tuple(ctx.operand_geometry(0).shape), *ctx.attributes))


@PLACE.derivative("input", keeps="indices")
def _(ctx: Any, grad: Tensor, indices: Tensor) -> Any:
    return record_pair(PICK, grad, indices, ctx.attributes[1:])


def place(grad: Tensor, indices: Tensor, shape: Any, dim: int, accumulate: bool = False) -> Tensor:
    """Zeros with ``grad`` at ``indices`` along ``dim``; added up where an index comes twice, if
    ``accumulate``."""
    return record_pair(PLACE, grad, indices, (tuple(shape), dim, accumulate))


__all__ = ["PICK", "PLACE", "place"]
