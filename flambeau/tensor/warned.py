"""Warnings that name the line that called a function, however many wrappers lie between."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
_FUNCTIONS = tuple(str(_PACKAGE / folder) + "/" for folder in ("operators", "tensor"))
_ALL = (str(_PACKAGE) + "/",)
_said: set[str] = set()


def warn(message: str, category: type[Warning] = UserWarning, *, beyond_layers: bool = False) -> None:
    """Warn at the nearest line outside functions and methods of tensors; or outside the package."""
    inside = _ALL if beyond_layers else _FUNCTIONS
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_once(message: str) -> None:
    """``warn`` the first time in this process, whatever the filters say."""
    if message not in _said:
        _said.add(message)
        warn(message)
