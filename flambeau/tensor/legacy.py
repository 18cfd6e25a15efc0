"""Attributes of tensors that are left from older versions of PyTorch."""

from __future__ import annotations

import warnings

from .tensor import Tensor


def volatile(self: Tensor) -> bool:
    """False: ``torch.no_grad`` took its place.

    >>> import flambeau as torch
    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.ones(2).volatile
    False
    """
    warnings.warn("volatile was removed (Variable.volatile is always False)", stacklevel=2)
    return False


setattr(Tensor, "volatile", property(volatile))  # noqa: B010
