"""``torch.fft``: the functions are defined in ``flambeau.operators``."""

from __future__ import annotations

from typing import Any

from .operators import NAMESPACES
from .operators.declaration.registry import publish_in

publish_in(globals(), "fft")

__all__ = sorted(NAMESPACES["fft"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    raise AttributeError(f"flambeau has no torch.fft.{name} yet")
