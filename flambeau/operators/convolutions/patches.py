"""Patches: what a kernel of a convolution sees of each sample, as rows of a matrix product."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

Ints = tuple[int, ...]


def zero_padded(m: Any, x: Any, padding: Ints, last: bool = False) -> Any:
    """x (N, C, *space) with zeros around the space; ``last``: its channels lying one after the other."""
    if not last and not any(padding):
        return x
    shape = (*x.shape[:2], *[n + 2 * p for n, p in zip(x.shape[2:], padding)])
    found = channels_last(m, shape, x.dtype) if last else m.zeros(shape, x.dtype)
    found[inside(x.shape[2:], padding)] = x
    return found


def inside(space: Ints, padding: Ints) -> tuple[slice, ...]:
    """Where the space lies in a padded one."""
    return (_ALL, _ALL, *[slice(p, p + n) for n, p in zip(space, padding)])


_ALL = slice(None)


def windows(m: Any, x: Any, kernel: Ints, stride: Ints, dilation: Ints, extents: Ints) -> Any:
    """The view (N, C, *kernel, *extents) of all patches of a padded x (N, C, *space)."""
    strides = x.strides
    shape = (*x.shape[:2], *kernel, *extents)
    steps = (*strides[:2], *[s * d for s, d in zip(strides[2:], dilation)],
             *[s * t for s, t in zip(strides[2:], stride)])
    memory = x if x.flags.c_contiguous else x.transpose(0, *range(2, x.ndim), 1)
    if memory.flags.c_contiguous and x.dtype.kind in "biufc":
        return np.ndarray(shape, x.dtype, memory, 0, steps)     # ``as_strided`` takes ten times as long
    return np.lib.stride_tricks.as_strided(x, shape, steps)


def positions(kernel: Ints) -> Any:
    """The offsets of a kernel's elements."""
    return product(*map(range, kernel))


def slices(offsets: Ints, stride: Ints, dilation: Ints, extents: Ints) -> tuple[slice, ...]:
    """Where one element of the kernel meets the padded space."""
    return tuple([slice(o * d, o * d + s * (n - 1) + 1, s)
                  for o, s, d, n in zip(offsets, stride, dilation, extents)])


# Patches of a batch are taken this many bytes at a time, to stay in the cache and to bound the memory.
_CHUNK_BYTES = 8 << 20


def chunk(per_sample_bytes: int, batch: int) -> int:
    """How many samples' patches are taken at a time."""
    return max(1, min(batch, _CHUNK_BYTES // max(per_sample_bytes, 1)))


def patches(m: Any, x: Any, kernel: Ints, stride: Ints, dilation: Ints, extents: Ints) -> Any:
    """Patches of x (N, C, *space), copied to (N, C * kernel, extents)."""
    view = windows(m, x, kernel, stride, dilation, extents)
    return np.ascontiguousarray(view).reshape(x.shape[0], x.shape[1] * prod(kernel), prod(extents))


def patches_last(m: Any, x: Any, kernel: Ints, stride: Ints, dilation: Ints, extents: Ints) -> Any:
    """Patches of x (N, C, *space) that lies channels last, copied to (N, extents, kernel * C)."""
    view = windows(m, x, kernel, stride, dilation, extents)
    count = len(kernel)
    view = view.transpose(0, *range(2 + count, 2 + 2 * count), *range(2, 2 + count), 1)
    return np.ascontiguousarray(view).reshape(x.shape[0], prod(extents), prod(kernel) * x.shape[1])


def channels_last(m: Any, shape: Ints, dtype: Any) -> Any:
    """Zeros (N, C, *space) whose channels lie one after the other."""
    return channels_second(m.zeros((shape[0], *shape[2:], shape[1]), dtype))


def channels_second(x: Any) -> Any:
    """The view (N, C, *space) of x (N, *space, C)."""
    return x.transpose(0, x.ndim - 1, *range(1, x.ndim - 1))


def has_many_channels(per_group: int, groups: int, kernel: Ints, extents: Ints) -> bool:
    """Whether NumPy's inner loops are better along the channels than along the space."""
    return groups == 1 and per_group >= 16 and 2 * per_group >= extents[-1] and max(kernel) > 1


def columns_first(m: Any, flat: Any, weight: Any, extents: Ints) -> Any:
    """What elements of a kernel add: (N, groups, O / groups, extents) gives (N, C, *kernel, *extents)."""
    batch, groups, out_channels = flat.shape[:3]
    matrix = weight.reshape(groups, out_channels, -1).transpose(0, 2, 1)
    return m.matmul(matrix, flat).reshape(batch, groups * weight.shape[1], *weight.shape[2:], *extents)


def columns_last(m: Any, flat: Any, weight: Any, extents: Ints) -> Any:
    """The same of one group, the channels lying one after the other."""
    batch, _, out_channels = flat.shape[:3]
    channels, kernel = weight.shape[1], weight.shape[2:]
    rows = m.ascontiguousarray(flat.transpose(0, 1, 3, 2)).reshape(-1, out_channels)
    matrices = m.ascontiguousarray(weight.reshape(out_channels, channels, -1).transpose(2, 0, 1))
    columns = m.matmul(rows, matrices).reshape(*kernel, batch, *extents, channels)
    count = len(kernel)
    return columns.transpose(count, 2 * count + 1, *range(count), *range(count + 1, 2 * count + 1))
