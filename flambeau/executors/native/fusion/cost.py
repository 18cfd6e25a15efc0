"""What computing costs, as a model: decisions depend on graphs alone, never on a clock."""

from __future__ import annotations

import math

from ..movement.spaces import even
from ..quantity import whole

ELEMENT_INSTRUCTION = 0.012   # nanoseconds for one element in one instruction of a kernel
SHARED = 10_000.0             # nanoseconds: from here on a second thread pays, where one helps anyway
PORTION = 20_000.0            # what a thread takes at a time, at most


@whole
def grain(tasks: int, each: float) -> int:
    """How many tasks of ``each`` nanoseconds a thread takes at a time; all where sharing would not pay."""
    together = tasks * each
    if together < SHARED:
        return max(tasks, 1)
    return max(1, -(-tasks // even(max(2, math.ceil(together / PORTION)))))
