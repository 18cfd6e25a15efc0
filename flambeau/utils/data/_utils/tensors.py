"""Tensors as bytes and back, for messages between processes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dtypes import dtype
from ....engine import value_of
from ....graph.geometry import contiguous
from ....graph.node import constant
from ....graph.storage import Storage
from ....tensor import Tensor
from ....tensor.tensor import fresh

Bytes = Any  # a one-dimensional array of uint8


def to_bytes(tensor: Tensor) -> Bytes:
    """The elements of a tensor, row by row, computed now if they are pending."""
    source = tensor.detach().contiguous()
    geometry = source._geometry
    flat = value_of(source._storage, "DataLoader")[geometry.offset : geometry.offset + geometry.numel]
    return np.ascontiguousarray(flat).view(np.uint8)


def from_bytes(data: Any, kind: dtype, shape: tuple[int, ...]) -> Tensor:
    """A tensor on memory that nobody else will write to."""
    flat = np.frombuffer(data, np.uint8).view(kind.numpy) if len(data) else np.empty(0, kind.numpy)
    geometry = contiguous(shape, kind)
    return fresh(Storage(constant(flat), geometry), geometry)
