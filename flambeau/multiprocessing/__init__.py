"""``torch.multiprocessing``: Python's ``multiprocessing``, and ``spawn``.

Tensors whose memory is shared (``share_memory_``) are sent as such; of others the other process gets a copy.
"""

from __future__ import annotations

from multiprocessing import *  # noqa: F403
from multiprocessing import __all__ as _python

from .sharing import get_all_sharing_strategies, get_sharing_strategy, set_sharing_strategy
from .spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [  # noqa: PLE0604
    *_python,
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
    "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn",
    "start_processes",
]  # fmt: skip
