"""``torch.distributed``: answers that there is no communication between processes.

As in a PyTorch built without it, ``is_available()`` is False, and what communicates is absent. Questions that
programs ask before they decide are here.
"""

from __future__ import annotations

import os
from typing import Any

_NONE = "Default process group has not been initialized, please make sure to call init_process_group."


def is_available() -> bool:
    """Whether processes can communicate: no."""
    return False


def is_initialized() -> bool:
    """Whether a process group was set up: no."""
    return False


def is_nccl_available() -> bool:
    """Whether NCCL is there: no."""
    return False


def is_gloo_available() -> bool:
    """Whether Gloo is there: no."""
    return False


def is_mpi_available() -> bool:
    """Whether MPI is there: no."""
    return False


def is_ucc_available() -> bool:
    """Whether UCC is there: no."""
    return False


def is_xccl_available() -> bool:
    """Whether XCCL is there: no."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether a backend is there: none is."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether a launcher such as ``torchrun`` started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_rank(group: Any = None) -> int:
    """The number of this process in its group: there is no group."""
    raise ValueError(_NONE)


def get_world_size(group: Any = None) -> int:
    """The number of processes in the group: there is no group."""
    raise ValueError(_NONE)


__all__ = ["get_rank", "get_world_size", "is_available", "is_backend_available", "is_gloo_available",
           "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched",
           "is_ucc_available", "is_xccl_available"]
