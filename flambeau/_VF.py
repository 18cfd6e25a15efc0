"""``torch._VF``: functions of ``torch`` by an older name, which recurrent layers are written with."""

from __future__ import annotations

from typing import Any

from .operators.declaration.registry import NAMESPACES


def __getattr__(name: str) -> Any:
    """The public function of this name."""
    if name not in NAMESPACES["torch"]:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return NAMESPACES["torch"][name]
