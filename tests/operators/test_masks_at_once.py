"""What masks choose from few known elements is what is chosen when that is recorded."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.bfloat16, torch.complex64])
def test_masks_choose_alike(dtype: Any) -> None:
    x = torch.arange(12).reshape(3, 4).to(dtype)
    mask = torch.arange(12).reshape(3, 4) % 2 == 0

    def chosen() -> list[Any]:
        return [x[mask], x[mask[:, 0]], x.T[mask.T], torch.masked_select(x, mask), x[mask & ~mask]]

    found = chosen()
    with torch.config.executor("native"):
        expected = chosen()
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
        assert torch.equal(a, b)


def test_history_is_kept() -> None:
    x = torch.ones(3, requires_grad=True)
    assert x[x > 0].requires_grad
    assert (x + 0)[x > 0].requires_grad
    assert x.detach().masked_select(x > 0).tolist() == [1.0, 1.0, 1.0]


def test_a_choice_is_a_copy() -> None:
    x = torch.zeros(3)
    chosen = x[torch.tensor([True, True, True])]
    x += 1
    assert chosen.tolist() == [0.0, 0.0, 0.0]
