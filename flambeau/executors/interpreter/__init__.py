"""The interpreter: runs nodes with NumPy, operator by operator, freeing values after their last use."""

from .run import run

__all__ = ["run"]
