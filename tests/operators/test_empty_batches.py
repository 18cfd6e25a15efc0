"""Batches of no examples: results and gradients have their shapes, and are zero."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch
import flambeau.nn.functional as F

NONE = torch.zeros(0, 3, dtype=torch.int64)
FLAT = NONE.reshape(-1)


@pytest.mark.parametrize(("function", "shape"), [
    (lambda w: F.embedding(NONE, w), (0, 3, 2)),
    (lambda w: F.embedding(NONE, w, padding_idx=0), (0, 3, 2)),
    (lambda w: F.embedding(NONE, w, scale_grad_by_freq=True), (0, 3, 2)),
    (lambda w: F.embedding_bag(NONE, w), (0, 2)),
    (lambda w: F.embedding_bag(FLAT, w, torch.tensor([0, 0])), (2, 2)),
    *[(lambda w, mode=mode: F.embedding_bag(FLAT, w, FLAT, mode=mode), (0, 2))
      for mode in ("sum", "mean", "max")],
])
def test_tables(function: Any, shape: tuple[int, ...]) -> None:
    w = torch.ones(4, 2, requires_grad=True)
    y = function(w)
    y.sum().backward()
    assert y.shape == shape and w.grad.tolist() == [[0.0, 0.0]] * 4
