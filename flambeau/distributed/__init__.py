"""``torch.distributed``: answers that there is no communication between processes.

``is_available()`` is False, and no process group can be set up: ``init_process_group`` knows no backend. What
communicates is there for programs that import it, and raises PyTorch's error for a missing group. The stores
(``TCPStore``, ``FileStore``, ``HashStore``, ``PrefixStore``) need no group, and share keys and values.
"""

from __future__ import annotations

import os
from typing import Any

from . import device_mesh as device_mesh
from .collectives import (
    all_gather,
    all_gather_into_tensor,
    all_gather_object,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    broadcast_object_list,
    gather,
    gather_object,
    get_backend,
    get_backend_config,
    get_process_group_ranks,
    irecv,
    isend,
    monitored_barrier,
    new_group,
    recv,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
    scatter_object_list,
    send,
)
from .errors import DistBackendError, DistError, DistNetworkError, DistStoreError, QueueEmptyError
from .file_store import FileStore
from .groups import (
    Backend,
    DebugLevel,
    GroupMember,
    ProcessGroup,
    ReduceOp,
    Work,
    destroy_process_group,
    get_debug_level,
    get_node_local_rank,
    group,
    init_process_group,
    require_group,
)
from .stores import HashStore, PrefixStore, Store
from .tcp_store import TCPStore


def is_available() -> bool:
    """Whether processes can communicate: no."""
    return False


def is_initialized() -> bool:
    """Whether a process group was set up: no.

    >>> import flambeau as torch
    >>> torch.distributed.is_initialized()
    False
    """
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
    """Whether a launcher such as ``torchrun`` started this process.

    >>> import flambeau as torch
    >>> torch.distributed.is_torchelastic_launched()
    False
    """
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_rank(group: Any = None) -> int:
    """The number of this process in its group: there is no group."""
    require_group(group)


def get_world_size(group: Any = None) -> int:
    """The number of processes in the group: there is no group."""
    require_group(group)


__all__ = ["Backend", "DebugLevel", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError",
           "FileStore", "GroupMember", "HashStore", "PrefixStore", "ProcessGroup",
           "QueueEmptyError", "ReduceOp", "Store", "TCPStore", "Work", "all_gather",
           "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all",
           "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast",
           "broadcast_object_list", "destroy_process_group", "gather", "gather_object", "get_backend",
           "get_backend_config", "get_debug_level", "get_node_local_rank",
           "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group", "irecv",
           "is_available", "is_backend_available", "is_gloo_available", "is_initialized",
           "is_mpi_available", "is_nccl_available", "is_torchelastic_launched",
           "is_ucc_available", "is_xccl_available", "isend", "monitored_barrier", "new_group",
           "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter",
           "scatter_object_list", "send"]
