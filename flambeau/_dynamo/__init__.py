"""``torch._dynamo``: the names that libraries import from PyTorch's tracing compiler, not needed here."""

from __future__ import annotations

from typing import Any

from ..compiler import OptimizedModule, allow_in_graph, assume_constant_result, disable, is_compiling, reset
from . import eval_frame as eval_frame


def graph_break(msg: str = "") -> None:
    """Accepted: nothing is traced."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Accepted: a size that changes costs nothing."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Accepted: a size that changes costs nothing."""


def mark_static(t: Any, index: Any = None) -> None:
    """Accepted."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Accepted."""


__all__ = ["OptimizedModule", "allow_in_graph", "assume_constant_result", "disable", "graph_break",
           "is_compiling", "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic",
           "reset"]
