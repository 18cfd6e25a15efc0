"""Sequences of different lengths padded to the longest, and cut back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...operators.calls.complaints import require
from ...operators.creation.ranges import arange
from ...operators.declaration.definition import broadcast_shapes
from ...tensor import Tensor
from ...tensor.samples.known import known_arrays, made


def pad_sequence(
    sequences: Tensor | list[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences (L_i, *) of different lengths, padded to the longest, as (T, N, *) or (N, T, *).

    >>> import flambeau as torch
    >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Tensor | Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    require("pad_sequence", 2, "bool", "batch_first", batch_first)
    require("pad_sequence", 3, "float", "padding_value", padding_value)
    require("pad_sequence", 4, "str", "padding_side", padding_side)
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    tensors = list(sequences.unbind(0)) if isinstance(sequences, Tensor) else list(sequences)
    if not tensors:
        raise RuntimeError("received an empty list of sequences")
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got "
                            f"{type(tensor).__name__}")
    if not tensors[0].ndim:
        raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0")
    if isinstance(padding_value, str):
        raise TypeError("pad_sequence(): argument 'padding_value' (position 3) must be float, not str")
    known = known_arrays(tensors)
    if known is not None:
        at_once = _padded_at_once(known, batch_first, padding_value, padding_side)
        if at_once is not None:
            return at_once
    longest = max(tensor.size(0) for tensor in tensors)
    first = tensors[0]
    extents = (len(tensors), longest) if batch_first else (longest, len(tensors))
    padded = first.new_full((*extents, *first.shape[1:]), padding_value)
    rows = padded if batch_first else padded.transpose(0, 1)
    for row, tensor in enumerate(tensors):
        length = tensor.size(0)
        _check_trailing((length, *first.shape[1:]), tensor.shape)
        start = 0 if padding_side == "right" else longest - length
        rows[row, start : start + length] = tensor
    return padded


def _check_trailing(place: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise where a sequence does not fit its place, the same dimensions as the first one has."""
    found = broadcast_shapes([place, shape])
    if found != place:
        raise RuntimeError(f"output with shape {list(place)} doesn't match the broadcast shape {list(found)}")


def _padded_at_once(
    arrays: list[Any], batch_first: bool, padding_value: float, padding_side: str
) -> Tensor | None:
    """Arrays of one dtype and shape, the length aside, padded; None for others (Note: known values)."""
    first = arrays[0]
    if first.ndim == 0 or not _fits(padding_value, first.dtype):
        return None
    longest, rest, dtype = 0, first.shape[1:], first.dtype
    for array in arrays:
        if array.dtype != dtype or array.ndim == 0 or array.shape[1:] != rest:
            return None
        longest = max(longest, len(array))
    shape = (len(arrays), longest, *rest) if batch_first else (longest, len(arrays), *rest)
    flat = np.full(math.prod(shape), padding_value, dtype)
    padded = flat.reshape(shape)
    for row, array in zip(padded if batch_first else padded.swapaxes(0, 1), arrays):
        if padding_side == "right":
            row[:len(array)] = array
        else:
            row[longest - len(array):] = array
    return made(flat, shape)


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    if value.__class__ is int and dtype.kind in "iu":
        return bool(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max)
    return value.__class__ in (int, float) and (value == 0 or (dtype.kind == "f" and dtype.itemsize > 2))


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Cut a padded batch back into its sequences.

    >>> import flambeau as torch
    >>> padded = torch.tensor([[1, 2], [3, 0]])
    >>> torch.nn.utils.rnn.unpad_sequence(padded, torch.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    rows = zip(padded_sequences.unbind(0), lengths.tolist(), strict=True)
    return [row.index_select(0, arange(length)) for row, length in rows]    # what is cut is not a view
