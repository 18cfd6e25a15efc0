"""Sampling at points and its gradients: a vector of points at a time, whose corners serve all channels.

The gradient by the elements adds at places that may fall together: a task has all points of some planes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, SupportsIndex

import numpy as np

from .....graph.geometry import Geometry
from .....graph.node import Signature
from ...llvm.build import Function, Module
from ...llvm.compiling.code import kernel
from ...llvm.emitter import FLOAT32, FLOAT64
from ...llvm.floats import Floats
from ...movement.copying import Place, filled
from ...movement.spaces import Nest, Space, fused, rank_for, split
from ...plan import Call, Plan, Template, Words
from .grid_points import Corner, Kind, Points

PLANES = 8      # of a task that adds
# Words: pointers, then the number of channels and two strides along them, bytes between points and between
# their coordinates, bytes between gradients; then extents and strides of the space; then the walk.
FIRST, SECOND, THIRD, FOURTH, CHANNELS, ALONG, ACROSS, STEP, APART, GRADS, EXTENTS = range(11)


class Form(NamedTuple):
    """What the code depends on."""

    rank: int
    kind: Kind


def _kind(space: Sequence[int], dtype: object, how: tuple[str, str, bool]) -> Kind | None:
    found = np.dtype(dtype)     # type: ignore[call-overload]
    if found not in (FLOAT32, FLOAT64) or math.prod(space) >= 1 << 28 or max(space) >= 1 << 20:
        return None
    return Kind(len(space), found, *how)


def _walk(grid: Geometry, *others: Sequence[int]) -> tuple[Space, int, int]:
    """The points (N, *out) in bytes for several operands, the images third; bytes between points, and between
    coordinates.
    """
    size = grid.dtype.itemsize
    strides = [[s * size for s in own] for own in (grid.strides[:-1], *others)]
    space = fused(grid.shape[:-1], strides, ordered=False)
    if space.strides[2][-1]:    # a point of each image: a row must stay within one image
        space = Space((*space.extents, 1), tuple([(*own, 0) for own in space.strides]))
    return space, space.strides[0][-1], grid.strides[-1] * size


def _reach(g: Geometry) -> int:
    """Elements from the first to the last of a plane."""
    return sum((n - 1) * abs(s) for n, s in zip(g.shape[2:], g.strides[2:]))


def _sample(signature: Signature) -> Plan | None:
    x, grid = signature.geometries
    out, kind = signature.outputs[0], _kind(x.shape[2:], x.dtype.numpy, signature.attributes[0])
    if kind is None or not out.numel or _reach(x) >= 1 << 28:
        return None
    size = out.dtype.itemsize
    space, step, apart = _walk(grid, (out.strides[0], *out.strides[2:]), (x.strides[0], *[0] * kind.dims))
    words = Words()
    words.output(0)
    words.input(0, x)
    words.input(1, grid)
    words.constant(0, x.shape[1], out.strides[1] * size, x.strides[1] * size, step, apart, 0)
    return _planned(_sample_kernel, kind, words, x, space)


def _by_grid(signature: Signature) -> Plan | None:
    grad, x, grid = signature.geometries
    out, kind = signature.outputs[0], _kind(x.shape[2:], x.dtype.numpy, signature.attributes[0])
    if kind is None or not out.numel or _reach(x) >= 1 << 28:
        return None
    size = out.dtype.itemsize
    if kind.mode == "nearest" or not grad.numel:
        return Plan([filled(Place((1,)), (out.numel,), size)])
    space, step, apart = _walk(grid, (grad.strides[0], *grad.strides[2:]), (x.strides[0], *[0] * kind.dims),
                               out.strides[:-1])
    words = Words()
    words.output(0)
    words.input(1, x)
    words.input(2, grid)
    words.input(0, grad)
    words.constant(x.shape[1], grad.strides[1] * size, x.strides[1] * size, step, apart, space.strides[1][-1])
    return _planned(_grid_kernel, kind, words, x, space)


def _planned(make: Callable[[Form], SupportsIndex], kind: Kind, words: Words, x: Geometry,
             space: Space) -> Plan:
    """A walk over points; the words have come to the extents of x."""
    words.constant(*x.shape[2:], *x.strides[2:])
    form = Form(rank_for(space), kind)
    each = 10.0 + 1.3 * x.shape[1] * kind.corners
    cut = split(space, 20 * each)
    Nest(form.rank, len(space.strides), len(words.values)).place(words, space, cut)
    return Plan([Call(make(form), words, cut.tasks, cut.grain)], nanoseconds=each * space.size)


def _by_input(signature: Signature) -> Plan | None:
    grad, grid = signature.geometries
    out, (extents, how) = signature.outputs[0], signature.attributes
    kind = _kind(extents, out.dtype.numpy, how)
    if kind is None or not out.numel or not grad.numel:
        return None
    size, (batch, channels) = out.dtype.itemsize, out.shape[:2]
    strides = [[s * size for s in grid.strides[1:-1]], [s * size for s in grad.strides[2:]]]
    space = fused(grid.shape[1:-1], strides, ordered=False)
    if len(space.extents) > 1:
        return None     # the points of an example must be a line
    groups = -(-channels // PLANES)
    words = Words()
    words.output(0)
    words.constant(groups)
    words.input(1, grid)
    words.input(0, grad)
    words.constant(channels, grad.strides[1] * size, space.extents[0], space.strides[0][0],
                   grid.strides[-1] * size, space.strides[1][0])
    words.constant(*extents, *out.strides[2:])
    words.constant(grid.strides[0] * size, grad.strides[0] * size)
    each = 6.0 + 1.5 * channels * kind.corners
    lanes = 64 * kind.corners
    return Plan([Call(_input_kernel(Form(0, kind)), words, batch * groups, 1, 2 * lanes)],
                nanoseconds=each * batch * space.extents[0] + 0.1 * out.numel)


# --- code ---------------------------------------------------------------------------------------------------

def _points(f: Function, lanes: Floats, kind: Kind) -> Points:
    return Points(lanes, kind, [f.word(EXTENTS + d) for d in range(kind.dims)],
                  [f.word(EXTENTS + kind.dims + d) for d in range(kind.dims)])


def _read(points: Points, at: str, mask: str) -> list[tuple[str, str]]:
    """The positions of points whose coordinates begin at an address; the last coordinate is the first's."""
    f, dims = points.lanes.f, points.kind.dims
    apart, step = f.word(APART), f.word(STEP)
    found = []
    for d in range(dims):
        x = points.lanes.strided(f.at(at, f.mul(apart, dims - 1 - d), "i8"), step, mask)
        found.append(points.position(x, d))
    return found


