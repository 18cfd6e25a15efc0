"""``torch._assert``, an assertion that a tracer can record, and ``torch._assert_async`` of a tensor."""

from __future__ import annotations

from typing import Any

from .tensor import Tensor


def _assert(condition: Any, message: str) -> Any:
    """``assert condition, message``; under a tracer it becomes a step of the graph."""
    if hasattr(condition, "tracer"):
        kind = type(condition)
        return kind.__torch_function__(_assert, (kind,), (condition, message), {})
    assert condition, message
    return None


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raise where the one element of a tensor is zero or False: a look, since nothing here fails later."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


_assert.__module__ = _assert_async.__module__ = __name__.partition(".")[0]
