"""Tensors from nothing: zeros, ones, full, arange and their kin."""

from __future__ import annotations

from typing import Any

from .. import devices, dtypes
from ..graph.geometry import Geometry, contiguous, dense_like
from ..graph.node import Node, Signature, constant
from ..graph.operator import Operator
from ..graph.storage import Storage
from ..tensor import Tensor, fresh, record
from ..tensor.construct import empty_geometry, shared
from ..tensor.construct import tensor as _tensor
from .registry import api
from .shape import sizes_of

FULL = Operator("full", lambda m, value, geometry: m.full(geometry.shape, value, geometry.dtype.numpy),
                lambda operands, attributes: attributes[0], ("value",))


def filled(geometry: Geometry, value: Any, requires_grad: bool = False) -> Tensor:
    """A tensor of one value, recorded: nothing is allocated until it is looked at."""
    out: Tensor = record(FULL, (value,), (geometry,))
    return out.requires_grad_() if requires_grad else out


def factory_geometry(shape: tuple[int, ...], dtype: Any, device: Any) -> Geometry:
    """The geometry of a new tensor from a factory function's arguments."""
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return contiguous(shape, dtype or dtypes.get_default_dtype(), devices.resolve(device))


@api("torch", out=True)
def zeros(*size: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
          pin_memory: bool = False, names: Any = None) -> Tensor:
    """A tensor of zeros.

    >>> import flambeau as torch
    >>> torch.zeros(2)
    tensor([0., 0.])
    """
    return filled(factory_geometry(sizes_of(size), dtype, device), 0, requires_grad)


@api("torch", out=True)
def ones(*size: Any, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
         pin_memory: bool = False, names: Any = None) -> Tensor:
    """A tensor of ones."""
    return filled(factory_geometry(sizes_of(size), dtype, device), 1, requires_grad)


def like_geometry(input: Tensor, dtype: Any, device: Any) -> Geometry:
    """A fresh geometry like a tensor's, in memory too."""
    g = input._geometry
    made = dense_like(g.shape, g, dtype or g.dtype) if not g.is_contiguous and g.is_dense \
        else contiguous(g.shape, dtype or g.dtype, g.device)
    return made if device is None else contiguous(g.shape, made.dtype, devices.resolve(device))


@api("torch")
def zeros_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
               requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Tensor:
    """Zeros of a tensor's shape and type."""
    return filled(like_geometry(input, dtype, device), 0, requires_grad)


@api("torch")
def ones_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
              requires_grad: bool = False, memory_format: Any = None, pin_memory: bool = False) -> Tensor:
    """Ones of a tensor's shape and type."""
    return filled(like_geometry(input, dtype, device), 1, requires_grad)


@api("torch")
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor that shares memory with a NumPy array."""
    import numpy as np
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return shared(ndarray)


tensor = api("torch", name="tensor")(_tensor)

__all__ = ["Node", "Signature", "Storage", "constant", "empty_geometry", "fresh", "filled"]
