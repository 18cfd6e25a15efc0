"""The names under which checkpoints mention classes are those under which PyTorch has them."""

from __future__ import annotations

import inspect
from importlib import import_module
from types import ModuleType

import pytest

from flambeau.serialization.names import find, public_name

NAMESPACES = [
    "nn", "nn.utils.rnn", "nn.utils.parametrize", "nn.utils.prune", "optim", "optim.lr_scheduler",
    "optim.swa_utils", "utils.data", "utils.data.datapipes.iter", "utils.data.datapipes.map",
    "utils.checkpoint", "distributions", "distributions.transforms", "distributions.constraints", "sparse",
]  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_classes(torch: ModuleType, oracle: ModuleType, namespace: str) -> None:
    ours, theirs = (import_module(f"{framework.__name__}.{namespace}") for framework in (torch, oracle))
    for name in dir(theirs):
        here, there = getattr(ours, name, None), getattr(theirs, name)
        if not inspect.isclass(here) or not inspect.isclass(there) or name.startswith("_"):
            continue
        if not there.__module__.startswith("torch"):
            continue
        module, qualified = public_name(here)
        assert getattr(import_module(module), qualified) is there, name
        assert find(there.__module__, there.__qualname__) is here, name
