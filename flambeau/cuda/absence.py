"""What is said where a device would be needed."""

from __future__ import annotations

from typing import NoReturn

NONE = "Torch not compiled with CUDA enabled"


def refuse() -> NoReturn:
    """PyTorch's error for what needs CUDA."""
    raise AssertionError(NONE)
