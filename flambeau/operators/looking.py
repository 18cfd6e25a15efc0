"""Looks: what needs a value now (``item``, ``numpy``, ``tolist``, ``bool``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..engine import expose, value_of
from ..executors.interpreter.arrays import read
from ..tensor import Tensor
from .registry import api


def look(x: Tensor, cause: str) -> np.ndarray[Any, Any]:
    """The values of x as an array that must not be written to or kept."""
    if x._geometry.device.type == "meta":
        raise RuntimeError(f"Tensor.{cause}() cannot be called on meta tensors")
    return read(value_of(x._storage, cause), x._geometry)


@api("Tensor")
def item(self: Tensor) -> Any:
    """The one element as a Python number."""
    if self._geometry.numel != 1:
        raise RuntimeError(f"a Tensor with {self._geometry.numel} elements cannot be converted to Scalar")
    value = look(self, "item").reshape(-1)[0]
    return float(value) if self._geometry.dtype in dtypes.LOW_PRECISION else value.item()


@api("Tensor")
def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers."""
    array = look(self, "tolist")
    return array.astype(np.float32).tolist() if self._geometry.dtype in dtypes.LOW_PRECISION else array.tolist()


@api("Tensor")
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray[Any, Any]:
    """A NumPy array that shares memory with this tensor (a copy is made only with ``force``, where it must)."""
    if not force and self.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if self._geometry.device.type == "meta":
        raise TypeError("can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                        "first.")
    if self._geometry.dtype in dtypes.LOW_PRECISION and self._geometry.dtype is not dtypes.float16:
        raise TypeError(f"Got unsupported ScalarType {dtypes.SCALAR_NAMES[self._geometry.dtype]}")
    return read(expose(self._storage, "numpy"), self._geometry)


def _bool(self: Tensor) -> bool:
    if self._geometry.numel != 1:
        if self._geometry.numel == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(look(self, "bool").reshape(-1)[0])


Tensor.__bool__ = _bool  # type: ignore[attr-defined]
Tensor.__float__ = lambda self: float(self.item())  # type: ignore[attr-defined]
Tensor.__int__ = lambda self: int(self.item())  # type: ignore[attr-defined]
Tensor.__complex__ = lambda self: complex(self.item())  # type: ignore[attr-defined]
