"""Attributes of tensors that are left from older versions of PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

from .tensor import Tensor


def volatile(self: Tensor) -> bool:
    """False: ``torch.no_grad`` took its place."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
    return False


def grad_dtype(self: Tensor) -> Any:
    """The dtype that the gradient of a tensor has: its own."""
    return self.dtype


for _property in (volatile, grad_dtype):
    setattr(Tensor, _property.__name__, property(_property))
