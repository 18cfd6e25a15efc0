"""Storage: a flat value that tensors share, with its version counter."""

from __future__ import annotations

from typing import Any

from .geometry import Geometry
from .node import Node


class Storage:
    """What views of one another share.

    ``node`` stands for the current value. ``version`` counts in-place writes (Note: values and versions).
    ``exposed`` is true while memory outside flambeau may alias the buffer (``from_numpy``, ``numpy()``,
    ``data_ptr``): then results are written into that very buffer, and readers take its value at the time of
    the call.
    """

    __slots__ = ("node", "version", "exposed", "geometry", "owner", "__weakref__")

    def __init__(self, node: Node, geometry: Geometry) -> None:
        self.node = node
        self.version = 0
        self.exposed = False
        self.geometry = geometry  # of the value as it was made: dense, offset 0
        self.owner: Any = None    # what keeps imported memory alive

    @property
    def size(self) -> int:
        """Number of elements, of the dtype with which the value was made."""
        return self.geometry.numel

    @property
    def flat(self) -> Geometry:
        """The whole value as a one-dimensional tensor."""
        return self.geometry.flat


class Derived(Storage):
    """A storage whose node is made of that of ``source``; ``read``: of which node it was made last."""

    __slots__ = ("source", "read")

    source: Storage
    read: Any


class VersionCounter:
    """A counter of its own, for tensors that share memory and not history (``.data``)."""

    __slots__ = ("version",)

    inference = False       # whether it is that of a tensor made in inference mode

    def __init__(self, version: int = 0) -> None:
        self.version = version

    @property
    def to_save(self) -> int:
        """The version of a tensor that is saved for backward; raises where it may not be."""
        return self.version
