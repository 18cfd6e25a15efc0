"""Utilities of the public namespace ``torch.utils``."""

from . import _pytree, checkpoint, data, hooks

__all__ = ["checkpoint", "data", "hooks"]
