"""Every schedule against PyTorch's: rates, momenta, state dicts, warnings and errors."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from .cases import outcome, without_warnings

pytestmark = pytest.mark.oracle

Make = Callable[[Any, Any], Any]  # (lr_scheduler module, optimizer) -> scheduler


class Scaling:
    """A callable object, whose attributes a state dict keeps."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, epoch: float) -> float:
        return self.factor**epoch


SCHEDULERS: dict[str, Make] = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch),
    "LambdaLR-object": lambda s, o: s.LambdaLR(o, [Scaling(0.9), Scaling(0.5)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.95),
    "StepLR": lambda s, o: s.StepLR(o, 3, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [3, 5, 5, 11], gamma=0.5),
    "ConstantLR": lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=4),
    "LinearLR": lambda s, o: s.LinearLR(o, start_factor=0.3, end_factor=0.9, total_iters=7),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, total_iters=9, power=1.7),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, T_max=5, eta_min=0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(
        o, T_0=3, T_mult=2, eta_min=0.01
    ),
    "CosineAnnealingWarmRestarts-1": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=4),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], step_size_up=4, step_size_down=3),
    "CyclicLR-triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=3, mode="triangular2"),
    "CyclicLR-exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=3, mode="exp_range", gamma=0.97),
    "CyclicLR-scale_fn": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, 3, scale_fn=Scaling(0.8), scale_mode="iterations", cycle_momentum=False
    ),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=25),
    "OneCycleLR-linear": lambda s, o: s.OneCycleLR(
        o, [0.5, 0.1], epochs=5, steps_per_epoch=5, pct_start=0.4, anneal_strategy="linear"
    ),
    "OneCycleLR-three": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=25, three_phase=True),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, total_iters=3), s.CosineAnnealingLR(o, T_max=8), s.ExponentialLR(o, 0.5)], [4, 12]
    ),
    "SequentialLR-nested": lambda s, o: s.SequentialLR(
        o, [s.SequentialLR(o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)], [3]), s.StepLR(o, 2)], [6]
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.2, 4), s.ExponentialLR(o, 0.9)]),
}


def make_optimizer(torch: ModuleType, name: str = "SGD", **options: Any) -> Any:
    groups = [
        {"params": [torch.nn.Parameter(torch.ones(1))]},
        {"params": [torch.nn.Parameter(torch.ones(1))], "lr": 0.3},
    ]
    if name == "SGD":
        options.setdefault("momentum", 0.9)
    return getattr(torch.optim, name)(groups, lr=0.1, **options)


def groups_of(optimizer: Any) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in group.items() if key not in ("params", "fused", "foreach")}
        for group in optimizer.param_groups
    ]


