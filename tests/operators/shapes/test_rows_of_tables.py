"""Rows of long tensors, which are made without a signature, are views as all others are."""

from __future__ import annotations

from types import ModuleType

import pytest

ROWS = 3000


def test_rows_are_views(torch: ModuleType) -> None:
    x = torch.arange(float(2 * ROWS)).reshape(ROWS, 2).clone()
    row, last = x[1500], x[-1]
    assert row._base is x and row.is_contiguous() and row.storage_offset() == 3000
    assert row.tolist() == [3000, 3001]
    row.mul_(2)
    assert x[1500, 1].item() == 6002 and last.tolist() == [2 * ROWS - 2, 2 * ROWS - 1]
    x[1500] = -1.0
    assert row.tolist() == [-1, -1] and row._version == x._version == 2
    assert x.t()[1][1500].item() == -1


def test_rows_of_rows_and_errors(torch: ModuleType) -> None:
    x = torch.arange(2 * ROWS).reshape(1, ROWS, 2)
    assert x[0][ROWS - 1][1].item() == 2 * ROWS - 1 and x[0, -ROWS].tolist() == [0, 1]
    for index in (ROWS, -ROWS - 1):
        with pytest.raises(IndexError, match=f"index {index} is out of bounds for dimension 0 with size"):
            x[0][index]


def test_rows_of_views(torch: ModuleType) -> None:
    x = torch.zeros(2 * ROWS, 2)
    row = x[1:ROWS + 1][5]
    assert row._base is x and row.storage_offset() == 12
    row.mul_(torch.ones(2, requires_grad=True)).add_(1)
    x.mul_(torch.tensor(3.0, requires_grad=True))
    assert row.requires_grad and row.tolist() == [3, 3] and x[6].tolist() == [3, 3] and x.sum().item() == 6
    with torch.no_grad():
        unrecorded = torch.zeros(2 * ROWS, 2)[:ROWS][3]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        unrecorded.add_(torch.ones(2, requires_grad=True))
    first, _ = torch.zeros(2 * ROWS, 2).chunk(2)
    with pytest.raises(RuntimeError, match="returns multiple views"):
        first[3].add_(torch.ones(2, requires_grad=True))


def test_gradients_through_rows(torch: ModuleType) -> None:
    x = torch.zeros(ROWS, 2)
    row = x[7]
    row.add_(torch.ones(2, requires_grad=True) * 3)  # the base gets history through a view made before
    x.sum().backward()
    leaf = torch.zeros(ROWS, 2, requires_grad=True)
    (leaf[5] * 2).sum().backward()
    assert leaf.grad[5].tolist() == [2, 2] and leaf.grad.sum().item() == 4


def test_rows_in_vmap_and_inference(torch: ModuleType) -> None:
    x = torch.arange(4.0 * ROWS).reshape(2, ROWS, 2)
    assert torch.vmap(lambda each: each[2])(x).tolist() == x[:, 2].tolist()
    with torch.inference_mode():
        assert torch.zeros(ROWS, 2)[3].is_inference()
