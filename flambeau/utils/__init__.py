"""Utilities of the public namespace ``torch.utils``."""

from typing import Any

from ..tensor.swapping import swap_tensors
from . import _pytree, checkpoint, data, dlpack, hooks, weak

__all__ = ["checkpoint", "data", "dlpack", "hooks", "set_module", "swap_tensors", "weak"]


def set_module(obj: Any, mod: str) -> None:
    """Show `obj` as defined in the module called `mod`."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
