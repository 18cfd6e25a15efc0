"""``torch.cuda.amp.common``: whether mixed precision on CUDA is out of the question."""

from __future__ import annotations


def amp_definitely_not_available() -> bool:
    """Whether there is no CUDA device: there is none.

    >>> import flambeau as torch
    >>> torch.cuda.amp.common.amp_definitely_not_available()
    True
    """
    return True


__all__ = ["amp_definitely_not_available"]
