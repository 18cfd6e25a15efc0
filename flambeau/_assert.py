"""``torch._assert``: an assertion that a tracer can record."""

from __future__ import annotations

from typing import Any


def _assert(condition: Any, message: str) -> Any:
    """``assert condition, message``; under a tracer it becomes a step of the graph."""
    if hasattr(condition, "tracer"):
        kind = type(condition)
        return kind.__torch_function__(_assert, (kind,), (condition, message), {})
    assert condition, message
    return None


_assert.__module__ = __name__.partition(".")[0]
