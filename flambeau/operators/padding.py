"""Padding around tensors: constant, reflected, replicated, circular."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..graph.geometry import Geometry, contiguous
from ..tensor import Tensor, record
from ..tensor.construct import tensor
from .definition import operator
from .registry import api

Ints = tuple[int, ...]


def _pairs(pad: Ints, ndim: int) -> list[tuple[int, int]]:
    """(before, after) for every dimension, first dimension first."""
    pairs = [(pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    return [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]


def _padded_geometry(operands: Any, attributes: Any) -> Geometry:
    x, pad = operands[0], attributes[0]
    shape = [n + a + b for n, (a, b) in zip(x.shape, _pairs(pad, x.ndim))]
    for n, (a, b), size in zip(x.shape, _pairs(pad, x.ndim), shape):
        if size < 0:
            raise RuntimeError(f"The input size {n}, plus negative padding {a} and {b}, resulted in a "
                               f"negative output size, which is invalid. Check dimension {shape.index(size)} "
                               "of your input.")
    return contiguous(shape, x.dtype, x.device)


@operator("constant_pad_nd", _padded_geometry)
def CONSTANT_PAD(m: Any, input: Any, value: Any, pad: Ints) -> Any:
    """A border of one value; negative widths crop."""
    pairs = _pairs(pad, input.ndim)
    result = m.full([n + a + b for n, (a, b) in zip(input.shape, pairs)], value, input.dtype)
    source = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(input.shape, pairs))
    target = tuple(slice(max(a, 0), size - max(b, 0)) for size, (a, b) in zip(result.shape, pairs))
    result[target] = input[source]
    return result


@CONSTANT_PAD.derivative("input")
def _(ctx: Any, grad: Tensor) -> Tensor:
    return record(CONSTANT_PAD, (grad, 0), (tuple(-p for p in ctx.attributes[0]),))


@api("torch")
def constant_pad_nd(input: Tensor, pad: Any, value: Any = 0) -> Tensor:
    """A border of ``value``; ``pad`` lists (before, after) from the last dimension on."""
    widths = tuple(int(p) for p in pad)
    if len(widths) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(widths)}")
    if len(widths) // 2 > input.ndim:
        raise RuntimeError("Length of pad should be no more than twice the number of dimensions of the "
                           f"input. Pad length is {len(widths)}while the input has {input.ndim}dimensions.")
    return record(CONSTANT_PAD, (input, value), (widths,))


@lru_cache(256)
def _index_of(mode: str, n: int, before: int, after: int) -> Any:
    """Which element lies at each place of the padded dimension."""
    positions = np.arange(-before, n + after)
    if mode == "replicate":
        return np.clip(positions, 0, n - 1)
    if mode == "circular":  # what a negative width cuts off is not wrapped around
        first, kept = max(0, -before), n - max(0, -before) - max(0, -after)
        return first + np.arange(-max(0, before), kept + max(0, after)) % max(kept, 1)
    period = max(2 * (n - 1), 1)
    positions %= period
    return np.minimum(positions, period - positions) if n > 1 else positions


def _check_mode(input: Tensor, widths: Ints, mode: str) -> None:
    spatial = len(widths) // 2
    if input.ndim not in (spatial + 1, spatial + 2) or spatial > 3:
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for "
                                  "now")
    for i in range(spatial):
        n, before, after = input.shape[-1 - i], widths[2 * i], widths[2 * i + 1]
        if mode == "reflect" and (before >= n or after >= n):
            raise RuntimeError(f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding "
                               f"input dimension, but got: padding ({before}, {after}) at dimension "
                               f"{input.ndim - 1 - i} of input {list(input.shape)}")
        if mode == "circular" and (before > n or after > n):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if n + before + after < 1:
            raise RuntimeError(f"input ({n}) is too small for padding ({before}, {after})")


@api("nn.functional")
def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """A border around the last dimensions: "constant", "reflect", "replicate" or "circular".

    ``pad`` lists (before, after) from the last dimension on.

    >>> import flambeau as torch
    >>> torch.nn.functional.pad(torch.tensor([[1., 2.]]), (1, 2), value=9.)
    tensor([[9., 1., 2., 9., 9.]])
    """
    widths = tuple(int(p) for p in pad)
    if len(widths) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(widths) > 2 * input.ndim:
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but "
                           f"got padding length {len(widths)} and input of dimension {input.ndim}")
    if mode == "constant":
        return constant_pad_nd(input, widths, 0 if value is None else value)
    if value not in (None, 0):
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    _check_mode(input, widths, mode)
    for i in range(len(widths) // 2):
        before, after = widths[2 * i], widths[2 * i + 1]
        if before or after:
            dim = input.ndim - 1 - i
            input = input.index_select(dim, tensor(_index_of(mode, input.shape[dim], before, after)))
    return input
