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
        return [x[mask], x[mask[:, 0]], x.T[mask.T], torch.masked_select(x, mask), x[mask & ~mask],
                x[1, mask[0]], x[-1, mask[1]], x[torch.tensor(2), mask[0]], x[mask[:, 1], 3],
                x[mask[:, 0], 1:3], x[None][0, mask[:, 0], 1]]

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
    assert x[None][0, x > 0].requires_grad
    assert x.detach().masked_select(x > 0).tolist() == [1.0, 1.0, 1.0]


def test_a_choice_is_a_copy() -> None:
    x = torch.zeros(3)
    chosen = x[torch.tensor([True, True, True])]
    row = x[None][0, torch.tensor([True, False, True])]
    x += 1
    assert chosen.tolist() == [0.0, 0.0, 0.0] and row.tolist() == [0.0, 0.0]


def test_masks_and_positions_that_do_not_fit() -> None:
    x = torch.zeros(3, 4)
    with pytest.raises(IndexError, match="does not match the shape of the indexed tensor"):
        x[1, torch.tensor([True, False])]
    with pytest.raises(IndexError, match="out of bounds"):
        x[5, torch.tensor([True, False, True, False])]
