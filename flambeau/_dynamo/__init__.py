"""``torch._dynamo``: the names that libraries import from PyTorch's tracing compiler, not needed here."""

from __future__ import annotations

from typing import Any

from ..compiler import (
    OptimizedModule,
    allow_in_graph,
    assume_constant_result,
    compile,
    disable,
    is_compiling,
    list_backends,
    reset,
)
from ..compiler.errors import check_backend
from . import config as config
from . import eval_frame as eval_frame
from . import exc as exc


def optimize(backend: Any = "inductor", **options: Any) -> Any:
    """The older form of ``compile``: ``optimize(backend)(function)``."""
    check_backend(backend)
    return lambda model: compile(model, backend=backend)


def is_dynamo_supported() -> bool:
    """Whether ``torch.compile`` can be called: yes, it gives a callable that does the same."""
    return True


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
           "is_compiling", "is_dynamo_supported", "list_backends", "mark_dynamic", "mark_static",
           "mark_static_address", "maybe_mark_dynamic", "optimize", "reset"]
