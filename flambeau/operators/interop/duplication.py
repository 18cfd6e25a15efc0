"""copy.copy, copy.deepcopy and pickling. Tensors that share a storage still share it afterwards."""

from __future__ import annotations

import copy
import copyreg
from typing import Any

import numpy as np

from ... import dtypes
from ...devices import META
from ...engine import value_of
from ...graph.geometry import contiguous, intern
from ...graph.node import constant
from ...graph.storage import Storage
from ...size import Size
from ...tensor import Tensor
from ...tensor.aliasing.turned import is_turned, root, turn
from ...tensor.attributes import blank
from ...tensor.recording.record import META_NODE
from ..declaration.registry import api
from .protocols import PRIVATE


def _extras(x: Tensor) -> dict[str, Any]:
    """What users set on a tensor."""
    return {name: value for name, value in x.__dict__.items() if name not in PRIVATE}


def _copy_storage(storage: Storage, memo: dict[int, Any]) -> Storage:
    """A storage with the same value; the copy is made when one of the two is written."""
    made = memo.get(id(storage))
    if made is None:
        node = storage.node
        if storage.exposed:
            node = constant(value_of(storage, "deepcopy").copy())
        made = memo[id(storage)] = Storage(node, storage.geometry)
        memo.setdefault(id(memo), []).append(storage)  # keeps the id in use while the memo lives
    return made


@api("Tensor", name="__deepcopy__")
def deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """``copy.deepcopy``: of leaves only, as the history of others cannot be copied."""
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at "
            "the moment.  If you were attempting to deepcopy a module, this may be because of a "
            "torch.nn.utils.weight_norm usage, see https://github.com/pytorch/pytorch/pull/103001")
    found = memo.get(id(self))
    if found is not None:
        return found
    out: Any = blank(type(self))
    memo[id(self)] = out
    out._storage, out._geometry = _copy_storage(self._storage, memo), self._geometry
    if self.requires_grad:
        out._requires_grad = True
    if self._grad is not None:
        out._grad = copy.deepcopy(self._grad, memo)
    out.__dict__.update(copy.deepcopy(_extras(self), memo))
    return out


# --- pickling -----------------------------------------------------------------------------------------------


def reduce_storage(storage: Storage) -> tuple[Any, ...]:
    """What a storage is made of again: its bytes."""
    held = storage.geometry
    data = None if held.device is META else value_of(storage, "pickle").view(np.uint8)
    return _rebuild_storage, (data, held.dtype, held.numel)


def _rebuild_storage(data: Any, dtype: dtypes.dtype, count: int) -> Storage:
    if data is None:
        return Storage(META_NODE, contiguous((count,), dtype, META))
    flat = np.empty(count, dtype.numpy)
    flat.view(np.uint8)[:] = data
    return Storage(constant(flat), contiguous((count,), dtype))


def _rebuild(
    cls: type,
    storage: Storage,
    dtype: dtypes.dtype,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    requires_grad: bool,
    extras: dict[str, Any],
    turned: tuple[bool, bool] = (False, False),
) -> Tensor:
    out: Any = blank(cls)
    out._storage = storage
    out._geometry = intern(Size(shape), strides, offset, dtype, storage.geometry.device)
    turn(out, *turned)
    if requires_grad:
        out._requires_grad = True
    out.__dict__.update(extras)
    return out


@api("Tensor", name="__reduce_ex__")
def reduce_tensor(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Storage and geometry, for ``pickle`` and ``copy.copy``; the history is left behind.

    Where the classes bear PyTorch's names (see the alias), it is the call that PyTorch's pickles make.
    """
    if Tensor.__module__ == "torch":
        from ...serialization.pickling import reduce_tensor as as_pytorch  # made of tensors
        return as_pytorch(self)
    return own_reduction(self)


def own_reduction(self: Tensor) -> tuple[Any, ...]:
    """Storage and geometry."""
    g = self._geometry
    return _rebuild, (
        type(self),
        root(self._storage),
        g.dtype,
        tuple(g.shape),
        g.strides,
        g.offset,
        self.requires_grad,
        _extras(self),
        is_turned(self),
    )


@api("Tensor", name="__setstate__")
def set_state(self: Tensor, state: Any) -> None:
    """Take attributes saved by a subclass's own ``__reduce_ex__``."""
    if isinstance(state, dict):
        self.__dict__.update(state)


copyreg.pickle(Storage, reduce_storage)