@kernel("grid_sample")
def _sample_kernel(form: Form) -> str:
    module, kind = Module(), form.kind
    with module.kernel("grid_sample") as f:
        lanes = Floats(f, kind.dtype)
        points, size = _points(f, lanes, kind), kind.dtype.itemsize
        out, source, grid = [f.word(k, "ptr") for k in (FIRST, SECOND, THIRD)]
        along, across = f.word(ALONG), f.word(ACROSS)
        with Nest(form.rank, 3, EXTENTS + 2 * kind.dims).rows(f) as row:
            to, image = f.at(out, row.offsets[1], "i8"), f.at(source, row.offsets[2], "i8")
            coordinates, width = f.at(grid, row.offsets[0], "i8"), row.width(f)
            with f.loop(0, width, lanes.count) as i:
                mask = f.first_lanes(f.sub(width, i), lanes.count)
                at = f.at(coordinates, f.mul(i, f.word(STEP)), "i8")
                corners = points.corners([p for p, _ in _read(points, at, mask)], mask)
                weights = [c.weight(lanes) for c in corners]
                first = f.at(to, f.mul(i, size), "i8")
                with f.loop(0, f.word(CHANNELS)) as c:
                    plane = f.at(image, f.mul(c, across), "i8")
                    total = ""
                    for corner, weight in zip(corners, weights):
                        x = lanes.gather(plane, corner.place, corner.inside)
                        if total:
                            total = lanes.fma(x, weight, total)
                        else:
                            total = lanes.do("fmul", x, weight) if weight else x
                    f.write_masked(lanes.kind, total, f.at(first, f.mul(c, along), "i8"), mask, size)
    return module.text()


@kernel("grid_sample_grid")
def _grid_kernel(form: Form) -> str:
    module, kind = Module(), form.kind
    with module.kernel("grid_sample_grid") as f:
        lanes = Floats(f, kind.dtype)
        points = _points(f, lanes, kind)
        out, source, grid, grads = [f.word(k, "ptr") for k in (FIRST, SECOND, THIRD, FOURTH)]
        along, across, apart = f.word(ALONG), f.word(ACROSS), f.word(GRADS)
        changes = [f.variable(lanes.kind, None) for _ in range(kind.corners)]
        with Nest(form.rank, 4, EXTENTS + 2 * kind.dims).rows(f) as row:
            image, gradient = f.at(source, row.offsets[2], "i8"), f.at(grads, row.offsets[1], "i8")
            to, coordinates = f.at(out, row.offsets[3], "i8"), f.at(grid, row.offsets[0], "i8")
            width = row.width(f)
            with f.loop(0, width, lanes.count) as i:
                mask = f.first_lanes(f.sub(width, i), lanes.count)
                positions = _read(points, f.at(coordinates, f.mul(i, f.word(STEP)), "i8"), mask)
                corners = points.corners([p for p, _ in positions], mask)
                for change in changes:
                    change.set("zeroinitializer")
                first = f.at(gradient, f.mul(i, apart), "i8")
                with f.loop(0, f.word(CHANNELS)) as c:
                    g = lanes.strided(f.at(first, f.mul(c, along), "i8"), apart, mask)
                    plane = f.at(image, f.mul(c, across), "i8")
                    for corner, change in zip(corners, changes):
                        change.set(lanes.fma(lanes.gather(plane, corner.place, corner.inside), g,
                                             change.get()))
                step = kind.dims * kind.dtype.itemsize
                _give(lanes, corners, [change.get() for change in changes], [s for _, s in positions],
                      f.at(to, f.mul(i, step), "i8"), step, mask)
    return module.text()


