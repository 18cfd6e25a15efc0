"""index_put: writing at positions that several index tensors give together."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensor import Tensor, assign
from ...tensor.aliasing.overlap import require_apart
from ..declaration.registry import api, in_place
from . import index_operators
from .filling import repeated_dims
from .subscripts import Subscript, put_in_place


@api("torch", "Tensor", judge="first")
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """``input`` with ``values`` written (or added, with ``accumulate``) at ``input[indices]``.

    >>> import flambeau as torch
    >>> torch.zeros(3).index_put((torch.tensor([0, 0]),), torch.ones(2), accumulate=True)
    tensor([2., 0., 0.])
    """
    key = tuple([slice(None) if i is None else i for i in indices])
    found = Subscript(input, key)
    shape = found.view.shape if not found.dims else index_operators.indexed_shape(
        found.view.shape, tuple(found.dims), index_operators.index_shape([i.shape for i in found.indices]))
    if values.ndim > len(shape):
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast "
                           f"to indexing result of shape {list(shape)}")
    dims = tuple(found.dims)
    if found.view is input and dims:
        index_operators.check_known(input, found.indices, dims)
        return index_operators.put(input, values, found.indices, dims, accumulate)
    result = input.clone()  # 0-dim indices came out as a view
    target = Subscript(result, key).view
    if dims:
        written = index_operators.put(target, values, found.indices, dims, accumulate)
    else:
        written = target + values if accumulate else values
    assign(target, written, "index_put_")
    return result


_index_written = in_place(index_put, "index_put_", kind="apart")


@api("torch", "Tensor", judge="first")
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place version of ``index_put``. What several elements of an expanded tensor are is written in turn.

    >>> import flambeau as torch
    >>> torch.zeros(3).index_put_((torch.tensor([0, 2]),), torch.tensor(1.))
    tensor([1., 0., 1.])
    """
    if 0 in self._geometry.strides and repeated_dims(self):
        found = Subscript(self, tuple([slice(None) if i is None else i for i in indices]))
        if found.dims:
            put_in_place(found.view, values, found.indices, tuple(found.dims), accumulate)
            return self
    if isinstance(indices, (tuple, list)):      # of a mask the positions are read first
        require_apart(self, [i for i in indices if isinstance(i, Tensor) and i.dtype is not dtypes.bool_],
                      same_allowed=False)
    written: Tensor = _index_written(self, indices, values, accumulate)
    return written
