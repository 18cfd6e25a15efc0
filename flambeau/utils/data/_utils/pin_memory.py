"""Batches in page-locked memory, of which a CPU has no need."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from copy import copy
from typing import Any

from ....tensor import Tensor


def pin_memory(data: Any, device: Any = None) -> Any:
    """``data`` with every tensor pinned: ``Tensor.pin_memory``, which asks for an accelerator.

    Containers are taken apart, other objects asked for a method of this name.
    """
    if isinstance(data, Tensor):
        return data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory() if device is None else data.pin_memory(device)
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        pinned = {key: pin_memory(value, device) for key, value in data.items()}
        if not isinstance(data, MutableMapping):
            return pinned
        made = copy(data)
        made.update(pinned)
        return made
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(value, device) for value in data))
    if isinstance(data, tuple):
        return tuple(pin_memory(value, device) for value in data)
    if isinstance(data, Sequence):
        return [pin_memory(value, device) for value in data]
    return data


__all__ = ["pin_memory"]
