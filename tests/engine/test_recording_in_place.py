"""What is recorded for writes to a part of a tensor."""

from __future__ import annotations

import flambeau as torch
from flambeau.graph import pending


def test_an_updated_part_is_written_once() -> None:
    x = torch.zeros(4, 3) + 1
    x.tolist()
    start, version = len(pending.nodes), x._version
    x[1] += 2
    recorded = [node.signature for node in pending.nodes[start:]]
    assert [signature.operator.name for signature in recorded if signature] == ["add", "write"]
    assert x._version == version + 2    # the sum in place, and its assignment
    x[2, 1:] *= 5
    assert x.tolist() == [[1, 1, 1], [3, 3, 3], [1, 5, 5], [1, 1, 1]]


def test_gradients_of_updated_parts() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y[1] += 3
    y[1] *= 4
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 8, 2]
