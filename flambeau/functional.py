"""``torch.functional``: functions of the top level under their older place."""

from __future__ import annotations

from typing import Any

from .nn import functional as F  # noqa: F401  (packages take it from here)
from .operators.declaration.registry import NAMESPACES

_NAMES = ("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
          "cartesian_prod", "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm",
          "pca_lowrank", "split", "stft", "svd_lowrank", "tensordot", "unique", "unique_consecutive",
          "unravel_index")
__all__ = list(_NAMES)  # __getattr__ finds them


def __getattr__(name: str) -> Any:
    """The function of that name, as ``torch`` has it at the time."""
    if name in _NAMES:
        return NAMESPACES["torch"][name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
