"""Sampling at points in NumPy: values between elements, and the gradients by elements and by points.

A point's coordinates, x before y, are taken from [-1, 1] to positions among the elements. The value there is
the sum over the corners of the cell around it (with bicubic sampling four elements along each dimension),
each weighted by a product of factors of how near it is along each dimension; corners outside count as 0.

Note: rounding of positions. PyTorch's to the last bit, for points often lie on elements, where the last bit
tells which cell they belong to and so what the gradient is: in two dimensions ``(x + 1) n - 1`` is rounded
once, after the difference, in three dimensions the product is rounded too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...graph.geometry import Geometry, contiguous
from ..declaration.definition import operator
from ..declaration.prices import per_element


class Sampling(NamedTuple):
    """How points are read: one attribute of the operators."""

    mode: str               # bilinear, nearest, bicubic
    padding: str            # zeros, border, reflection
    align_corners: bool


class _Corner(NamedTuple):
    """One corner of the cells around points (N, P)."""

    place: Any              # of the element, flat
    inside: Any
    factors: tuple[Any, ...]
    changes: tuple[Any, ...]    # how fast the factors change with the positions

    def weight(self, changed: int = -1) -> Any:
        """The product of the factors, or how fast it changes with one dimension's position."""
        result: Any = 1
        for d, (factor, change) in enumerate(zip(self.factors, self.changes)):
            result = result * (change if d == changed else factor)
        return result


_WIDER = {4: np.float64, 8: np.longdouble}    # holds a product of two numbers


def _position(x: Any, n: int, dims: int, how: Sampling) -> tuple[Any, Any]:
    """Coordinates as positions among n elements, and how fast these change."""
    one = x.dtype.type(1)
    if how.align_corners:
        p, slope = (x + one) / 2 * (n - 1), np.full_like(x, (n - 1) / 2)
    else:
        shifted = (x + one).astype(_WIDER.get(x.itemsize, x.dtype) if dims == 2 else x.dtype, copy=False)
        p, slope = (shifted * n - 1).astype(x.dtype, copy=False) / 2, np.full_like(x, n / 2)
    return (p, slope) if how.mode == "bicubic" else _padded(p, slope, n, how)


def _padded(p: Any, slope: Any, n: int, how: Sampling) -> tuple[Any, Any]:
    """Positions brought inside where the padding says so."""
    if how.padding == "reflection":
        low = 0.0 if how.align_corners else -0.5
        span = n - 1 - 2 * low
        shifted = np.abs(p - low)
        turns = np.floor(shifted / span) if span else shifted * 0
        rest = shifted - turns * span
        odd = turns % 2 == 1
        slope = np.where((p < low) != odd, -slope, slope) if span else slope * 0
        p = (np.where(odd, span - rest, rest) + low if span else p * 0).astype(p.dtype, copy=False)
    if how.padding != "zeros":
        slope = np.where((p > 0) & (p < n - 1), slope, p.dtype.type(0))
        p = np.fmin(np.fmax(p, 0), n - 1)
    return p, slope


def _positions(grid: Any, space: tuple[int, ...], how: Sampling) -> list[tuple[Any, Any]]:
    points = grid.reshape(len(grid), -1, len(space))
    return [_position(points[..., -1 - d], n, len(space), how) for d, n in enumerate(space)]


def cubic_factors(t: Any) -> list[tuple[Any, Any]]:
    """Of elements at -1, 0, 1, 2 the factors at t and how fast these change, after Keys (1981)."""
    a = -0.75

    def near(d: Any) -> tuple[Any, Any]:
        return ((a + 2) * d - (a + 3)) * d * d + 1, (3 * (a + 2) * d - 2 * (a + 3)) * d

    def far(d: Any) -> tuple[Any, Any]:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, (3 * a * d - 10 * a) * d + 8 * a

    after, beyond = near(1 - t), far(2 - t)
    return [far(t + 1), near(t), (after[0], -after[1]), (beyond[0], -beyond[1])]


def _sides(p: Any, n: int, how: Sampling) -> list[tuple[Any, Any, Any]]:
    """The elements beside positions along a dimension: places, factors and how fast these change."""
    if how.mode == "nearest":
        return [(np.rint(p), 1, 0)]
    low = np.floor(p)
    if how.mode == "bilinear":
        return [(low, low + 1 - p, -1), (low + 1, p - low, 1)]
    return [(_padded(low + k - 1, p, n, how)[0], *factor) for k, factor in enumerate(cubic_factors(p - low))]


