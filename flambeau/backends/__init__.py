"""``torch.backends``: switches of PyTorch's libraries, which flambeau does not have.

The switches keep what they are set to and say that the library is not there.
"""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


def _unavailable(**flags: Any) -> Any:
    space = SimpleNamespace(**flags)
    space.is_available = lambda: False
    space.is_built = lambda: False

    @contextmanager
    def setting(**changes: Any) -> Any:
        before = {name: getattr(space, name) for name in changes if hasattr(space, name)}
        space.__dict__.update(changes)
        try:
            yield
        finally:
            space.__dict__.update(before)
    space.flags = setting
    return space


cudnn = _unavailable(enabled=True, benchmark=False, deterministic=False, allow_tf32=True, benchmark_limit=10)
cudnn.version = lambda: None
cuda = _unavailable(matmul=SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True,
                                           allow_bf16_reduced_precision_reduction=True),
                    flash_sdp_enabled=lambda: True, mem_efficient_sdp_enabled=lambda: True,
                    math_sdp_enabled=lambda: True, enable_flash_sdp=lambda enabled: None,
                    enable_mem_efficient_sdp=lambda enabled: None, enable_math_sdp=lambda enabled: None)
mps = _unavailable()
mkl = _unavailable()
mkldnn = _unavailable(enabled=True)
openmp = _unavailable()
opt_einsum = _unavailable(enabled=True, strategy="auto")
