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


def test_masks_of_several_dimensions_without_elements() -> None:
    x = torch.zeros(2, 1, 0)
    assert x[torch.tensor([[True], [False]])].shape == (1, 0)
    assert torch.zeros(0, 3, 2)[torch.zeros(0, 3, dtype=torch.bool)].shape == (0, 2)


@pytest.mark.parametrize("wants_grad", [False, True])
def test_masks_beside_positions_and_whole_dimensions(wants_grad: bool) -> None:
    x = torch.arange(24.0).reshape(4, 3, 2).requires_grad_(wants_grad)
    rows, places = torch.tensor([True, False, True, True]), torch.tensor([2, 0, 1])
    pairs = torch.arange(12).reshape(4, 3) % 5 == 0
    whole = slice(None)
    keys: list[Any] = [
        pairs, (pairs, whole), (rows, places), (rows, whole, 1), (whole, torch.tensor([False, True, True])),
        (places, whole, torch.tensor([True, False])), (whole, torch.zeros(3, dtype=torch.bool)),
        (pairs, torch.tensor([1, 0, 1]))]
    for key in keys:
        array, at = x.detach().numpy(), tuple([k.numpy() if isinstance(k, torch.Tensor) else k for k in
                                               (key if isinstance(key, tuple) else (key,))])
        chosen = x[key]
        assert chosen.requires_grad is wants_grad and chosen.detach().numpy().tolist() == array[at].tolist()
        if wants_grad:
            gradient, = torch.autograd.grad(chosen.sum(), x)
            marked = array * 0
            marked[at] = 1
            assert gradient.tolist() == marked.tolist()
        for value in (7.0, torch.tensor(7.0), torch.arange(float(chosen.numel())).reshape(chosen.shape)):
            written, expected = x.clone(), array.copy()
            written[key] = value
            expected[at] = value.numpy() if isinstance(value, torch.Tensor) else value
            assert written.tolist() == expected.tolist() and written.requires_grad is wants_grad


def test_masks_beside_positions_that_do_not_fit() -> None:
    x, rows = torch.zeros(4, 3), torch.tensor([True, False, True, True])
    with pytest.raises(IndexError, match="could not be broadcast together with shapes"):
        x[rows, torch.tensor([0, 1])]
    with pytest.raises(IndexError, match="out of bounds for dimension 1 with size 3"):
        x[rows, torch.tensor([0, 1, 3])]
    with pytest.raises(IndexError, match="out of bounds"):
        x[rows, torch.tensor([0, 1, 3])] = 1.0
    with pytest.raises(IndexError, match="too many indices"):
        x[rows, torch.tensor([0, 1, 2]), torch.tensor([0, 0, 0])]


def test_what_positions_choose_lies_as_they_and_the_tensor_do() -> None:
    pairs, two = torch.arange(4).reshape(2, 2), torch.tensor([1, 2])
    for n in (5, 6, 7):
        x = torch.arange(n * 6).reshape(n, 2, 3)
        chosen = [x[pairs], x[pairs.T], x.permute(0, 2, 1)[pairs], x[:, :, two], x[pairs, :, pairs % 3],
                  x[:, pairs % 2], x[:, (pairs % 2).T], x[:, :1].expand(n, 4, 3)[pairs], x[:, :, :2][two]]
        assert [found.stride() for found in chosen] == [
            (12, 6, 3, 1), (6, 12, 3, 1), (12, 6, 1, 3), (4, 2, 1), (4, 2, 1), (12, 6, 3, 1), (12, 3, 6, 1),
            (24, 12, 3, 1), (4, 2, 1)]
        assert chosen[1].tolist() == x.numpy()[pairs.T.numpy()].tolist()
