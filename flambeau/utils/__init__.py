"""Utilities of the public namespace ``torch.utils``."""

from typing import TYPE_CHECKING, Any

from .._later import submodules
from ..tensor.swapping import swap_tensors
from . import _pytree, checkpoint, data, dlpack, hooks, weak

__all__ = ["checkpoint", "data", "dlpack", "hooks", "set_module", "swap_tensors", "weak"]


def set_module(obj: Any, mod: str) -> None:
    """Show `obj` as defined in the module called `mod`."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


if not TYPE_CHECKING:
    __getattr__ = submodules(__name__, "_contextlib", "_foreach_utils", "_python_dispatch", "deterministic")
