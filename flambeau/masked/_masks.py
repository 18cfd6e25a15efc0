"""What all masked operations share: masks of the input's shape, and what masked elements are replaced by."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from .. import operators as ops
from ..tensor import Tensor
from ..type_info import iinfo


def expanded(input: Tensor, mask: Tensor) -> Tensor:
    """The mask as truth values in the input's shape."""
    if len(mask.shape) > input.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
        )
    if mask.shape != input.shape:
        mask = mask.expand(input.shape)
    return mask if mask.dtype is dtypes.bool_ else mask.to(dtypes.bool_)


def lowest(dtype: dtypes.dtype, operation: str) -> float | int:
    """What is below every number of a type: the identity of a maximum."""
    if dtype.is_floating_point or (dtype.is_complex and operation == "logsumexp"):
        return float("-inf")
    if dtype is dtypes.bool_ or dtype.is_complex:
        raise NotImplementedError(f"identity of {operation} on {dtype} input")
    return iinfo(dtype).min


def highest(dtype: dtypes.dtype, operation: str) -> float | int:
    """What is above every number of a type: the identity of a minimum."""
    if dtype.is_floating_point:
        return float("inf")
    if dtype is dtypes.bool_ or dtype.is_complex:
        raise NotImplementedError(f"identity of {operation} on {dtype} input")
    return iinfo(dtype).max


def filled(input: Tensor, mask: Tensor | None, identity: Any) -> Tensor:
    """The input with ``identity`` where the mask is False."""
    if mask is None:
        return input
    replacement = ops.tensor(identity, dtype=input.dtype, device=input.device)
    found: Tensor = ops.where(expanded(input, mask), input, replacement)
    return found


def dimensions(input: Tensor, dim: Any) -> tuple[int, ...]:
    """The dimensions to reduce, none given meaning all, counted from 0; PyTorch's errors for wrong ones."""
    if dim is None or dim == ():
        return tuple(range(input.ndim))
    wanted = (dim,) if isinstance(dim, int) else dim
    found: list[int] = []
    room = max(input.ndim, 1)
    for d in wanted:
        if d >= room or d < -room:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-room}, {room - 1}], but got {d})"
            )
        place = d % room
        if place in found:
            raise RuntimeError(f"dim={place} appears multiple times in the list of dims")
        found.append(place)
    return tuple(found)


def converted(input: Tensor, dtype: Any) -> Tensor:
    """The input in the type asked for."""
    return input if dtype is None or dtype is input.dtype else input.to(dtype=dtype)
