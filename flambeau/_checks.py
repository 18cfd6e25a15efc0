"""``torch._check`` and its kin: errors by condition, which packages raise through PyTorch.

The condition is a plain bool, or for the functions named ``tensor_all`` a tensor whose elements must all be
True, which is a look. The message is a function, called only where it is needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from . import dtypes
from .tensor import Tensor

_Message = Callable[[], Any] | None


def _check_with(error_type: type[Exception], cond: bool, message: _Message) -> None:
    """Raise an error of the given type unless the condition holds."""
    if not isinstance(cond, bool):
        if isinstance(cond, Tensor):
            raise TypeError("cond must be a bool, but got a Tensor. For tensor conditions, use "
                            "torch._check_tensor_all() to assert that all elements are true.")
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        _fail(error_type, message)


def _fail(error_type: type[Exception], message: _Message) -> None:
    if not issubclass(error_type, Exception) or issubclass(error_type, Warning):
        raise AssertionError(f"error_type must be a subclass of Exception but not Warning, got {error_type}")
    if message is None:
        raise error_type("Expected cond to be True, but got False. (Could this error message be improved? If "
                         "so, please report an enhancement request to PyTorch.)")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: bool, message: _Message = None) -> None:
    """Raise RuntimeError unless the condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: _Message = None) -> None:
    """Raise IndexError unless the condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: _Message = None) -> None:
    """Raise ValueError unless the condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: _Message = None) -> None:
    """Raise TypeError unless the condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: _Message = None) -> None:
    """Raise NotImplementedError unless the condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: _Message = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless a number is at least 0 and at most ``max``."""
    warnings.warn("_check_is_size will be removed in a future PyTorch release along with "
                  "guard_size_oblivious.     Use _check(i >= 0) instead.", FutureWarning, stacklevel=2)
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: _Message = None) -> None:
    """Raise an error of the given type unless all elements are True."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not dtypes.bool_:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond: Tensor, message: _Message = None) -> None:
    """Raise RuntimeError unless all elements are True."""
    _check_tensor_all_with(RuntimeError, cond, message)


FUNCTIONS = (_check, _check_with, _check_index, _check_value, _check_type, _check_not_implemented,
             _check_is_size, _check_tensor_all, _check_tensor_all_with)
