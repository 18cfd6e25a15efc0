"""Boxes in contiguous tensors: which views are boxes, and what lies around one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....graph.geometry import Geometry


def box_of(whole: Geometry, part: Geometry) -> tuple[list[int], list[int]] | None:
    """Starts and extents of the box of ``whole`` (contiguous) that ``part`` shows; None if it is no box."""
    dims = [d for d in range(whole.ndim) if whole.shape[d] != 1]
    left = [*dims]
    extents = [1] * whole.ndim
    for n, s in zip(part.shape, part.strides):
        if n != 1:
            found = [d for d in left if whole.strides[d] == s]
            if not found:
                return None
            extents[found[0]] = n
            left.remove(found[0])
    starts, rest = [0] * whole.ndim, part.offset - whole.offset
    for d in dims:
        starts[d], rest = rest // whole.strides[d], rest % whole.strides[d]
        if starts[d] + extents[d] > whole.shape[d]:
            return None
    return starts, extents


def surroundings(shape: Sequence[int], strides: Sequence[int], starts: Sequence[int],
                 extents: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Offsets and extents of slabs that together are all that lies outside a box."""
    offset = 0
    slab = list(shape)
    for d, (n, s) in enumerate(zip(shape, strides)):
        end = starts[d] + extents[d]
        if starts[d]:
            slab[d] = starts[d]
            yield offset, list(slab)
        if end < n:
            slab[d] = n - end
            yield offset + end * s, list(slab)
        slab[d] = extents[d]
        offset += starts[d] * s
