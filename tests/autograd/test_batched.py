"""``grad(..., is_grads_batched=True)``: one gradient for each entry of the first dimension."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch


def leaf(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float32, requires_grad=True)


def batched(outputs: Any, inputs: Any, grad_outputs: Any, **options: Any) -> Any:
    return torch.autograd.grad(outputs, inputs, grad_outputs, is_grads_batched=True, **options)


def test_rows_of_the_identity_give_a_jacobian() -> None:
    x = leaf(1, 2, 3)
    (found,) = batched(x ** 2, x, torch.eye(3))
    assert found.tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]


def test_several_outputs_and_inputs() -> None:
    x, z = leaf(1, 2), leaf(3, 4)
    by_x, by_z = batched((x ** 2, x * z), (x, z), (torch.eye(2), torch.eye(2)))
    assert by_x.tolist() == [[5, 0], [0, 8]]
    assert by_z.tolist() == [[1, 0], [0, 2]]


def test_the_graph_is_freed_after_the_last_entry_unless_retained() -> None:
    x = leaf(1, 2)
    y = x ** 2
    batched(y, x, torch.eye(2), retain_graph=True)
    batched(y, x, torch.eye(2))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        batched(y, x, torch.eye(2))


def test_results_can_be_differentiated() -> None:
    x = leaf(1, 2)
    (found,) = batched(x ** 3, x, torch.eye(2), create_graph=True)
    (second,) = torch.autograd.grad(found.sum(), x)
    assert second.tolist() == [6, 12]


def test_unused_inputs() -> None:
    x, unused = leaf(1, 2), leaf(1, 1, 1)
    assert batched(x ** 2, (x, unused), torch.eye(2), allow_unused=True)[1] is None
    zeros = batched(x ** 2, (x, unused), torch.eye(2), materialize_grads=True)[1]
    assert zeros.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="Tensor at index 1 appears to not have been used in the graph"):
        batched(x ** 2, (x, unused), torch.eye(2))


@pytest.mark.parametrize(("given", "error", "message"), [
    (lambda: torch.ones(3), RuntimeError, "we interpret the first dimension of each grad_output"),
    (lambda: torch.ones(3, 4), RuntimeError, "The sizes of the remaining dimensions are expected to match"),
    (lambda: None, RuntimeError, "grad can be implicitly created only for scalar outputs"),
    (lambda: torch.tensor(1.), IndexError, "invalid index of a 0-dim tensor"),
    (lambda: torch.ones(0, 2), IndexError, "index 0 is out of bounds for dimension 0 with size 0"),
])
def test_mistaken_gradients(given: Any, error: type[Exception], message: str) -> None:
    x = leaf(1, 2)
    with pytest.raises(error, match=message):
        batched(x ** 2, x, given())


def test_batches_of_different_sizes() -> None:
    x = leaf(1, 2)
    with pytest.raises(ValueError, match=r"same size in the mapped dimension, got sizes \[2, 3\]"):
        batched((x ** 2, x * 2), x, (torch.eye(2), torch.ones(3, 2)))
