"""What libraries ask about Triton, which compiles for GPUs: it is never used here."""

from __future__ import annotations


def has_triton_package() -> bool:
    """Whether Triton can be imported for use."""
    return False


def has_triton() -> bool:
    """Whether Triton is there with a device to compile for."""
    return False


__all__ = ["has_triton", "has_triton_package"]
