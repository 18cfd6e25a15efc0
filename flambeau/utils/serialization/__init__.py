"""Settings of checkpoints."""

from . import config

__all__ = ["config"]
