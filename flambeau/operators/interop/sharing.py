"""Tensors in memory that several processes share, and how they are sent to one another."""

from __future__ import annotations

import functools
import pickle
from typing import Any

from ... import dtypes
from ...devices import META
from ...graph.storage import Storage
from ...tensor import Tensor, shared_memory
from ...tensor.aliasing.turned import root
from ..declaration.registry import api
from .duplication import own_reduction, reduce_storage


@api("Tensor")
def is_shared(self: Tensor) -> bool:
    """Whether the memory is shared with other processes.

    >>> import flambeau as torch
    >>> torch.ones(1).is_shared()
    False
    """
    return shared_memory.is_shared(root(self._storage))


@api("Tensor")
def share_memory_(self: Tensor) -> Tensor:
    """Move the memory to where other processes see it, and this one what they write.

    These are processes forked later, and those that the tensor is sent to by ``multiprocessing``.

    >>> import flambeau as torch
    >>> torch.zeros(3).share_memory_().is_shared()
    True
    """
    if self._storage.geometry.device is not META:
        _send_descriptors()
        shared_memory.share(root(self._storage))
    return self


@functools.cache
def _send_descriptors() -> None:
    """From now on ``multiprocessing`` sends what is shared as such, and all else as copies."""
    from multiprocessing.reduction import ForkingPickler  # a program without processes need not import it

    ForkingPickler.register(Storage, _reduce_storage)
    kinds = [Tensor]
    while kinds:
        kind = kinds.pop()
        ForkingPickler.register(kind, _reduce)
        kinds += kind.__subclasses__()


def _reduce(x: Tensor) -> Any:
    if x.requires_grad and not x.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not "
            "support crossing process boundaries.  If you just want to transfer the data, call detach() "
            "on the tensor before serializing (e.g., putting it on the queue).")
    shared = shared_memory.is_shared(root(x._storage))
    return own_reduction(x) if shared else x.__reduce_ex__(pickle.HIGHEST_PROTOCOL)


def _reduce_storage(storage: Storage) -> Any:
    if not shared_memory.is_shared(storage):
        return reduce_storage(storage)
    from multiprocessing.reduction import DupFd  # as above

    memory = storage.owner
    return _again, (DupFd(memory.descriptor), memory.size, storage.geometry.dtype, storage.geometry.numel)


def _again(handle: Any, size: int, dtype: dtypes.dtype, count: int) -> Storage:
    """The storage, in the process that received it."""
    _send_descriptors()
    return shared_memory.received(handle.detach(), size, dtype, count)
