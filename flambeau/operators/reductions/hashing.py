"""Hashes of a tensor's elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...graph.geometry import Geometry, contiguous
from ...tensor import Tensor, record
from ..calls.axes import normalize_dims, reduced_shape
from ..calls.out import Out
from ..declaration.definition import operator
from ..declaration.domain import not_implemented
from ..declaration.registry import api
from .extrema import require_elements


def _hash_geometry(operands: Any, attributes: Any) -> Geometry:
    g, (dims, keepdim) = operands[0], attributes
    return contiguous(reduced_shape(g.shape, dims, keepdim), dtypes.uint64, g.device)


@operator("hash_tensor", _hash_geometry)
def HASH(m: Any, input: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
    """The exclusive or of the elements' bits, each widened to 64."""
    wide = input.astype(
        np.uint64 if input.dtype.kind == "u" else np.int64 if input.dtype.kind in "bi" else np.float64
    )
    xor: Any = np.bitwise_xor
    return xor.reduce(wide.view(np.uint64), axis=dims, keepdims=keepdim)


@api("torch", "Tensor", out=Out("Expected result to be of dtype uint64, but got {Out}"), judge="first")
def hash_tensor(input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The exclusive or of the bits of the elements, each as a 64-bit number of its kind.

    >>> import flambeau as torch
    >>> torch.hash_tensor(torch.tensor([[1, 2], [3, 4]]), 1)
    tensor([3, 7], dtype=torch.uint64)
    """
    if mode:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if input.is_complex():
        raise not_implemented("xor_sum_cpu", input.dtype)
    if not input.numel() and (dim is None or dim == ()):
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    dims = normalize_dims(dim, input.ndim)
    require_elements(input.shape, dims, "hash_tensor")
    return record(HASH, (input,), (dims, bool(keepdim)))
