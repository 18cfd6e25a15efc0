"""``torch.backends.cuda``: there is no CUDA; its switches keep what they are set to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True,
                         allow_bf16_reduced_precision_reduction=True, fp32_precision="none")
_kernels = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "reduced sums": False}


def is_built() -> bool:
    """Whether CUDA was built in: no."""
    return False


def flash_sdp_enabled() -> bool:
    """What ``enable_flash_sdp`` was given."""
    return _kernels["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Remembered: attention has one implementation."""
    _kernels["flash"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """What ``enable_mem_efficient_sdp`` was given."""
    return _kernels["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Remembered: attention has one implementation."""
    _kernels["mem_efficient"] = enabled


def math_sdp_enabled() -> bool:
    """What ``enable_math_sdp`` was given."""
    return _kernels["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Remembered: attention has one implementation."""
    _kernels["math"] = enabled


def cudnn_sdp_enabled() -> bool:
    """What ``enable_cudnn_sdp`` was given."""
    return _kernels["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Remembered: attention has one implementation."""
    _kernels["cudnn"] = enabled


def is_flash_attention_available() -> bool:
    """Whether there is a kernel of flash attention: no."""
    return False


@contextmanager
def sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True,
               enable_cudnn: bool = True) -> Iterator[None]:
    """Remember other settings inside; older than ``torch.nn.attention.sdpa_kernel``."""
    before = dict(_kernels)
    _kernels.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient,
                    cudnn=enable_cudnn)
    try:
        yield
    finally:
        _kernels.update(before)


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Remembered: attention in 16-bit types is computed in float32."""
    _kernels["reduced sums"] = enabled


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What ``allow_fp16_bf16_reduction_math_sdp`` was given."""
    return _kernels["reduced sums"]
