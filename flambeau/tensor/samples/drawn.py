"""One number that was drawn: a decision, or where a part begins.

Programs draw such a number to look at it, so it is kept as Python's. It becomes an array, and its storage an
ordinary one, once somebody wants more of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.look import values_read
from ...graph.geometry import Geometry, contiguous
from ...graph.node import Node, constant
from ..recording.record import interceptors
from ..tensor import Tensor
from .known import later
from .waiting import Later

_TRUTHS = {ndim: contiguous((1,) * ndim, dtypes.bool_) for ndim in (0, 1)}


class Drawn(Later):
    """The storage of one number, which is its ``owner``."""

    __slots__ = ()

    def settled(self) -> tuple[Node, Geometry]:
        """The number as an array, and its geometry."""
        return constant(np.array([self.owner], self.geometry.dtype.numpy)), self.geometry


def drawn_number(number: float, geometry: Geometry) -> Tensor:
    """A tensor of one number, which is exact in its dtype."""
    return later(Drawn, number, geometry)


def number_in(x: Tensor) -> Any:
    """The number that a tensor is, if that is all that was ever wanted of it; else None."""
    storage = x._storage
    return storage.owner if storage.__class__ is Drawn and x._geometry is storage.geometry else None


def number_seen(x: Tensor) -> Any:
    """``number_in`` for code that depends on it from now on."""
    number = number_in(x)
    if number is not None:
        values_read[0] += 1
    return number


def compared(compare: Callable[[Any, Any], bool], x: Tensor, other: Any) -> Tensor | None:
    """Whether a number that was drawn is less than another one, or the like; None for everything else."""
    number = number_in(x)
    if number is None or interceptors or other.__class__ is not number.__class__:
        return None
    g = x._geometry
    if g.dtype is dtypes.float32:
        other = _rounded(other)
    return drawn_number(compare(number, other), _TRUTHS[g.ndim])


@lru_cache(1 << 8)
def _rounded(number: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(number))


__all__ = ["Drawn", "compared", "drawn_number", "number_seen"]
