"""``torch.backends.nnpack``: not there; its switch keeps what it is set to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_enabled = [True]


def is_available() -> bool:
    """Whether the library is there: no."""
    return False


def set_flags(_enabled_now: bool) -> tuple[bool]:
    """Choose whether to use it; returns what was chosen before."""
    before = _enabled[0]
    _enabled[0] = _enabled_now
    return (before,)


@contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """Choose it for the length of a block."""
    (before,) = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(before)
