"""What libraries ask about tracing with tensors that have no values: nothing is traced so here."""

from __future__ import annotations

from typing import Any


class TracingContext:
    """What a trace knows: there is never one at work."""

    @staticmethod
    def try_get() -> None:
        """The trace at work: none."""
        return None

    @staticmethod
    def get() -> Any:
        """The trace at work, which must be there."""
        raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")


def detect_fake_mode(inputs: Any = None) -> None:
    """The mode that tensors without values belong to: none."""
    return None


def active_fake_mode() -> None:
    """The same of the code that runs: none."""
    return None


__all__ = ["TracingContext", "active_fake_mode", "detect_fake_mode"]
