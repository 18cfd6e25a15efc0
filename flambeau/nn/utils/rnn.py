"""Batches of sequences of different lengths, packed, and back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ... import operators as ops
from ...dtypes import int64
from ...operators.calls.complaints import require
from ...tensor import Tensor
from ._padding import pad_sequence, unpad_sequence

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class PackedSequence_(NamedTuple):
    """The fields of a packed batch."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """The steps of several sequences, longest first, without padding.

    `data` holds all first steps, then all second ones, ...; `batch_sizes` says how many sequences have each.
    The two permutations lead from the given order to the sorted one and back, or are None.

    >>> import flambeau as torch
    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
    tensor([1, 3, 2])
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:  # called as PackedSequence((data, batch_sizes))
            pair: Any = data
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = pair
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                "manually. They should be instantiated by functions like pack_sequence and "
                "pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _converted(self, data: Tensor) -> PackedSequence:
        """Return the same packing of other data."""
        if data is self.data:
            return self

        def moved(indices: Tensor | None) -> Tensor | None:
            return None if indices is None else indices.to(data.device)

        indices = moved(self.sorted_indices), moved(self.unsorted_indices)
        return type(self)(data, self.batch_sizes, *indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move or cast the data, as `Tensor.to` does.

        >>> import flambeau as torch
        >>> packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(1)])
        >>> packed.to(torch.float64).data.dtype
        torch.float64
        """
        return self._converted(self.data.to(*args, **kwargs))

    def pin_memory(self) -> PackedSequence:
        """Put the data in memory that a GPU can read directly."""
        return self._converted(self.data.pin_memory())

    def cpu(self) -> PackedSequence:
        """Move the data to the CPU.

        >>> import flambeau as torch
        >>> packed = torch.nn.utils.rnn.pack_sequence([torch.ones(2)])
        >>> packed.cpu() is packed
        True
        """
        return self.to(device="cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Move the data to a GPU."""
        return self._converted(self.data.cuda(*args, **kwargs))

    def double(self) -> PackedSequence:
        """Cast the data to float64.

        >>> import flambeau as torch
        >>> torch.nn.utils.rnn.pack_sequence([torch.ones(2)]).double().data
        tensor([1., 1.], dtype=torch.float64)
        """
        return self._converted(self.data.double())

    def float(self) -> PackedSequence:
        """Cast the data to float32.

        >>> import flambeau as torch
        >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2])]).float().data
        tensor([1., 2.])
        """
        return self._converted(self.data.float())

    def half(self) -> PackedSequence:
        """Cast the data to float16.

        >>> import flambeau as torch
        >>> torch.nn.utils.rnn.pack_sequence([torch.ones(2)]).half().data.dtype
        torch.float16
        """
        return self._converted(self.data.half())

    def long(self) -> PackedSequence:
        """Cast the data to int64.

        >>> import flambeau as torch
        >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1.5, 2.5])]).long().data
        tensor([1, 2])
        """
        return self._converted(self.data.long())

    def int(self) -> PackedSequence:
        """Cast the data to int32."""
        return self._converted(self.data.int())

    def short(self) -> PackedSequence:
        """Cast the data to int16."""
        return self._converted(self.data.short())

    def char(self) -> PackedSequence:
        """Cast the data to int8."""
        return self._converted(self.data.char())

    def byte(self) -> PackedSequence:
        """Cast the data to uint8."""
        return self._converted(self.data.byte())

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU.

        >>> import flambeau as torch
        >>> torch.nn.utils.rnn.pack_sequence([torch.ones(2)]).is_cuda
        False
        """
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the permutation that undoes the given one.

    >>> import flambeau as torch
    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    order = ops.arange(0, permutation.numel(), device=permutation.device)
    return ops.empty_like(permutation).scatter_(0, permutation, order)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch (T, N, *), or (N, T, *) with `batch_first`.

    With `enforce_sorted` the lengths must decrease; otherwise the sequences are sorted.

    >>> import flambeau as torch
    >>> x = torch.tensor([[1, 3], [2, 0]])
    >>> torch.nn.utils.rnn.pack_padded_sequence(x, [2, 1]).batch_sizes
    tensor([2, 1])
    """
    require("_pack_padded_sequence", 1, "Tensor", "input", input)
    require("_pack_padded_sequence", 3, "bool", "batch_first", batch_first)
    if isinstance(lengths, Tensor):
        counts = lengths.to(dtype=int64)
    else:
        counts = ops.as_tensor(lengths, dtype=int64, device="cpu")
    sorted_indices, steps_first = None, input.transpose(0, 1) if batch_first else input
    if not enforce_sorted:
        counts, sorted_indices = ops.sort(counts, descending=True)
        sorted_indices = sorted_indices.to(input.device)
        if len(counts) != steps_first.size(1):  # some sequences are left out, or there are not so many
            steps_first = steps_first.index_select(1, sorted_indices)
            return PackedSequence(*_pack(steps_first, counts, None), sorted_indices, None)
    data, batch_sizes = _pack(steps_first, counts, sorted_indices)
    back = None     # known now, so that unpacking need not look at what is pending then
    if sorted_indices is not None:
        back = ops.tensor(np.argsort(sorted_indices.tolist()), device=input.device)
    return PackedSequence(data, batch_sizes, sorted_indices, back)


