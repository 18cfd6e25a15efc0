"""Pipes: streams and maps that are chained by their methods (``map``, ``filter``, ``batch``, ...)."""

from . import datapipe, iter, map, utils

__all__ = ["datapipe", "iter", "map", "utils"]
