"""``torch._inductor``: the names that programs import from PyTorch's code generator, not needed here."""

from __future__ import annotations

from . import config as config


def cudagraph_mark_step_begin() -> None:
    """Accepted: no graphs of a GPU are replayed."""


__all__ = ["config", "cudagraph_mark_step_begin"]
