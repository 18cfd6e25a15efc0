"""The optimizers and schedules that the tests of this folder run through, as tables."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

ADAM_KIN = ("Adam", "AdamW", "Adamax", "NAdam", "RAdam")
SHAPES = ((3, 4), (4,), (2, 3, 2), ())
MATRICES = ((3, 4), (5, 2))

# Optimizer, options; a learning rate that moves visibly in 30 steps.
OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.05}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.05, "momentum": 0.5, "maximize": True, "weight_decay": 0.01}),
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.05, "amsgrad": True, "maximize": True}),
    ("Adam", {"lr": 0.05, "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.05}),
    ("AdamW", {"lr": 0.05, "weight_decay": 0.2, "amsgrad": True}),
    ("Adamax", {"lr": 0.05}),
    ("Adamax", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.05}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "momentum_decay": 0.01}),
    ("NAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {"lr": 0.05}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "betas": (0.7, 0.9)}),
    ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "centered": True, "maximize": True}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.05, "weight_decay": 0.1, "initial_accumulator_value": 0.2}),
    ("Adadelta", {"lr": 1.0}),
    ("Adadelta", {"lr": 0.5, "rho": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {"lr": 0.01}),
    ("Rprop", {"lr": 0.01, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.05), "maximize": True}),
    ("ASGD", {"lr": 0.05}),
    ("ASGD", {"lr": 0.05, "t0": 5.0, "lambd": 0.01, "weight_decay": 0.1}),
    ("Adafactor", {"lr": 0.05}),
    ("Adafactor", {"lr": 0.05, "weight_decay": 0.1, "d": 1.5, "beta2_decay": -0.5, "eps": (1e-6, 1e-2)}),
    ("Muon", {"lr": 0.05}),
    ("Muon", {"lr": 0.05, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}),
]


def optimizer_id(row: tuple[str, dict[str, Any]]) -> str:
    name, options = row
    return "-".join([name, *(f"{key}={value}" for key, value in options.items() if key != "lr")])


class Problem:
    """Parameters with the same start in every framework, and gradients that depend on where they are."""

    def __init__(self, torch: ModuleType, name: str, options: dict[str, Any], dtype: str = "float32") -> None:
        self.torch = torch
        self.random = np.random.default_rng(0)
        shapes = MATRICES if name == "Muon" else SHAPES
        self.params = [
            torch.nn.Parameter(self.tensor(self.random.standard_normal(shape), dtype)) for shape in shapes
        ]
        self.dtype = dtype
        self.optimizer = getattr(torch.optim, name)(self.params, **options)

    def tensor(self, values: Any, dtype: str) -> Any:
        return self.torch.tensor(np.asarray(values).tolist(), dtype=getattr(self.torch, dtype))

    def set_grads(self) -> None:
        for p in self.params:
            noise = self.tensor(self.random.standard_normal(tuple(p.shape)), self.dtype)
            p.grad = noise * 0.5 + p.detach()

    def run(self, steps: int, after: Callable[[], None] | None = None) -> None:
        for _ in range(steps):
            self.set_grads()
            self.optimizer.step()
            if after is not None:
                after()

    def values(self) -> list[Any]:
        return [np.asarray(p.detach().tolist()) for p in self.params]


def assert_same_values(ours: list[Any], theirs: list[Any], tolerance: float = 1e-5) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


def plain(value: Any) -> Any:
    """A state dict with its tensors as (dtype, list), and without what differs by framework."""
    if hasattr(value, "tolist"):
        return str(value.dtype).rpartition(".")[2], np.asarray(value.tolist())
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(plain(item) for item in value)
    return value


def assert_same_state(ours: Any, theirs: Any, tolerance: float = 1e-5) -> None:
    """Equal structure, keys in the same order, equal dtypes, close numbers."""
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for key in ours:
            assert_same_state(ours[key], theirs[key], tolerance)
    elif isinstance(ours, list | tuple):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            assert_same_state(mine, other, tolerance)
    elif isinstance(ours, np.ndarray):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    else:
        assert ours == theirs


def outcome(run: Callable[[], Any]) -> tuple[Any, list[tuple[str, str]]]:
    """What a call returns or raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result: Any = ("returned", run())
        except Exception as error:
            result = (type(error).__name__, str(error))
    return result, [(w.category.__name__, str(w.message)) for w in caught]


@contextlib.contextmanager
def without_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
