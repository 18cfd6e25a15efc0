"""What leaves a level of differentiation is asked once where it came from."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau.func import levels


def _asked(layers: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many leaves are met when the gradients of so many layers leave."""
    met = [0]
    real = levels._leaves_below

    def below(*results: torch.Tensor) -> object:
        for leaf in real(*results):
            met[0] += 1
            yield leaf
    monkeypatch.setattr(levels, "_leaves_below", below)

    def loss(weights: list[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        for w in weights:
            x = (x @ w).tanh()
        return x.sum()
    weights = [torch.eye(3) for _ in range(layers)]
    grads = torch.func.vmap(torch.func.grad(loss), (None, 0))(weights, torch.ones(2, 3))
    assert [g.requires_grad for g in grads] == [False] * layers
    monkeypatch.undo()
    return met[0]


def test_gradients_leave_in_time_proportional_to_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _asked(40, monkeypatch) < 2.5 * _asked(20, monkeypatch)


def test_results_that_reach_outside_are_kept_beside_others() -> None:
    outer = torch.ones(3, requires_grad=True)

    def loss(x: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return (x[0] ** 2).sum() + (x[1] ** 2 * outer).sum()
    alone, reaching = torch.func.grad(loss)((torch.ones(3), torch.ones(3)))
    assert not alone.requires_grad
    reaching.sum().backward()
    assert outer.grad is not None and outer.grad.tolist() == [2.0] * 3
