"""``torch.embedding_bag``: ``nn.functional.embedding_bag`` with what it found on the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...tensor import Tensor
from ...tensor.batching import by_example
from ...tensor.construct import from_array
from ..declaration.registry import api
from ..interop.looking import look
from .pooled_rows import embedding_bag as pooled

_MODES = ("sum", "mean", "max")


@api("torch")
@by_example
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False,
                  mode: int = 0, sparse: bool = False, per_sample_weights: Any = None,
                  include_last_offset: bool = False,
                  padding_idx: int | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums (mode 0), means (1) or maxima (2) of bags of rows: (B, D).

    Beside them the bag of each index, the size of each bag, and which row each maximum is of; what a mode
    has not is empty or zero. ``nn.functional.embedding_bag`` is the same with names for the modes.

    >>> import flambeau as torch
    >>> torch.embedding_bag(torch.eye(3), torch.tensor([0, 1, 2]), torch.tensor([0, 2]))[0]
    tensor([[1., 1., 0.],
            [0., 0., 1.]])
    """
    if indices.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar "
                           f"types: Long, Int; but got {indices.type()} instead (while checking arguments "
                           "for embedding_bag)")
    if mode not in (0, 1, 2):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    if per_sample_weights is not None and mode != 0:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    found = pooled(indices, weight, offsets, None, 2.0, scale_grad_by_freq, _MODES[mode], sparse,
                   per_sample_weights, include_last_offset, padding_idx)
    starts = look(offsets, "embedding_bag")
    bags = starts[:-1] if include_last_offset else starts
    which = np.repeat(np.arange(bags.size), np.diff(np.append(bags, indices.shape[0])))
    places = look(indices, "embedding_bag")
    kept = np.ones(places.shape, bool) if padding_idx is None else places != padding_idx % weight.shape[0]
    sizes = np.bincount(which[kept], minlength=bags.size)
    if mode == 0:
        slots = np.zeros(starts.size, np.int64)
        of_index = np.zeros(0, np.int64) if padding_idx is None else which
        return found, _integers(of_index), _integers(slots), _integers(slots)
    if mode == 1:
        return found, _integers(which), _integers(sizes), _integers(sizes)
    rows = look(weight.detach(), "embedding_bag")
    greatest = np.zeros((bags.size, rows.shape[1]), np.int64)
    for bag in range(bags.size):
        inside = places[kept & (which == bag)]
        if inside.size:
            greatest[bag] = inside[rows[inside].argmax(0)]
    return found, _integers(which), _integers(sizes), _integers(greatest)


def _integers(values: Any) -> Tensor:
    return from_array(np.ascontiguousarray(values, np.int64))
