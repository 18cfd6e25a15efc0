"""The last 16 of a count that is no multiple of 16."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau import config

normal = importlib.import_module("flambeau.random_streams.normal")     # its package has a function so called


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_it_is_drawn_after_the_others(dtype: Any) -> None:
    skipped = {torch.float32: 8, torch.float64: 16}.get(dtype, 0)   # outputs of the incomplete group
    with config.executor("interpreter"):
        torch.manual_seed(3)
        found = torch.randn(200, dtype=dtype)
        torch.manual_seed(3)
        whole = torch.randn(192, dtype=dtype)
        torch.empty(skipped, dtype=torch.int32).random_()
        last = torch.randn(16, dtype=dtype)
    np.testing.assert_array_equal(found[:184].double().numpy(), whole[:184].double().numpy())
    np.testing.assert_array_equal(found[184:].double().numpy(), last.double().numpy())


def test_it_is_computed_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    real = normal._single_groups
    monkeypatch.setattr(normal, "_single_groups", lambda u, *a: calls.append(len(u)) or real(u, *a))
    with config.executor("interpreter"):
        torch.randn(200).sum().item()
    assert calls == [13]
