"""Utilities of the public namespace ``torch.utils``."""

from . import data

__all__ = ["data"]
