"""Coordinates of compressed layouts, which are found once and again where somebody wrote."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau.sparse import compressing


@pytest.fixture
def matrix() -> Any:
    return torch.tensor([[0., 1, 0], [2, 0, 3], [0, 0, 4]]).to_sparse_csr()


VECTOR = torch.tensor([1., 10, 100])


def test_coordinates_are_found_once(matrix: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    real = compressing.block_places
    monkeypatch.setattr(compressing, "block_places", lambda x: calls.append(x) or real(x))
    for scale in (1., 2.):
        found = (matrix * scale) @ VECTOR
        assert found.tolist() == [10 * scale, 302 * scale, 400 * scale]
    again = torch.sparse_csr_tensor(matrix.crow_indices(), matrix.col_indices(), torch.ones(4))
    assert (again @ VECTOR).tolist() == [10, 101, 100]
    assert len(calls) == 1


def test_coordinates_follow_what_is_written(matrix: Any) -> None:
    assert (matrix @ VECTOR).tolist() == [10, 302, 400]
    matrix.col_indices()[0] = 2
    assert (matrix @ VECTOR).tolist() == [100, 302, 400]
    matrix.crow_indices().copy_(torch.tensor([0, 2, 3, 4]))
    assert (matrix @ VECTOR).tolist() == [102, 300, 400]
    matrix.col_indices().numpy()[:] = 0
    assert (matrix @ VECTOR).tolist() == [3, 3, 4]
    matrix.col_indices().numpy()[:] = 1
    assert (matrix @ VECTOR).tolist() == [30, 30, 40]


@pytest.mark.parametrize("through_numpy", [False, True])
def test_coordinates_do_not_follow_what_was_made_of_them(matrix: Any, through_numpy: bool) -> None:
    assert (matrix @ VECTOR).tolist() == [10, 302, 400]
    indices = matrix.to_sparse_coo().indices()
    (indices.numpy() if through_numpy else indices)[1, 0] = 2
    assert (matrix @ VECTOR).tolist() == [10, 302, 400]


def test_coordinates_found_in_inference_mode_serve_gradients(matrix: Any) -> None:
    with torch.inference_mode():
        assert (matrix @ VECTOR).tolist() == [10, 302, 400]
    x = torch.ones(3, requires_grad=True)
    (matrix @ x).sum().backward()
    assert x.grad.tolist() == [2, 1, 7]


def test_layouts_that_share_indices_are_told_apart(matrix: Any) -> None:
    starts, plain, values = matrix.crow_indices(), matrix.col_indices(), matrix.values()
    rows = torch.sparse_csr_tensor(starts, plain, values, (3, 3))
    columns = torch.sparse_csc_tensor(starts, plain, values, (3, 3))
    for _ in range(2):
        np.testing.assert_array_equal((rows @ VECTOR).numpy(), [10, 302, 400])
        np.testing.assert_array_equal((columns @ VECTOR).numpy(), [20, 1, 430])
    blocks = torch.tensor([[1., 2, 0, 0], [0, 0, 3, 4]]).to_sparse_bsr((1, 2))
    for _ in range(2):
        assert (blocks @ torch.ones(4, 1)).tolist() == [[3], [7]]
