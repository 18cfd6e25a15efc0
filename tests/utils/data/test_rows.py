"""Samples that are rows of a table are collated by one gather; those that only look like it are not."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

ROWS = 2000


def _table(torch: ModuleType, *shape: int) -> Any:
    return torch.arange(float(np.prod(shape))).reshape(shape).clone()


@pytest.mark.parametrize("shape", [(ROWS,), (ROWS, 5), (ROWS, 2, 3), (ROWS, 1)])
def test_rows_of_one_table(torch: ModuleType, shape: tuple[int, ...]) -> None:
    table = _table(torch, *shape)
    numbers = [7, 1999, 7, 0, 1024]
    for x in (table, table[:1500], table[3:], table[-1500:]):
        chosen = [number % len(x) for number in numbers]
        batch = torch.utils.data.default_collate([x[number] for number in chosen])
        assert batch.shape == (5, *shape[1:]) and batch.is_contiguous() and batch._base is None
        assert batch.tolist() == x.numpy()[chosen].tolist()
    batch.add_(1)
    assert table.tolist() == _table(torch, *shape).tolist()


def test_parts_that_are_not_rows(torch: ModuleType) -> None:
    table = _table(torch, ROWS, 4)
    flat = table.reshape(-1)
    between = [flat[k:k + 4] for k in (4, 9, 16)]
    assert torch.utils.data.default_collate(between)[1].tolist() == [9, 10, 11, 12]
    apart = [table[5], _table(torch, ROWS, 4)[6] * 1]
    assert torch.utils.data.default_collate(apart).tolist() == [[20, 21, 22, 23], [24, 25, 26, 27]]
    columns = [table[:, 1], table[:, 3]]
    assert torch.utils.data.default_collate(columns)[1, :2].tolist() == [3, 7]
    odd = _table(torch, 7 * ROWS + 3)[3:].reshape(ROWS, 7)
    assert torch.utils.data.default_collate([odd[0], odd[9]])[1, 0].item() == 66


def test_rows_that_want_gradients_keep_them(torch: ModuleType) -> None:
    leaf = _table(torch, ROWS, 2).requires_grad_()
    torch.utils.data.default_collate([leaf[1], leaf[2]]).sum().backward()
    assert leaf.grad.sum().item() == 4
    table = _table(torch, ROWS, 2)
    rows = [table[1], table[2]]
    rows[1].requires_grad_()
    torch.utils.data.default_collate(rows).sum().backward()
    assert rows[1].grad.tolist() == [1, 1]
    rows = [table[1], table[2]]
    table.mul_(torch.tensor(2.0, requires_grad=True))
    assert torch.utils.data.default_collate(rows).requires_grad


def test_rows_written_meanwhile(torch: ModuleType) -> None:
    table = _table(torch, ROWS, 2)
    rows = [table[1], table[2]]
    table[2] = -1.0
    assert torch.utils.data.default_collate(rows).tolist() == [[2, 3], [-1, -1]]
    shared = np.zeros((ROWS, 2), np.float32)
    rows = [torch.from_numpy(shared)[k] for k in (3, 4)]
    shared[4] = 5
    assert torch.utils.data.default_collate(rows).tolist() == [[0, 0], [5, 5]]


def test_samples_of_unequal_size(torch: ModuleType) -> None:
    table = _table(torch, ROWS, 2)
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        torch.utils.data.default_collate([(table[1], 1), (table[2],)])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        torch.utils.data.default_collate([table[1], table[2][:1]])
