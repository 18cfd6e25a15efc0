"""Weight averaging against PyTorch's."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from .cases import assert_same_state, outcome, plain

pytestmark = pytest.mark.oracle


def swa(framework: ModuleType) -> Any:
    return import_module(f"{framework.__name__}.optim.swa_utils")


def make_model(framework: ModuleType) -> Any:
    model = framework.nn.Sequential(framework.nn.Linear(2, 3), framework.nn.BatchNorm1d(3))
    fill(framework, model, 0)
    return model


def fill(framework: ModuleType, model: Any, seed: int) -> None:
    random = np.random.default_rng(seed)
    with framework.no_grad():
        for tensor in [*model.parameters(), model[1].running_mean, model[1].running_var]:
            tensor.copy_(framework.tensor(random.random(tuple(tensor.shape)).tolist()))
        model[1].num_batches_tracked.fill_(seed)


AVERAGES: dict[str, Any] = {
    "default": lambda s: {},
    "buffers": lambda s: {"use_buffers": True},
    "ema": lambda s: {"avg_fn": s.get_ema_avg_fn(0.9)},
    "multi ema": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.9)},
    "multi ema buffers": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.9), "use_buffers": True},
    "swa": lambda s: {"avg_fn": s.get_swa_avg_fn()},
    "multi swa": lambda s: {"multi_avg_fn": s.get_swa_multi_avg_fn()},
    "own": lambda s: {"avg_fn": lambda average, current, number: average * 0.5 + current * 0.5 + number},
}


@pytest.mark.parametrize("name", AVERAGES)
def test_averaged_model(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    def run(framework: ModuleType) -> Any:
        model = make_model(framework)
        averaged = swa(framework).AveragedModel(model, **AVERAGES[name](swa(framework)))
        for seed in range(1, 5):
            fill(framework, model, seed)
            averaged.update_parameters(model)
        x = framework.tensor([[1.0, 2.0], [3.0, -1.0]])
        averaged.eval()
        return (
            plain(dict(averaged.state_dict())),
            plain(averaged(x).detach()),
            plain(dict(model.state_dict())),
        )

    assert_same_state(run(torch), run(oracle))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"anneal_strategy": "linear", "anneal_epochs": 4},
        {"anneal_epochs": 0},
        {"anneal_strategy": "x"},
        {"anneal_epochs": -1},
        {"anneal_epochs": 1.5},
    ],
    ids=str,
)
@pytest.mark.parametrize("swa_lr", [0.05, [0.05, 0.2], [1.0]], ids=str)
def test_swalr(torch: ModuleType, oracle: ModuleType, swa_lr: Any, options: dict[str, Any]) -> None:
    def run(framework: ModuleType) -> Any:
        groups = [{"params": [framework.nn.Parameter(framework.ones(1))]} for _ in range(2)]
        optimizer = framework.optim.SGD(groups, lr=1.0)
        scheduler = swa(framework).SWALR(optimizer, swa_lr, **options)
        seen = [(scheduler.get_last_lr(), scheduler.state_dict())]
        for _ in range(12):
            optimizer.step()
            scheduler.step()
            seen.append((scheduler.get_last_lr(), scheduler.state_dict()))
        return seen

    assert outcome(lambda: run(torch)) == outcome(lambda: run(oracle))


def test_update_bn(torch: ModuleType, oracle: ModuleType) -> None:
    def run(framework: ModuleType) -> Any:
        model = make_model(framework).eval()
        random = np.random.default_rng(5)
        batches: list[Any] = [framework.tensor(random.random((n, 2)).tolist()) for n in (4, 3, 5)]
        batches[1] = [batches[1], "label"]
        swa(framework).update_bn(batches, model)
        return plain(dict(model.state_dict())), model.training, model[1].momentum

    assert_same_state(run(torch), run(oracle))


@pytest.mark.parametrize("mistake", ["ema", "multi ema", "both"])
def test_mistakes(torch: ModuleType, oracle: ModuleType, mistake: str) -> None:
    def run(framework: ModuleType) -> Any:
        module = swa(framework)
        return outcome(
            {
                "ema": lambda: module.get_ema_avg_fn(2),
                "multi ema": lambda: module.get_ema_multi_avg_fn(-1),
                "both": lambda: module.AveragedModel(make_model(framework), avg_fn=abs, multi_avg_fn=abs),
            }[mistake]
        )

    assert run(torch) == run(oracle)
