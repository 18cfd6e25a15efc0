"""What a convolution is to its kernels: a sum over taps of products of matrices, in three dimensions.

Forward and input gradient are one computation. A grid of results is found from a source: the result at grid
position i is the sum over taps of

    weight[tap] @ source[i * step - before + offset[tap]]

with zero outside of the source. The forward convolution has one grid and a tap per element of the kernel. The
gradient by the input with stride s has s grids in each dimension (phases): the positions h = i * s + r of
equal remainder r, which meet only the taps k with (r + padding - k * dilation) divisible by s, at source
position i + (r + padding - k * dilation) / s. So no multiplication is by a zero between the strides.

Spaces of one and two dimensions are written as three: (1, 1, L), (H, 1, W).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from ....graph.geometry import Geometry

Three = tuple[int, int, int]


class Tap(NamedTuple):
    """One element of the kernel: where it reads, and where its matrix lies in the weight."""

    offset: Three
    weight: int


class Phase(NamedTuple):
    """A grid of results: its extents, where its first element lies in the target, and its taps."""

    grid: Three
    target: int
    taps: tuple[Tap, ...]


class Tensor(NamedTuple):
    """Strides of (N, groups, channels of a group, *space), in elements."""

    batch: int
    group: int
    channel: int
    space: Three


class Problem(NamedTuple):
    """The whole computation. ``ins``, ``outs``: channels of a group."""

    batch: int
    groups: int
    ins: int
    outs: int
    extents: Three
    source: Tensor
    target: Tensor
    weight: Tensor      # batch: stride of outs, channel: stride of ins; space unused
    step: Three
    before: Three
    phases: tuple[Phase, ...]
    positions: Three    # of the target between neighbours of the grid

    @property
    def span(self) -> Three:
        """How far the taps reach."""
        found = [1, 1, 1]
        for phase in self.phases:
            for tap in phase.taps:
                found = [max(n, o + 1) for n, o in zip(found, tap.offset)]
        return found[0], found[1], found[2]

    @property
    def products(self) -> int:
        """Multiply-adds."""
        cells = sum(len(p.taps) * p.grid[0] * p.grid[1] * p.grid[2] for p in self.phases)
        return cells * self.batch * self.groups * self.ins * self.outs


def three(values: Sequence[int], fill: int) -> Three:
    """The values of one, two or three dimensions as three."""
    if len(values) == 1:
        return fill, fill, values[0]
    if len(values) == 2:
        return values[0], fill, values[1]
    return values[0], values[1], values[2]


def tensor(geometry: Geometry, groups: int) -> Tensor:
    """The strides of (N, C, *space)."""
    n, c, *space = geometry.strides
    return Tensor(n, c * (geometry.shape[1] // groups), c, three(space, 0))


def _kernel_taps(kernel: Three, strides: Three) -> list[tuple[Three, int]]:
    places = itertools.product(*(range(k) for k in kernel))
    return [(k, sum(i * s for i, s in zip(k, strides))) for k in places]  # type: ignore[misc]


def forward_problem(x: Geometry, weight: Geometry, y: Geometry, attributes: Sequence[object]) -> Problem:
    """``convolution``: x (N, C, *space), weight (O, C / groups, *kernel), y (N, O, *extents)."""
    stride, padding, dilation = (three(v, fill) for v, fill in zip(attributes, (1, 0, 1)))  # type: ignore[arg-type]
    groups: int = attributes[3]  # type: ignore[assignment]
    kernel, grid = three(weight.shape[2:], 1), three(y.shape[2:], 1)
    source, extents, step = tensor(x, groups), list(three(x.shape[2:], 1)), list(stride)
    strides = list(source.space)
    for d in range(3):
        if kernel[d] == 1 and step[d] > 1 and not padding[d]:  # what is never read need not be skipped
            extents[d], strides[d], step[d] = -(-extents[d] // step[d]), strides[d] * step[d], 1
    outs = weight.shape[0] // groups
    w = tensor(weight, 1)
    taps = tuple(Tap((k[0] * dilation[0], k[1] * dilation[1], k[2] * dilation[2]), at)
                 for k, at in _kernel_taps(kernel, w.space))
    return Problem(x.shape[0], groups, weight.shape[1], outs, (extents[0], extents[1], extents[2]),
                   source._replace(space=(strides[0], strides[1], strides[2])), tensor(y, groups),
                   Tensor(w.batch, w.batch * outs, w.channel, w.space), (step[0], step[1], step[2]), padding,
                   (Phase(grid, 0, taps),), tensor(y, groups).space)


def input_problem(grad: Geometry, weight: Geometry, x: Geometry, attributes: Sequence[object]) -> Problem:
    """``convolution_input``: grad (N, O, *extents), weight (O, C / groups, *kernel), x (N, C, *space)."""
    stride, padding, dilation = (three(v, fill) for v, fill in zip(attributes[1:], (1, 0, 1)))  # type: ignore[arg-type]
    groups: int = attributes[4]  # type: ignore[assignment]
    kernel, space, ins = three(weight.shape[2:], 1), three(x.shape[2:], 1), weight.shape[0] // groups
    w, target = tensor(weight, 1), tensor(x, groups)
    remainders = list(itertools.product(*(range(min(s, n)) for s, n in zip(stride, space))))
    found = []
    for r in remainders:
        taps = []
        for k, at in _kernel_taps(kernel, w.space):
            shift = [r[d] + padding[d] - k[d] * dilation[d] for d in range(3)]
            if all(m % s == 0 for m, s in zip(shift, stride)):
                taps.append(([m // s for m, s in zip(shift, stride)], at))
        found.append((r, taps))
    offsets = [offset for _, taps in found for offset, _ in taps] or [[0, 0, 0]]
    least = [min(o[d] for o in offsets) for d in range(3)]
    phases = tuple(
        Phase(_three([-(-(n - i) // s) for n, i, s in zip(space, r, stride)]),
              sum(i * s for i, s in zip(r, target.space)),
              tuple(Tap(_three([o - m for o, m in zip(offset, least)]), at) for offset, at in taps))
        for r, taps in found)
    return Problem(grad.shape[0], groups, ins, weight.shape[1], three(grad.shape[2:], 1),
                   tensor(grad, groups), target, Tensor(w.channel, w.batch * ins, w.batch, w.space),
                   (1, 1, 1), _three([-m for m in least]), phases,
                   _three([s * n for s, n in zip(target.space, stride)]))


def joined(problem: Problem) -> Problem | None:
    """The gradient by the input of 3 x 3 with stride 2 and odd padding, as one grid of all results.

    Its taps are the kernel's, in their order, and offsets say nothing; None where it is another problem.
    """
    phases = problem.phases
    if [len(p.taps) for p in phases] != [1, 2, 2, 4] or problem.span != (2, 1, 2) or phases[0].grid[1] != 1:
        return None
    # Odd results meet the first and the last tap, which reaches less far.
    taps = {tuple(2 - 2 * tap.offset[d] if odd else 1 for d, odd in ((0, i // 2), (2, i % 2))): tap
            for i, phase in enumerate(phases) for tap in phase.taps}
    grid = phases[0].grid[0] + phases[2].grid[0], 1, phases[0].grid[2] + phases[1].grid[2]
    return problem._replace(phases=(Phase(grid, 0, tuple(taps[k] for k in sorted(taps))),),
                            positions=problem.target.space)


def _three(values: Sequence[int]) -> Three:
    return values[0], values[1], values[2]


def traffic_of(operands: Sequence[Geometry | None]) -> float:
    """About how many bytes are moved: twice those of the operands, of which some may be missing."""
    return 2.0 * sum([g.nbytes for g in operands if g is not None])
