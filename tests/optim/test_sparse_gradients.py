"""Steps of optimizers on sparse gradients."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau import nn


def _steps(monkeypatch: pytest.MonkeyPatch, sparse: bool, lr_decay: float) -> tuple[list[list[float]], int]:
    """The weights after three steps of Adagrad, and how many numbers were asked for."""
    asked = [0]
    real = torch.Tensor.item

    def item(x: torch.Tensor) -> float:
        asked[0] += 1
        return float(real(x))
    monkeypatch.setattr(torch.Tensor, "item", item)
    torch.manual_seed(0)
    table = nn.Embedding(6, 3, sparse=sparse)
    optimizer = torch.optim.Adagrad(table.parameters(), 0.1, lr_decay=lr_decay)
    for k in range(3):
        optimizer.zero_grad()
        table(torch.tensor([0, k + 1, k + 1])).pow(2).sum().backward()
        optimizer.step()
    monkeypatch.undo()
    return table.weight.tolist(), asked[0]


@pytest.mark.parametrize("lr_decay", [0.0, 0.5])
def test_adagrad_agrees_with_dense_gradients(monkeypatch: pytest.MonkeyPatch, lr_decay: float) -> None:
    weights, _ = _steps(monkeypatch, True, lr_decay)
    for one, other in zip(weights, _steps(monkeypatch, False, lr_decay)[0]):
        assert one == pytest.approx(other, rel=1e-6)


def test_adagrad_does_not_ask_for_the_step_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _steps(monkeypatch, True, 0.0)[1] == 0
