"""What libraries ask about PyTorch's tracing compiler."""

from __future__ import annotations

import warnings

_warned: set[str] = set()


def is_compile_supported(device_type: str) -> bool:
    """Whether ``torch.compile`` has something to do on a type of device: it gives functions back."""
    return False


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn of something, once for each message."""
    if msg not in _warned:
        _warned.add(msg)
        warnings.warn(msg, stacklevel=stacklevel + 1)
