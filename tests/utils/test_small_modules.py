"""ModuleTracker, filling of uninitialised memory and the optimizers of many tensors, as PyTorch has them."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.oracle


def _names(torch: ModuleType, tracker: Any) -> list[Any]:
    """What is told in two passes through nested modules, and of modules that are met in other orders."""
    told: list[Any] = []

    def tell(*ignored: Any) -> None:
        told.append((sorted(tracker.parents), tracker.is_bw))

    inner = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(2, 1))
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), inner)
    for module in net.modules():
        module.register_forward_pre_hook(tell)
    with tracker:
        for _ in range(2):
            x = torch.ones(3, 2, requires_grad=True) * 1
            x.register_hook(tell)
            y = net(x)
            y.register_hook(tell)
            (y * 2).sum().backward()
            tell()
        with torch.no_grad():
            inner(x)
        torch.nn.Sequential(inner, net[0])[0](x)
        torch.nn.ModuleList([net])[0](x)
        torch.nn.Sequential(torch.nn.Identity(), net)(x)
        with pytest.raises(RuntimeError):
            inner(torch.ones(1, 5))
        tell()
    inner(x)
    return told


def test_names_in_forward_and_in_backward(oracle: ModuleType) -> None:
    flambeau = importlib.import_module("flambeau")
    theirs = importlib.import_module("torch.utils.module_tracker").ModuleTracker()
    ours = importlib.import_module("flambeau.utils.module_tracker").ModuleTracker()
    assert _names(flambeau, ours) == _names(oracle, theirs)


DTYPES = ("float32", "float16", "bfloat16", "complex64", "bool", "uint8", "int8", "int32", "int64")


def _uninitialised(torch: ModuleType, dtype: str) -> list[str]:
    kind = getattr(torch, dtype)
    made = [torch.empty(3, dtype=kind), torch.empty_like(torch.ones(2, dtype=kind)),
            torch.ones(2, dtype=kind).new_empty(2), torch.empty_strided((2, 2), (1, 3), dtype=kind)[0],
            torch.empty_strided((2, 2), (1, 2), dtype=kind), torch.ones(2, dtype=kind).resize_(4),
            torch.empty_permuted((2, 2), (1, 0), dtype=kind), torch.Tensor(2), torch.Tensor()]
    return [str(x.tolist()) for x in made]


@pytest.mark.parametrize("dtype", DTYPES)
def test_determinism_fills_what_is_not_initialised(oracle: ModuleType, dtype: str) -> None:
    told = []
    for name in ("flambeau", "torch"):
        library = importlib.import_module(name)
        deterministic = importlib.import_module(f"{name}.utils.deterministic")
        library.use_deterministic_algorithms(True)
        try:
            found = _uninitialised(library, dtype)
            deterministic.fill_uninitialized_memory = False
            library.empty(2)
            with pytest.raises(RuntimeError) as failure:
                deterministic.fill_uninitialized_memory = 3
            told.append((found, str(failure.value), deterministic.fill_uninitialized_memory))
        finally:
            deterministic.fill_uninitialized_memory = True
            library.use_deterministic_algorithms(False)
    assert told[0] == told[1]


def test_optimizers_of_many_tensors(oracle: ModuleType) -> None:
    told = []
    for name in ("flambeau", "torch"):
        library = importlib.import_module(name)
        many = importlib.import_module(f"{name}.optim._multi_tensor")
        p = library.ones(2, requires_grad=True)
        for kind in ("Adam", "SGD", "RMSprop"):
            optimizer = getattr(many, kind)([p], lr=0.1, weight_decay=0.5)
            (p * p).sum().backward()
            optimizer.step()
            told.append((name, isinstance(optimizer, getattr(library.optim, kind)),
                         optimizer.param_groups[0]["foreach"], [round(x, 5) for x in p.tolist()]))
    assert [t[1:] for t in told[:3]] == [t[1:] for t in told[3:]]
