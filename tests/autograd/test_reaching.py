"""Which part of the history a gradient looks at."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch
from flambeau.autograd import engine


def test_a_step_of_an_unrolled_loop_looks_at_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    real = engine._ends
    monkeypatch.setattr(engine, "_ends", lambda fn: looked.append(fn) or real(fn))
    w, counts = torch.ones(3, requires_grad=True), []
    for _ in range(6):
        looked.clear()
        grad, = torch.autograd.grad((w ** 2).sum(), w, create_graph=True)
        w = w - 0.1 * grad
        counts.append(len(looked))
    assert len(set(counts[1:])) == 1, counts


def test_leaves_and_intermediate_results_together() -> None:
    x = torch.tensor([1., 2.], requires_grad=True)
    y = x * 3
    z = y ** 2
    found = torch.autograd.grad(z.sum(), (y, x, z), retain_graph=True)
    assert [g.tolist() for g in found] == [[6, 12], [18, 36], [1, 1]]
    older, = torch.autograd.grad((z * y).sum(), y, retain_graph=True)
    assert older.tolist() == [27, 108]
    unused = torch.autograd.grad(y.sum(), z, allow_unused=True, retain_graph=True)
    assert unused == (None,)
