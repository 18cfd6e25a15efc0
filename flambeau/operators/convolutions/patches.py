"""Patches: what a kernel of a convolution sees of each sample, as rows of a matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np

Ints = tuple[int, ...]


def zero_padded(m: Any, x: Any, padding: Ints) -> Any:
    """x (N, C, *space) with zeros around the space."""
    if not any(padding):
        return x
    shape = (*x.shape[:2], *(n + 2 * p for n, p in zip(x.shape[2:], padding)))
    found = m.zeros(shape, x.dtype)
    found[(slice(None), slice(None), *(slice(p, p + n) for n, p in zip(x.shape[2:], padding)))] = x
    return found


def windows(m: Any, x: Any, kernel: Ints, stride: Ints, dilation: Ints, extents: Ints) -> Any:
    """The view (N, C, *kernel, *extents) of all patches of a padded x (N, C, *space)."""
    strides = x.strides
    shape = (*x.shape[:2], *kernel, *extents)
    steps = (*strides[:2], *(s * d for s, d in zip(strides[2:], dilation)),
             *(s * t for s, t in zip(strides[2:], stride)))
    return np.lib.stride_tricks.as_strided(x, shape, steps)


def positions(kernel: Ints) -> Any:
    """The offsets of a kernel's elements."""
    return np.ndindex(*kernel)


def slices(offsets: Ints, stride: Ints, dilation: Ints, extents: Ints) -> tuple[slice, ...]:
    """Where one element of the kernel meets the padded space."""
    return tuple(slice(o * d, o * d + s * (n - 1) + 1, s)
                 for o, s, d, n in zip(offsets, stride, dilation, extents))


# Patches of a batch are taken this many bytes at a time, to stay in the cache and to bound the memory.
_CHUNK_BYTES = 8 << 20


def chunk(per_sample_bytes: int, batch: int) -> int:
    """How many samples' patches are taken at a time."""
    return max(1, min(batch, _CHUNK_BYTES // max(per_sample_bytes, 1)))


def patches(m: Any, x: Any, kernel: Ints, stride: Ints, dilation: Ints, extents: Ints) -> Any:
    """Patches of x (N, C, *space), copied to (N, C * kernel, extents)."""
    view = windows(m, x, kernel, stride, dilation, extents)
    rows = x.shape[1] * int(np.prod(kernel))
    return np.ascontiguousarray(view).reshape(x.shape[0], rows, int(np.prod(extents)))
