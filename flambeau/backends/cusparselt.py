"""``torch.backends.cusparselt``: not there."""

from __future__ import annotations


def version() -> int | None:
    """The library's version: there is none."""
    return None


def is_available() -> bool:
    """Whether the library is there: no."""
    return False


def get_max_alg_id() -> int | None:
    """The number of the library's algorithms: there are none."""
    return None
