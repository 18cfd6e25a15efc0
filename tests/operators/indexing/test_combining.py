"""Combinations and powers against their definitions."""

from __future__ import annotations

import itertools

import pytest

import flambeau as torch


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_combinations(r: int, replacement: bool) -> None:
    choose = itertools.combinations_with_replacement if replacement else itertools.combinations
    for n in (0, 1, 2, 5):
        x = torch.arange(n) * 3
        found = torch.combinations(x, r, replacement)
        assert found.tolist() == [list(c) for c in choose(x.tolist(), r)]
        assert found.shape[1] == r


def test_vander() -> None:
    x = torch.tensor([1.5, 0.0, -2.0], requires_grad=True)
    assert torch.vander(x).tolist() == [[2.25, 1.5, 1], [0, 0, 1], [4, -2, 1]]
    assert torch.vander(x, 4, True)[2].tolist() == [1, -2, 4, -8]
    assert torch.vander(x, 1).tolist() == [[1], [1], [1]]
    torch.vander(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [4, 1, -3]
