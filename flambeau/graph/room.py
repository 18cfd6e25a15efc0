"""Room for geometries: all families, and how many members they have before it is asked who holds any."""

from __future__ import annotations

import sys
from threading import Lock
from typing import TYPE_CHECKING

from ..devices import device
from ..dtypes import dtype
from ..size import Size
from .references import UNHELD

if TYPE_CHECKING:
    from .geometry import Family  # it is made there

Key = tuple[Size, tuple[int, ...], dtype, device]
families: dict[Key, Family] = {}
_PLENTY = 1 << 15       # how many all have, before it is asked whether somebody holds them: a few tables
taken = [0, _PLENTY]    # how much room all have (a family's first counts as one), and may have
_sweeping = Lock()
_refcount = sys.getrefcount


def sweep() -> None:
    """Let go of members, and of families without any, that nobody holds."""
    if not _sweeping.acquire(blocking=False):
        return
    try:
        held = 0
        for family in list(families.values()):
            family.forget_ways()
        for key in list(families):
            family = families[key]
            held += family.let_go()
            if not family:
                families.pop(key)
                if family or _refcount(family) > UNHELD + len(family.spare):
                    families.setdefault(key, family)
                else:
                    family.forget_spare()   # they refer to it: it would wait for a collection
        taken[:] = held, held + max(_PLENTY, held) // 2
    finally:
        _sweeping.release()
