"""Columns of states: one storage for a state of many small parameters.

Note: joined states. Recording a step costs time for each tensor that it writes. The states of small models
are therefore laid one after the other in one storage, at the first step that uses them, and the step writes
that storage as one tensor. The tensors of ``optimizer.state`` see their parts of it, as views do. A small one
has its values at once: so the first step is the same graph as those after it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import operators as ops
from ..devices import CPU
from ..graph.geometry import Geometry, contiguous, intern
from ..graph.storage import Storage
from ..operators.creation.creation import FULL, filled
from ..operators.optimization.multi_tensor import suits
from ..tensor import Tensor
from ..tensor.construct import from_array
from ..tensor.tensor import fresh

# Elements up to which it pays: beyond, a step takes longer than its recording whatever the number of tensors.
_LIMIT = 1 << 22
_SMALL = 1 << 16    # beyond, the program that writes a tensor first chooses better memory for it


def can_join(column: Sequence[Tensor], params: Sequence[Tensor]) -> bool:
    """Whether the tensors are ordinary ones, each alone in its storage, with the parameters' elements."""
    if len(column) < 2 or sum(p.numel() for p in params) > _LIMIT:
        return False
    dtype = params[0]._geometry.dtype
    return suits(params[0]._geometry) and all(
        _stands_alone(x) and x.shape == p.shape and x._geometry.dtype is p._geometry.dtype is dtype
        for x, p in zip(column, params)
    )


def _stands_alone(x: Tensor) -> bool:
    g, held = x._geometry, x._storage.geometry
    return g.is_contiguous and g.offset == 0 and g.numel == held.numel and g.dtype is held.dtype \
        and not x._storage.exposed and x._counter is None and x._base is None and not x.requires_grad


def join(column: Sequence[Tensor]) -> None:
    """Let the tensors be parts of one new storage, one after the other."""
    number = _common_number(column)
    g = column[0]._geometry
    total = sum([x._geometry.numel for x in column])
    flat = ops.cat([x.reshape(-1) for x in column]) if number is None else \
        _filled(contiguous((total,), g.dtype, g.device), number)
    start = 0
    for x in column:
        g = x._geometry
        _move(x, flat._storage, intern(g.shape, g.strides, start, g.dtype, g.device))
        start += g.numel


def _filled(geometry: Geometry, number: int | float) -> Tensor:
    """A tensor of one value, which is there already if it is small."""
    if geometry.device is not CPU or geometry.numel > _SMALL:
        return filled(geometry, number)
    return from_array(FULL.kernel(np, number, geometry))


def _move(x: Tensor, storage: Storage, geometry: Geometry) -> None:
    """Let a tensor, which others may hold, have its values elsewhere."""
    storage.version = max(storage.version, x._storage.version)
    x._storage, x._geometry = storage, geometry


def _common_number(column: Sequence[Tensor]) -> int | float | None:
    """The number that all elements are, where that is all that is known of the tensors so far."""
    nodes = [x._storage.node for x in column]
    if any(node.value is not None or node.signature is None or node.signature.operator is not FULL
           for node in nodes):
        return None
    numbers = {repr(node.operands[0]): node.operands[0] for node in nodes}
    number = next(iter(numbers.values()))
    return number if len(numbers) == 1 and isinstance(number, (int, float)) else None


def is_joined(column: Sequence[Tensor]) -> bool:
    """Whether the tensors lie one after the other and are all that is in their storage."""
    storage = column[0]._storage
    start = 0
    for x in column:
        g = x._geometry
        if x._storage is not storage or g.offset != start or not g.is_contiguous \
                or g.dtype is not storage.geometry.dtype or x._counter is not None:
            return False
        start += g.numel
    return len(column) > 1 and start == storage.size


def whole(column: Sequence[Tensor]) -> Tensor:
    """The tensor that sees the storage of a joined column."""
    storage = column[0]._storage
    return fresh(storage, storage.flat)


def separate(column: Sequence[Tensor]) -> None:
    """Give tensors that are parts of a joined storage storages of their own."""
    for x in column:
        if x._geometry.numel != x._storage.size:
            own = x.detach().clone()
            _move(x, own._storage, own._geometry)
