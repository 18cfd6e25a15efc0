"""Overlaps: memory that an operator would both read and write through different views, which is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..tensor import Tensor
from .inplace import check_writable
from .turned import shares_memory, there_are


def require_apart(x: Tensor, operands: Iterable[Any], same_allowed: bool = True) -> None:
    """Raise where an operand shares memory with x, the tensor to write, but is not the same view of it.

    As in PyTorch only views without gaps are told apart: they overlap where their ranges do.
    """
    for operand in operands:
        if isinstance(operand, Tensor) \
                and (operand._storage is x._storage or (there_are and shares_memory(operand, x))) \
                and _overlap(x, operand, same_allowed):
            check_writable(x)
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer "
                "to a single memory location. Please clone() the tensor before performing the operation.")


def _overlap(x: Tensor, y: Tensor, same_allowed: bool) -> bool:
    a, b = x._geometry, y._geometry
    if a is b:
        return not same_allowed and a.numel > 0
    if not a.numel or not b.numel or not a.is_dense or not b.is_dense:
        return False
    a_size, b_size = a.dtype.itemsize, b.dtype.itemsize
    a_start, b_start = a.offset * a_size, b.offset * b_size
    a_end, b_end = a_start + a.numel * a_size, b_start + b.numel * b_size
    if (a_start, a_end) == (b_start, b_end):
        return not same_allowed or a.strides != b.strides
    return a_start < b_end and b_start < a_end


__all__ = ["require_apart"]
