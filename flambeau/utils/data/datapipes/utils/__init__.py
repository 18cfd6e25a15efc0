"""Helpers of pipes."""

from . import common, decoder

__all__ = ["common", "decoder"]
