"""Place: how a result of attention lies in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Place(NamedTuple):
    """How a result lies in memory."""

    ndim: int
    shape: Sequence[int]
    strides: tuple[int, ...]
    offset: int
