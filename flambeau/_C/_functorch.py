"""What libraries ask about tensors under ``vmap``."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from ..tensor.batching import BatchedTensor, batched


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor stands for one example of a batch."""
    return isinstance(tensor, BatchedTensor)


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor is of an older kind of ``vmap``: there is one kind only."""
    return False


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Whether a tensor is wrapped for a level of ``grad``: levels need no wrappers here."""
    return False


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Whether a transform has wrapped a tensor."""
    return isinstance(tensor, BatchedTensor)


def maybe_get_level(tensor: Any) -> int:
    """The ``vmap`` of a batched tensor, from 1; -1 for others."""
    return tensor.level if isinstance(tensor, BatchedTensor) else -1


def maybe_get_bdim(tensor: Any) -> int:
    """The batch's dimension in a batched tensor: the first; -1 for others."""
    return 0 if isinstance(tensor, BatchedTensor) else -1


def get_unwrapped(tensor: Tensor) -> Tensor:
    """All examples of a batched tensor."""
    return tensor.physical if isinstance(tensor, BatchedTensor) else tensor


def _add_batch_dim(tensor: Tensor, in_dim: int, level: int) -> Tensor:
    """One example of a tensor whose dimension ``in_dim`` is the batch."""
    made: Tensor = batched(tensor.movedim(in_dim, 0), level)
    return made


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """All examples, at dimension ``out_dim``; a tensor that is not of this level is the same for all."""
    if isinstance(tensor, BatchedTensor) and tensor.level == level:
        return tensor.physical.movedim(0, out_dim)
    return tensor.unsqueeze(0).expand(batch_size, *tensor.shape).movedim(0, out_dim)
