"""An optimizer's update is one operator over all parameters of a group and what belongs to them.

Not so Adafactor, which takes sums along rows and columns, and Muon, which multiplies matrices.
"""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau.graph import pending
from flambeau.optim import _hooks

from .cases import OPTIMIZERS, SHAPES, optimizer_id

ELEMENTWISE = [row for row in OPTIMIZERS if row[0] not in ("Adafactor", "Muon")]


@pytest.mark.parametrize("row", ELEMENTWISE, ids=optimizer_id)
def test_an_update_is_one_operator(row: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    name, options = row
    parameters = [flambeau.randn(shape, requires_grad=True) for shape in SHAPES]
    optimizer = getattr(flambeau.optim, name)(parameters, **options)
    for _ in range(2):      # a first step makes states beside
        for p in parameters:
            p.grad = flambeau.ones_like(p)
        optimizer.step()
    flambeau.cpu.synchronize()
    monkeypatch.setattr(_hooks, "look_at_step_end", lambda: None)
    start = len(pending.nodes)
    optimizer.step()
    names = [node.signature.operator.name for node in pending.nodes[start:] if node.signature]
    updates = [each for each in names if each != "project"]     # parts of its results
    assert updates == ["multi_tensor"], names