@pytest.mark.parametrize("name", SCHEDULERS)
def test_rates_and_state(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    def run(framework: ModuleType) -> list[Any]:
        optimizer = make_optimizer(framework)
        scheduler = SCHEDULERS[name](framework.optim.lr_scheduler, optimizer)
        seen = [(scheduler.get_last_lr(), scheduler.state_dict(), groups_of(optimizer))]
        for _ in range(20):
            optimizer.step()
            scheduler.step()
            seen.append((scheduler.get_last_lr(), scheduler.state_dict(), groups_of(optimizer)))
        return seen

    ours, theirs = outcome(lambda: run(torch)), outcome(lambda: run(oracle))
    for mine, other in zip(ours[0][1], theirs[0][1], strict=True):
        assert mine == other
    assert ours == theirs


@pytest.mark.parametrize("name", ["Adam", "AdamW", "NAdam"])
@pytest.mark.parametrize("scheduler", ["CyclicLR", "OneCycleLR"])
def test_momentum_of_adam(torch: ModuleType, oracle: ModuleType, name: str, scheduler: str) -> None:
    def run(framework: ModuleType) -> list[Any]:
        optimizer = make_optimizer(framework, name)
        schedule = SCHEDULERS[scheduler](framework.optim.lr_scheduler, optimizer)
        seen = [groups_of(optimizer)]
        for _ in range(9):
            optimizer.step()
            schedule.step()
            seen.append(groups_of(optimizer))
        return seen

    assert run(torch) == run(oracle)


@pytest.mark.parametrize(
    "name", [name for name in SCHEDULERS if not name.startswith(("Sequential", "Chained"))]
)
def test_explicit_epochs(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    def run(framework: ModuleType) -> list[Any]:
        optimizer = make_optimizer(framework)
        scheduler = SCHEDULERS[name](framework.optim.lr_scheduler, optimizer)
        optimizer.step()
        seen = []
        for epoch in (4, 2, 9, 3):
            scheduler.step(epoch)
            seen.append((scheduler.get_last_lr(), scheduler.state_dict()))
        scheduler.step()
        seen.append((scheduler.get_last_lr(), scheduler.get_lr()))
        return seen

    assert outcome(lambda: run(torch)) == outcome(lambda: run(oracle))


@pytest.mark.parametrize("name", SCHEDULERS)
def test_state_dict_moves_to_pytorch_and_back(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    def advance(framework: ModuleType, scheduler: Any, optimizer: Any, steps: int) -> None:
        for _ in range(steps):
            optimizer.step()
            scheduler.step()

    with without_warnings():
        straight_optimizer = make_optimizer(oracle)
        straight = SCHEDULERS[name](oracle.optim.lr_scheduler, straight_optimizer)
        advance(oracle, straight, straight_optimizer, 15)
        states: Any = None
        for framework in (torch, oracle, torch):
            optimizer = make_optimizer(framework)
            scheduler = SCHEDULERS[name](framework.optim.lr_scheduler, optimizer)
            if states is not None:
                optimizer.load_state_dict(states[0])
                scheduler.load_state_dict(states[1])
            advance(framework, scheduler, optimizer, 5)
            states = optimizer.state_dict(), scheduler.state_dict()
    assert groups_of(optimizer) == groups_of(straight_optimizer)
    assert scheduler.state_dict() == straight.state_dict()


PLATEAUS: list[dict[str, Any]] = [
    {"patience": 1, "factor": 0.5},
    {"patience": 0, "factor": 0.5, "cooldown": 2, "min_lr": 0.02},
    {"patience": 1, "mode": "max", "threshold_mode": "abs", "threshold": 0.1, "min_lr": [0.01, 0.05]},
    {"patience": 1, "factor": 0.5, "threshold": 0.2},
]
METRICS = [3.0, 2.0, 2.0, 1.95, 1.9, 1.9, 2.5, 1.0, float("nan"), 1.0, 1.0, 0.99, 0.5, 0.5, 0.5, 0.5, 0.5]


@pytest.mark.parametrize("options", PLATEAUS, ids=str)
def test_plateau(torch: ModuleType, oracle: ModuleType, options: dict[str, Any]) -> None:
    def run(framework: ModuleType) -> list[Any]:
        optimizer = make_optimizer(framework)
        scheduler = framework.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        seen = []
        for metric in METRICS:
            scheduler.step(framework.tensor(metric))
            seen.append(
                (scheduler.get_last_lr(), scheduler.state_dict(), scheduler.in_cooldown, groups_of(optimizer))
            )
        return seen

    assert run(torch) == run(oracle)


MISTAKES: dict[str, Make] = {
    "not an optimizer": lambda s, o: s.StepLR(5, 3),
    "get_lr of the base": lambda s, o: s.LRScheduler(o),
    "lambdas": lambda s, o: s.LambdaLR(o, [abs]),
    "multiplicative lambdas": lambda s, o: s.MultiplicativeLR(o, [abs, abs, abs]),
    "constant above 1": lambda s, o: s.ConstantLR(o, factor=2),
    "linear start 0": lambda s, o: s.LinearLR(o, start_factor=0),
    "linear start 2": lambda s, o: s.LinearLR(o, start_factor=2),
    "linear end 2": lambda s, o: s.LinearLR(o, end_factor=2),
    "resuming": lambda s, o: s.StepLR(o, 3, last_epoch=4),
    "no parts": lambda s, o: s.SequentialLR(o, [], []),
    "milestones": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 3)], [1]),
    "plateau as part": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 3), s.ReduceLROnPlateau(o)], [1]),
    "foreign part": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 3), object()], [1]),
    "nothing chained": lambda s, o: s.ChainedScheduler([]),
    "plateau factor": lambda s, o: s.ReduceLROnPlateau(o, factor=1),
    "plateau of int": lambda s, o: s.ReduceLROnPlateau(5),
    "plateau mode": lambda s, o: s.ReduceLROnPlateau(o, mode="a"),
    "plateau threshold": lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="a"),
    "plateau min_lr": lambda s, o: s.ReduceLROnPlateau(o, min_lr=[1]),
    "cyclic of int": lambda s, o: s.CyclicLR(5, 0.1, 0.2),
    "cyclic mode": lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="a"),
    "cyclic base_lr": lambda s, o: s.CyclicLR(o, [0.1], 0.2),
    "restarts T_0": lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "restarts T_0 float": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1.5),
    "restarts T_mult": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 0),
    "restarts eta_min": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 1, "a"),
    "restarts epoch": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3).step(-1),
    "one cycle of int": lambda s, o: s.OneCycleLR(5, 0.1),
    "one cycle steps": lambda s, o: s.OneCycleLR(o, 0.1),
    "one cycle negative": lambda s, o: s.OneCycleLR(o, 0.1, -1),
    "one cycle epochs": lambda s, o: s.OneCycleLR(o, 0.1, epochs=-1, steps_per_epoch=1),
    "one cycle steps_per_epoch": lambda s, o: s.OneCycleLR(o, 0.1, epochs=1, steps_per_epoch=-1),
    "one cycle pct_start": lambda s, o: s.OneCycleLR(o, 0.1, 10, pct_start=2.0),
    "one cycle strategy": lambda s, o: s.OneCycleLR(o, 0.1, 10, anneal_strategy="a"),
    "one cycle max_lr": lambda s, o: s.OneCycleLR(o, [0.1], 10),
    "one cycle too far": lambda s, o: [s.OneCycleLR(o, 0.1, 3).step(5)],
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    def run(framework: ModuleType) -> Any:
        return outcome(lambda: MISTAKES[name](framework.optim.lr_scheduler, make_optimizer(framework)))

    ours = run(torch)
    assert ours == run(oracle)
    assert ours[0][0] != "returned"


