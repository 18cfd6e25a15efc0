"""What computing costs, as a model: decisions depend on graphs alone, never on a clock."""

from __future__ import annotations

ELEMENT_INSTRUCTION = 0.012   # nanoseconds for one element in one instruction of a kernel
SHARED = 30_000.0             # nanoseconds: from here on two threads pay


def grain(tasks: int, each: float) -> int:
    """How many tasks of ``each`` nanoseconds a thread takes at a time; all where sharing would not pay."""
    if tasks * each < SHARED:
        return max(tasks, 1)
    return max(1, min(-(-tasks // 2), int(20_000.0 / each)))
