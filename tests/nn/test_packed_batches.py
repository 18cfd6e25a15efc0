"""Packed batches: one graph for all lengths."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

import flambeau as torch
from flambeau import config
from flambeau.engine import looks
from flambeau.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def _rows(x: Any, lengths: list[int]) -> list[list[float]]:
    """The packed rows of (T, N), told step by step."""
    order = sorted(range(len(lengths)), key=lambda n: -lengths[n])
    return [x[t][n].tolist() for t in range(max(lengths)) for n in order if lengths[n] > t]


@pytest.mark.parametrize("batch_first, ordered, rest", [*product([False, True], [False, True], [(), (2,)])])
def test_packed_and_back(batch_first: bool, ordered: bool, rest: tuple[int, ...]) -> None:
    lengths = [4, 3, 3, 1] if ordered else [3, 1, 4, 3]
    x = torch.randn(5, 4, *rest)
    for given in x, x.transpose(0, 1).contiguous().transpose(0, 1):     # steps together, or sequences
        packed = pack_padded_sequence(given.transpose(0, 1) if batch_first else given, lengths, batch_first,
                                      enforce_sorted=ordered)
        assert packed.data.tolist() == _rows(x, lengths)
        padded, found = pad_packed_sequence(packed, batch_first, padding_value=-1.0, total_length=5)
        assert found.tolist() == lengths
        padded = padded.transpose(0, 1) if batch_first else padded
        for n, length in enumerate(lengths):
            assert torch.equal(padded[:length, n], x[:length, n]) and bool((padded[length:, n] == -1).all())


def test_gradients_go_to_the_valid_rows() -> None:
    x = torch.randn(3, 5, 2, requires_grad=True)
    packed = pack_padded_sequence(x, [2, 5, 3], True, enforce_sorted=False)
    padded, _ = pad_packed_sequence(packed, batch_first=True)
    (padded * 3).sum().backward()
    assert x.grad[:, :, 0].tolist() == [[3.0] * n + [0.0] * (5 - n) for n in (2, 5, 3)]


def test_lengths_make_no_new_graph() -> None:
    """Of batches whose longest sequence is as long, and that have as many steps, nothing else differs."""
    layer = torch.nn.GRU(4, 8, batch_first=True)
    picked = random.Random(0)
    tiers = []
    with config.executor("native"):
        for _ in range(6):
            lengths = [7, *[picked.randint(1, 7) for _ in range(5)]]
            output, _ = layer(pack_padded_sequence(torch.randn(6, 7, 4), lengths, True, enforce_sorted=False))
            padded, _ = pad_packed_sequence(output, batch_first=True)
            padded.sum().backward()
            layer.weight_hh_l0.grad.sum().item()
            tiers.append(looks[-1].tier)
            layer.zero_grad()
    assert tiers[1:].count("native, new") == 0
