"""``torch.utils._python_dispatch``: which classes take other tensors' places and can be taken apart."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Whether a class of tensors tells its parts (``__tensor_flatten__``) and how to put them together."""
    return issubclass(t, Tensor) and t is not Tensor and hasattr(t, "__tensor_flatten__") \
        and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether something is an instance of such a class."""
    return is_traceable_wrapper_subclass_type(type(t))


__all__ = ["is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type"]
