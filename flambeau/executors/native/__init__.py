"""The native executor: fused loops compiled with LLVM, the interpreter's kernels in between."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ...graph.node import Node

_log = logging.getLogger("flambeau")
_execute: Callable[[list[Node]], list[Node]] | None = None


def run(nodes: list[Node]) -> list[Node]:
    """Compute nodes, last one first; llvmlite is imported by the first call."""
    global _execute
    if _execute is None:
        _execute = _executor()
    return _execute(nodes)


def _executor() -> Callable[[list[Node]], list[Node]]:
    try:
        from .run import run as native
    except ImportError as error:
        from .. import interpreter

        _log.warning("the native tier needs llvmlite (%s): interpreting instead", error)
        return interpreter.run
    return native


__all__ = ["run"]
