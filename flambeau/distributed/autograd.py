"""``torch.distributed.autograd``: backward through calls in other processes, of which there are none."""

from __future__ import annotations

from typing import NoReturn


def is_available() -> bool:
    """Whether gradients can be asked for in other processes: no."""
    return False


class context:
    """The block in which such a backward pass runs: it needs processes that were started for it."""

    def __enter__(self) -> NoReturn:
        raise RuntimeError("Need to initialize distributed autograd using torch.distributed.autograd.init()")

    def __exit__(self, *exc: object) -> None:
        """Nothing was entered."""


__all__ = ["context", "is_available"]