def _give(lanes: Floats, corners: list[Corner], changes: list[str], slopes: list[str], to: str, step: int,
          mask: str) -> None:
    """Write the gradients by coordinates, from how much each corner's weight matters."""
    for d, slope in enumerate(slopes):
        total = lanes.number(0)
        for corner, change in zip(corners, changes):
            total = lanes.fma(change, corner.weight(lanes, changed=d), total)
        at = lanes.f.at(to, (len(slopes) - 1 - d) * lanes.dtype.itemsize, "i8")
        lanes.store_strided(lanes.do("fmul", total, slope), at, step, mask)


@kernel("grid_sample_input")
def _input_kernel(form: Form) -> str:
    module, kind = Module(), form.kind
    with module.kernel("grid_sample_input") as f:
        lanes = Floats(f, kind.dtype)
        points, after = _points(f, lanes, kind), EXTENTS + 2 * kind.dims
        groups, channels, count = f.word(SECOND), f.word(CHANNELS), f.word(ACROSS)
        size = kind.dtype.itemsize
        plane = points.extents[0]
        for n in points.extents[1:]:
            plane = f.mul(plane, n)
        with f.loop(f.begin, f.end) as task:
            n = f.div(task, groups)
            first = f.mul(f.sub(task, f.mul(n, groups)), PLANES)
            last = f.least(f.add(first, PLANES), channels)
            image = f.at(f.word(FIRST, "ptr"), f.mul(f.mul(n, channels), plane), lanes.element)
            with f.loop(f.mul(first, plane), f.mul(last, plane)) as k:
                f.write(lanes.element, "0.0", f.at(image, k, lanes.element), size)
            coordinates = f.at(f.word(THIRD, "ptr"), f.mul(n, f.word(after)), "i8")
            gradient = f.at(f.word(FOURTH, "ptr"), f.mul(n, f.word(after + 1)), "i8")
            with f.loop(0, count, lanes.count) as i:
                left = f.sub(count, i)
                mask = f.first_lanes(left, lanes.count)
                at = f.at(coordinates, f.mul(i, f.word(STEP)), "i8")
                _keep(lanes, points.corners([p for p, _ in _read(points, at, mask)], mask))
                from_here = f.at(gradient, f.mul(i, f.word(GRADS)), "i8")
                with f.loop(first, last) as c:
                    _add(lanes, kind.corners, f.least(left, lanes.count),
                         f.at(from_here, f.mul(c, f.word(ALONG)), "i8"),
                         f.at(image, f.mul(c, plane), lanes.element), kind.mode == "nearest")
    return module.text()


def _keep(lanes: Floats, corners: list[Corner]) -> None:
    """Put places, -1 where there is none, and weights of the corners into scratch memory."""
    f, none = lanes.f, "<" + ", ".join([f"{lanes.integer} -1"] * lanes.count) + ">"
    for k, corner in enumerate(corners):
        index = lanes.choose(corner.inside, corner.place, none, lanes.whole)
        f.write(lanes.whole, index, f.at(f.scratch, 64 * k, "i8"), 4)
        if corner.factors:
            f.write(lanes.kind, corner.weight(lanes), f.at(f.scratch, 64 * (len(corners) + k), "i8"), 4)


def _add(lanes: Floats, corners: int, count: str, gradient: str, plane: str, nearest: bool) -> None:
    """Add the gradients of points at their corners in one plane."""
    f, size = lanes.f, lanes.dtype.itemsize
    with f.loop(0, count) as lane:
        g = f.read(lanes.element, f.at(gradient, f.mul(lane, f.word(GRADS)), "i8"), size)
        for k in range(corners):
            held = f.read(lanes.integer, f.at(f.at(f.scratch, 64 * k, "i8"), lane, lanes.integer), 4)
            part = g
            if not nearest:
                weight = f.read(lanes.element, f.at(f.at(f.scratch, 64 * (corners + k), "i8"), lane,
                                                    lanes.element), 4)
                part = f.emit(f"fmul {lanes.element} {g}, {weight}")
            index = held if lanes.integer == "i64" else f.emit(f"sext {lanes.integer} {held} to i64")
            with f.when(f.compare("sge", index, 0)):
                at = f.at(plane, index, lanes.element)
                f.write(lanes.element, f.emit(f"fadd {lanes.element} {f.read(lanes.element, at, size)}, "
                                              f"{part}"), at, size)


TEMPLATES: dict[str, Template] = {"grid_sample": _sample, "grid_sample_grid": _by_grid,
                                  "grid_sample_input": _by_input}