def _pack(input: Tensor, lengths: Tensor, order: Tensor | None) -> tuple[Tensor, Tensor]:
    """The valid rows of each step of (T, N, *), in one gather; the lengths, of sequences in order, decrease.

    So all batches are packed by the same graph, whatever their lengths.
    """
    sizes = lengths.tolist()
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.dim() != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D "
            f"{lengths.device.type} Long tensor"
        )
    if len(sizes) != input.size(1):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.size(0)} "
            f"(batch_size={input.size(1)})"
        )
    if any(earlier < later for earlier, later in pairwise(sizes)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
            "requirement if you do not need ONNX exportability."
        )
    if sizes[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if sizes[0] > input.size(0):
        raise RuntimeError(f"Expected length of sequences to be at most {input.size(0)}, but got {sizes[0]}")
    batch_sizes = _counts_above(sizes, sizes[0])
    steps, batch = input.shape[:2]
    columns = np.arange(batch) if order is None else np.array(order.tolist())
    rows = _rows(batch_sizes)
    if input.is_contiguous():
        flat, places = input, rows[:, 0] * batch + columns[rows[:, 1]]
    else:   # steps of each sequence lie together, as they do with batch_first
        flat, places = input.transpose(0, 1), columns[rows[:, 1]] * steps + rows[:, 0]
    chosen = ops.tensor(places, device=input.device)
    data = flat.reshape(steps * batch, *input.shape[2:]).index_select(0, chosen)
    return data, ops.tensor(batch_sizes, dtype=int64)


def _counts_above(sizes: list[int], end: int) -> list[int]:
    """How many of the sizes are above 0, 1, ... ``end`` - 1."""
    return (np.array(sizes) > np.arange(end)[:, None]).sum(1).tolist()


def _rows(batch_sizes: list[int]) -> np.ndarray[Any, Any]:
    """Step and sequence of each row of packed data, as (rows, 2)."""
    return np.argwhere(np.arange(batch_sizes[0]) < np.array(batch_sizes)[:, None])


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Unpack to a padded batch (T, N, *), or (N, T, *), and the lengths, in the original order.

    >>> import flambeau as torch
    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    require("_pad_packed_sequence", 3, "bool", "batch_first", batch_first)
    require("_pad_packed_sequence", 4, "Number", "padding_value", padding_value)
    sizes = sequence.batch_sizes.tolist()
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    data, batch, order = sequence.data, sizes[0], sequence.unsorted_indices
    lengths = ops.tensor(_counts_above(sizes, batch), dtype=int64)
    rows = _rows(sizes)
    columns = rows[:, 1]
    if order is not None:
        columns = np.argsort(order.tolist())[columns]
        lengths = lengths[order.cpu()]
    # Reordered as (N, T, *), the result lies in the order of its own dimensions.
    own = batch_first and order is not None
    places = columns * steps + rows[:, 0] if own else rows[:, 0] * batch + columns
    padded = data.new_full((batch * steps, *data.shape[1:]), padding_value)
    padded[ops.tensor(places, device=data.device)] = data
    padded = padded.reshape(*((batch, steps) if own else (steps, batch)), *data.shape[1:])
    return (padded if own or not batch_first else padded.transpose(0, 1)), lengths


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences (L_i, *).

    >>> import flambeau as torch
    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).batch_sizes
    tensor([2, 1])
    """
    lengths = ops.as_tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Unpack into the list of sequences.

    >>> import flambeau as torch
    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
