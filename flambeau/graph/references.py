"""References: what ``sys.getrefcount`` says of an object that only a local variable holds."""

from __future__ import annotations

import sys


def _unheld() -> int:
    held = [object()]
    taken = held.pop()
    return sys.getrefcount(taken)


# Measured, since interpreters differ in what a local variable costs.
UNHELD = _unheld()
