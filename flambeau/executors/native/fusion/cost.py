"""What computing costs, as a model: decisions depend on graphs alone, never on a clock."""

from __future__ import annotations

import math

from ..templates.nest import even

ELEMENT_INSTRUCTION = 0.012   # nanoseconds for one element in one instruction of a kernel
SHARED = 10_000.0             # nanoseconds: from here on a second thread pays, where one helps anyway
PORTION = 20_000.0            # what a thread takes at a time, at most


def grain(tasks: int, each: float) -> int:
    """How many tasks of ``each`` nanoseconds a thread takes at a time; all where sharing would not pay."""
    whole = tasks * each
    if whole < SHARED:
        return max(tasks, 1)
    return max(1, -(-tasks // even(max(2, math.ceil(whole / PORTION)))))
