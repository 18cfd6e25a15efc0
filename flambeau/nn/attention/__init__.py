"""``torch.nn.attention``: choosing how scaled dot product attention is computed.

There is one implementation, with the results of PyTorch's on CPU; the choice is remembered and has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum

from ._registry import (
    activate_flash_attention_impl,
    current_flash_attention_impl,
    list_flash_attention_impls,
    register_flash_attention_impl,
    restore_flash_attention_impl,
)

# Kept for programs that set it: there is nothing to warn of.
WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """The implementations that PyTorch has.

    >>> import flambeau as torch
    >>> torch.nn.attention.SDPBackend.MATH
    <SDPBackend.MATH: 0>
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_allowed: list[SDPBackend] = [backend for backend in SDPBackend if backend >= 0]


@contextmanager
def sdpa_kernel(backends: Sequence[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Allow only some implementations inside (see the module's docstring).

    >>> import flambeau as torch
    >>> from flambeau.nn.attention import SDPBackend, sdpa_kernel
    >>> q = torch.ones(1, 2, 3, 4)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     torch.nn.functional.scaled_dot_product_attention(q, q, q).shape
    torch.Size([1, 2, 3, 4])
    """
    global _allowed
    chosen = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not all(isinstance(backend, SDPBackend) for backend in chosen):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    before, _allowed = _allowed, chosen
    try:
        yield
    finally:
        _allowed = before


__all__ = [
    "SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "activate_flash_attention_impl", "current_flash_attention_impl",
    "list_flash_attention_impls", "register_flash_attention_impl", "restore_flash_attention_impl",
    "sdpa_kernel",
]  # fmt: skip
