"""``torch.quasirandom``: points that fill a cube evenly."""

from __future__ import annotations

from .sobol import SobolEngine

__all__ = ["SobolEngine"]
