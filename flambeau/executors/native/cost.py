"""What computing costs, as a model: decisions depend on graphs alone, never on a clock."""

from __future__ import annotations

import os

LAUNCH = 6000.0           # nanoseconds to prepare and call a kernel
OPERATOR = 1500.0         # to run one operator in the interpreter
NATIVE_ELEMENT = 0.05     # for one element in one operator of a kernel
ELEMENT_INSTRUCTION = 0.012   # for one element in one instruction of a kernel
INTERPRETED_ELEMENT = 0.4
SHARED = 30_000.0         # from here on two threads pay

# Set by FLAMBEAU_NATIVE_ALWAYS=1: kernels for the smallest arrays too, for tests.
always = os.environ.get("FLAMBEAU_NATIVE_ALWAYS", "0") not in ("", "0")


def worthwhile(elements: int, operators: int) -> bool:
    """Whether a kernel is cheaper than the interpreter, its compilation not counted."""
    native = LAUNCH + NATIVE_ELEMENT * elements * operators
    return always or native < operators * (OPERATOR + INTERPRETED_ELEMENT * elements)


def grain(tasks: int, each: float) -> int:
    """How many tasks of ``each`` nanoseconds a thread takes at a time; all where sharing would not pay."""
    if tasks * each < SHARED:
        return max(tasks, 1)
    return max(1, min(-(-tasks // 2), int(20_000.0 / each)))
