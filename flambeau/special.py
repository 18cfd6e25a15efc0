"""``torch.special``: the functions are defined in ``flambeau.operators``."""

from __future__ import annotations

from typing import Any

from .operators import NAMESPACES
from .operators.declaration.registry import publish_in

publish_in(globals(), "special")

__all__ = sorted(NAMESPACES["special"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    raise AttributeError(f"flambeau has no torch.special.{name} yet")
