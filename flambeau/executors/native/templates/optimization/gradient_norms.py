"""The native form of gradient clipping: the 2-norm of dense tensors together, and their scaling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

from .....graph.node import Signature
from ...optimizer.gradient_norms import limit_kernel, root_kernel, scale_kernel, squares_kernel
from ...plan import Call, Plan, Words
from .optimizer import chunk_of

_CHUNK = 1 << 15    # elements of the smallest task


def total_norm(signature: Signature) -> Plan | None:
    """Sums of squares, then the root of their sum."""
    tensors = signature.geometries
    p, wanted = signature.attributes
    if p != 2 or not all(g.is_dense for g in tensors):
        return None
    dtype = wanted.numpy
    total = sum(g.numel for g in tensors)
    tasks = -(-total // chunk_of(total, _CHUNK))
    words = _started(tensors)
    words.workspace()
    _table(words, tensors, words.input)
    root = Words()
    root.workspace()
    root.constant(tasks)
    root.output(0)
    return Plan([Call(squares_kernel(dtype), words, tasks), Call(root_kernel(dtype), root, 1)],
                workspace=8 * tasks, traffic=float(total * dtype.itemsize))


def clip_gradients(signature: Signature) -> Plan | None:
    """One pass over all tensors."""
    *tensors, norm, _ = signature.geometries
    dtype = norm.dtype.numpy
    if not all(g.is_dense for g in tensors):
        return None
    words = _started(tensors)
    words.input(len(tensors), norm)
    words.number(len(tensors) + 1, dtype)
    return _mapped(scale_kernel(dtype), words, tensors)


def limit_gradients(signature: Signature) -> Plan | None:
    """One pass over all tensors."""
    tensors = signature.geometries[:-1]
    dtype = tensors[0].dtype.numpy
    if not all(g.is_dense for g in tensors):
        return None
    words = _started(tensors)
    words.number(len(tensors), dtype)
    return _mapped(limit_kernel(dtype), words, tensors)


def _started(tensors: Any) -> Words:
    total = sum(g.numel for g in tensors)
    words = Words()
    words.constant(len(tensors), chunk_of(total, _CHUNK), total)
    return words


def _mapped(kernel: SupportsIndex, words: Words, tensors: Any) -> Plan:
    """Each tensor to a result, which may lie where it lies."""
    def both(k: int, geometry: Any) -> None:
        words.input(k, geometry)
        words.output(k)

    _table(words, tensors, both)
    total = sum(g.numel for g in tensors)
    return Plan([Call(kernel, words, -(-total // chunk_of(total, _CHUNK)))],
                reuses=[(k, k) for k in range(len(tensors))],
                traffic=float(2 * total * tensors[0].dtype.itemsize))


def _table(words: Words, tensors: Any, point: Callable[[int, Any], object]) -> None:
    start = 0
    for k, g in enumerate(tensors):
        words.constant(start)
        point(k, g)
        start += g.numel
    words.constant(start)


TEMPLATES = {"total_norm": total_norm, "clip_gradients": clip_gradients,
             "limit_gradients": limit_gradients}
