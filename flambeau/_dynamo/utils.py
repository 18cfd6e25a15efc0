"""What libraries ask about PyTorch's tracing compiler."""

from __future__ import annotations


def is_compile_supported(device_type: str) -> bool:
    """Whether ``torch.compile`` has something to do on a type of device: it gives functions back."""
    return False