def test_order_of_the_two_steps(torch: ModuleType, oracle: ModuleType) -> None:
    def scheduler_first(framework: ModuleType) -> None:
        optimizer = make_optimizer(framework)
        scheduler = framework.optim.lr_scheduler.StepLR(optimizer, 3)
        scheduler.step()
        scheduler.step()
        optimizer.step()

    def step_before_the_scheduler_was_made(framework: ModuleType) -> None:
        optimizer = make_optimizer(framework)
        optimizer.step()
        framework.optim.lr_scheduler.StepLR(optimizer, 3).step()

    def step_replaced(framework: ModuleType) -> None:
        optimizer = make_optimizer(framework)
        scheduler = framework.optim.lr_scheduler.StepLR(optimizer, 3)
        optimizer.step = lambda: None
        scheduler.step()

    for run in (scheduler_first, step_before_the_scheduler_was_made, step_replaced):
        ours = outcome(lambda run=run: run(torch))
        assert ours == outcome(lambda run=run: run(oracle))
        assert len(ours[1]) == 1


def test_rate_that_is_a_tensor(torch: ModuleType, oracle: ModuleType) -> None:
    """It keeps its identity: the schedule writes into it."""

    def run(framework: ModuleType) -> list[float]:
        rate = framework.tensor(0.5)
        optimizer = framework.optim.SGD([framework.nn.Parameter(framework.ones(1))], lr=rate)
        scheduler = framework.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        optimizer.step()
        scheduler.step()
        assert optimizer.param_groups[0]["lr"] is rate
        group = optimizer.param_groups[0]
        return [
            rate.item(),
            group["initial_lr"].item(),
            scheduler.get_last_lr()[0].item(),
            scheduler.base_lrs[0].item(),
        ]

    assert run(torch) == run(oracle) == [0.25, 0.5, 0.25, 0.5]
