"""What computing costs, as a model: decisions depend on graphs alone, never on a clock."""

from __future__ import annotations

ELEMENT_INSTRUCTION = 0.012   # nanoseconds for one element in one instruction of a kernel
SHARED = 10_000.0             # nanoseconds: from here on a second thread pays, where one helps anyway
PORTION = 20_000.0            # what a thread takes at a time, at most
EVEN = 4                      # portions come in so many: as many for each of two or four threads


def grain(tasks: int, each: float) -> int:
    """How many tasks of ``each`` nanoseconds a thread takes at a time; all where sharing would not pay."""
    whole = tasks * each
    if whole < SHARED:
        return max(tasks, 1)
    portions = 2 if whole <= 2 * PORTION else EVEN * -(-whole // (EVEN * PORTION))
    return max(1, -(-tasks // int(portions)))