def _corners(positions: list[Any], space: tuple[int, ...], how: Sampling) -> Iterator[_Corner]:
    sides = [_sides(p, n, how) for p, n in zip(positions, space)]
    for corner in itertools.product(*sides):
        index: Any = 0
        inside: Any = True
        for (place, *_), n in zip(corner, space):
            inside = inside & (place >= 0) & (place <= n - 1)
            index = index * n + np.fmin(np.fmax(place, 0), n - 1).astype(np.int64)
        yield _Corner(index, inside, *zip(*[factors for _, *factors in corner]))


def _weighted(values: Any, weight: Any) -> Any:
    """Values (N, C, P) times weights (N, P), or those of the nearest elements, which are 1."""
    return values if isinstance(weight, int) else values * weight[:, None]


def _values(flat: Any, corner: _Corner) -> Any:
    """Elements (N, C, P) at a corner, 0 outside."""
    found = np.take_along_axis(flat, corner.place[:, None], 2)
    return np.where(corner.inside[:, None], found, flat.dtype.type(0))


def _sampled_geometry(operands: Any, attributes: Any) -> Geometry:
    x, grid = operands
    return contiguous((*x.shape[:2], *grid.shape[1:-1]), x.dtype, x.device)


@operator("grid_sample", _sampled_geometry, grad_name="GridSampler2DBackward0", price=per_element(20.0))
def GRID_SAMPLE(m: Any, input: Any, grid: Any, how: Sampling) -> Any:
    """Values of (N, C, *space) at points (N, *out, dims): (N, C, *out)."""
    space = input.shape[2:]
    flat = input.reshape(*input.shape[:2], -1)
    total: Any = 0
    for corner in _corners([p for p, _ in _positions(grid, space, how)], space, how):
        total = total + _weighted(_values(flat, corner), corner.weight())
    return total.reshape(*input.shape[:2], *grid.shape[1:-1])


def _input_geometry(operands: Any, attributes: Any) -> Geometry:
    grad = operands[0]
    return contiguous((*grad.shape[:2], *attributes[0]), grad.dtype, grad.device)


@operator("grid_sample_input", _input_geometry, price=per_element(20.0))
def GRID_SAMPLE_INPUT(m: Any, grad: Any, grid: Any, space: tuple[int, ...], how: Sampling) -> Any:
    """The gradient by the elements: (N, C, *out) and points (N, *out, dims) give (N, C, *space)."""
    batch, channels = grad.shape[:2]
    size = int(np.prod(space))
    flat = grad.reshape(batch, channels, -1)
    result = np.zeros(batch * channels * size, grad.dtype)
    first = (np.arange(batch * channels) * size).reshape(batch, channels, 1)
    for corner in _corners([p for p, _ in _positions(grid, space, how)], space, how):
        part = np.where(corner.inside[:, None], _weighted(flat, corner.weight()), 0)
        np.add.at(result, (first + corner.place[:, None]).reshape(-1), part.reshape(-1))
    return result.reshape(batch, channels, *space)


@operator("grid_sample_grid", lambda operands, attributes: contiguous(
    operands[2].shape, operands[2].dtype, operands[2].device), price=per_element(100.0))
def GRID_SAMPLE_GRID(m: Any, grad: Any, input: Any, grid: Any, how: Sampling) -> Any:
    """The gradient by the points."""
    if how.mode == "nearest":
        return np.zeros(grid.shape, grid.dtype)
    space = input.shape[2:]
    flat, grads = input.reshape(*input.shape[:2], -1), grad.reshape(*grad.shape[:2], -1)
    positions = _positions(grid, space, how)
    totals: list[Any] = [0] * len(space)
    for corner in _corners([p for p, _ in positions], space, how):
        change = (_values(flat, corner) * grads).sum(1)
        for d in range(len(space)):
            totals[d] = totals[d] + change * corner.weight(changed=d)
    found = [total * slope for total, (_, slope) in zip(totals, positions)]
    return np.stack(found[::-1], -1).reshape(grid.shape)
