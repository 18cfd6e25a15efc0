"""``torch.backends.opt_einsum``: the order in which ``einsum`` multiplies is left to right."""

from __future__ import annotations

from typing import Any

from ._switches import setter

enabled = False
strategy: str | None = None

flags = setter(globals(), ("enabled", "strategy"))


def is_available() -> bool:
    """Whether ``einsum`` asks opt_einsum for an order: no."""
    return False


def get_opt_einsum() -> Any:
    """The package: not used."""
    return None
