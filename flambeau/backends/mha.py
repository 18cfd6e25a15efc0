"""``torch.backends.mha``: whether attention behaves as with PyTorch's fast path of inference."""

from __future__ import annotations

_enabled = [True]


def get_fastpath_enabled() -> bool:
    """Whether rows that may see nothing are NaN in inference, as in PyTorch's fast path."""
    return _enabled[0]


def set_fastpath_enabled(value: bool) -> None:
    """Choose it.

    >>> import flambeau as torch
    >>> torch.backends.mha.set_fastpath_enabled(False)
    >>> torch.backends.mha.get_fastpath_enabled()
    False
    >>> torch.backends.mha.set_fastpath_enabled(True)
    """
    _enabled[0] = value
