"""What computing costs, as a model: decisions depend on graphs alone, never on a clock."""

from __future__ import annotations

import os

LAUNCH = 6000.0           # nanoseconds to prepare and call a kernel
OPERATOR = 1500.0         # to run one operator in the interpreter
NATIVE_ELEMENT = 0.05     # for one element in one operator of a kernel
INTERPRETED_ELEMENT = 0.4
SHARED = 100_000.0        # from here on two threads pay

# Set by FLAMBEAU_NATIVE_ALWAYS=1: kernels for the smallest arrays too, for tests.
always = os.environ.get("FLAMBEAU_NATIVE_ALWAYS", "0") not in ("", "0")


def worthwhile(elements: int, operators: int) -> bool:
    """Whether a kernel is cheaper than the interpreter, its compilation not counted."""
    native = LAUNCH + NATIVE_ELEMENT * elements * operators
    return always or native < operators * (OPERATOR + INTERPRETED_ELEMENT * elements)


def threads(elements: int, operators: int) -> int:
    """How many threads share a kernel's work."""
    return 2 if NATIVE_ELEMENT * elements * max(operators, 4) >= SHARED else 1
