"""``torch.signal``: window functions for signal processing."""

from . import windows

__all__ = ["windows"]
