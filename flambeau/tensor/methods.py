"""Where pickle finds methods of tensors that nothing is wrapped around: they have the names of functions."""

from __future__ import annotations

from typing import Any

from .tensor import Tensor


def __getattr__(name: str) -> Any:
    try:
        return vars(Tensor)[name]
    except KeyError:
        raise AttributeError(f"tensors have no method {name}") from None
