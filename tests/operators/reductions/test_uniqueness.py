"""unique and unique_consecutive, counted or sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as torch

ARRAYS = [
    np.array([3, 1, 3, -2, 1]), np.array([[5, 5], [2, 9]], np.int32), np.array([250, 0, 250], np.uint8),
    np.array([True, False, True]), np.array([-2**63, 2**63 - 1, 0, 0]), np.array([7, 7 + 10**6]),
    np.array([], np.int64), np.array([0.5, -1, 0.5, np.inf]), np.array(4), np.array([-128, 127, 0], np.int8),
]


@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_unique(array: Any) -> None:
    x = torch.tensor(array)
    want = np.unique(array, return_inverse=True, return_counts=True)
    for inverse in (False, True):
        for counts in (False, True):
            found = torch.unique(x, return_inverse=inverse, return_counts=counts)
            found = found if isinstance(found, tuple) else (found,)
            expected = [want[0], *[want[1].reshape(array.shape)] * inverse, *[want[2]] * counts]
            for y, e in zip(found, expected, strict=True):
                np.testing.assert_array_equal(y.numpy(), e)
            assert found[0].dtype is x.dtype and all(y.dtype is torch.int64 for y in found[1:])


def test_what_is_no_number_is_never_equal() -> None:
    x = torch.tensor([float("nan"), 1.0, float("nan")])
    assert torch.unique(x).shape == (3,)
    assert torch.unique(x, return_counts=True)[1].tolist() == [1, 1, 1]


def test_unique_consecutive() -> None:
    x = torch.tensor([1, 1, 2, 1, 1, 1])
    assert torch.unique_consecutive(x).tolist() == [1, 2, 1]
    found, inverse, counts = torch.unique_consecutive(x, return_inverse=True, return_counts=True)
    assert (found.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2, 1], [0, 0, 1, 2, 2, 2], [2, 1, 3])
    assert torch.unique_consecutive(x[:0], return_counts=True)[1].tolist() == []
    rows = torch.tensor([[1, 1], [1, 1], [0, 1]])
    assert torch.unique_consecutive(rows, return_counts=True, dim=0)[1].tolist() == [2, 1]


@pytest.mark.parametrize("call, history, operator", [
    (torch.unique, "Unique2Backward0", "_unique2"),
    (lambda x: torch.unique(x, dim=0), "UniqueDimBackward0", "unique_dim"),
    (lambda x: torch.unique_consecutive(x, return_counts=True)[0], "UniqueConsecutiveBackward0",
     "unique_consecutive"),
])
def test_what_is_distinct_depends_on_its_tensor_without_a_derivative(call: Any, history: str,
                                                                     operator: str) -> None:
    found = call(torch.ones(3, requires_grad=True))
    assert found.tolist() == [1.0] and type(found.grad_fn).__name__ == history
    with pytest.raises(NotImplementedError, match=f"the derivative for '{operator}' is not implemented."):
        found.sum().backward()
    assert not call(torch.ones(3)).requires_grad
