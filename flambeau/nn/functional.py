"""``torch.nn.functional``: the functions behind the layers. They are defined in ``flambeau.operators``."""

from __future__ import annotations

from typing import Any

from ..operators import NAMESPACES
from ..operators.registry import publish_in

publish_in(globals(), "nn.functional")

__all__ = sorted(NAMESPACES["nn.functional"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    raise AttributeError(f"flambeau has no torch.nn.functional.{name} yet")
