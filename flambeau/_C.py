"""``torch._C``: the few names of PyTorch's compiled part that libraries call."""

from __future__ import annotations

from typing import Any


def _log_api_usage_once(event: str) -> None:
    """Accepted: nothing is logged."""


def _get_tracing_state() -> Any:
    """The tracer that is at work: there is none."""
    return None


def _has_torch_function(args: Any) -> bool:
    """Whether one of the arguments overrides ``__torch_function__``."""
    from .tensor.overrides import has_torch_function

    return has_torch_function(args)
