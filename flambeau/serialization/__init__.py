"""``torch.save`` and ``torch.load`` in PyTorch's own file format, in both directions."""

from .load import load
from .safety import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .save import save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
