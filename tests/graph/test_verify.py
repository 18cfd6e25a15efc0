"""The graph's invariants hold in real programs, and their violations are noticed."""

from __future__ import annotations

import pytest

import flambeau as torch
from flambeau import config
from flambeau.graph import pending
from flambeau.graph.node import Node
from flambeau.graph.verify import GraphError, verify


def test_a_training_step_satisfies_the_invariants() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(),
                                torch.nn.Flatten(), torch.nn.Linear(144, 3))
    optimizer = torch.optim.AdamW(model.parameters())
    with config.verify():
        for _ in range(2):
            optimizer.zero_grad()
            out = model(torch.randn(2, 1, 8, 8))
            out[:, 0] = 0
            torch.nn.functional.cross_entropy(out, torch.tensor([0, 1])).backward()
            optimizer.step()


def test_violations_are_noticed() -> None:
    torch.synchronize()
    x = torch.ones(4) + 1
    nodes = pending.nodes[::-1]
    verify(nodes)
    with pytest.raises(GraphError, match="neither computed nor earlier"):
        verify(nodes[:1])
    with pytest.raises(GraphError, match="operands for"):
        verify([Node(nodes[0].signature, (), None)])
    with pytest.raises(GraphError, match="was signed for"):
        verify([Node(nodes[0].signature, (2.0, 3.0), None)])
    assert x.sum().item() == 8
