"""``flambeau explain``: runs a program, then shows what was computed when, and why."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence

from .. import engine
from .program import run


def explain(arguments: Sequence[str]) -> int:
    """Run the program; at exit the explanation follows on standard error."""
    if arguments and arguments[0] not in ("-h", "--help"):
        # Registered before the program's own exit functions, and so called after them.
        atexit.register(_show, os.getpid())
    return run(arguments, command="explain")


def _show(process: int) -> None:
    if os.getpid() != process:      # a forked child that left through exit()
        return
    print(engine.explain(), file=sys.stderr)
