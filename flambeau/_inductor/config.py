"""``torch._inductor.config``: the switches of PyTorch's code generator.

Programs set them before they call ``torch.compile``. Kernels are generated in another way here, so they are
kept and change nothing.
"""

from __future__ import annotations

from typing import Any

from .._dynamo.config import patch_of as _patch_of

coordinate_descent_check_all_directions = False
coordinate_descent_tuning = False
cpp_wrapper = False
debug = False
emulate_precision_casts = False
epilogue_fusion = True
force_fuse_int_mm_with_mul = False
freezing = False
fx_graph_cache = True
max_autotune = False
max_autotune_gemm = False
shape_padding = True


class triton:
    """The switches of kernels for GPUs."""

    cudagraph_trees = True
    cudagraphs = False
    unique_kernel_names = True


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torch._inductor.config.{name} does not exist")


patch = _patch_of(__name__)
