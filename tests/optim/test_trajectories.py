"""30 steps of every optimizer, compared with PyTorch's: parameters and state."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from .cases import OPTIMIZERS, Problem, assert_same_state, assert_same_values, optimizer_id, plain

pytestmark = pytest.mark.oracle


# Muon's iterations are in bfloat16, whose products round differently in another order of summation.
def tolerance(name: str) -> float:
    return 5e-2 if name == "Muon" else 1e-5


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=map(optimizer_id, OPTIMIZERS))
def test_trajectory(torch: ModuleType, oracle: ModuleType, name: str, options: dict[str, Any]) -> None:
    ours, theirs = Problem(torch, name, options), Problem(oracle, name, options)
    for _ in range(3):
        ours.run(10)
        theirs.run(10)
        assert_same_values(ours.values(), theirs.values(), tolerance(name))
    assert_same_state(
        plain(ours.optimizer.state_dict()), plain(theirs.optimizer.state_dict()), tolerance(name)
    )


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=map(optimizer_id, OPTIMIZERS))
def test_state_dict_moves_to_pytorch_and_back(
    torch: ModuleType, oracle: ModuleType, name: str, options: dict[str, Any]
) -> None:
    def as_state_of(other: ModuleType, state: Any) -> Any:
        if hasattr(state, "tolist"):
            dtype = getattr(other, str(state.dtype).rpartition(".")[2])
            return other.tensor(state.tolist(), dtype=dtype)
        if isinstance(state, dict):
            return {key: as_state_of(other, value) for key, value in state.items()}
        if isinstance(state, list | tuple):
            return type(state)(as_state_of(other, value) for value in state)
        return state

    straight = Problem(oracle, name, options)
    straight.run(12)
    hopping = Problem(torch, name, options)
    hopping.run(4)
    for framework in (oracle, torch):
        following = Problem(framework, name, options)
        following.random = hopping.random
        with framework.no_grad():
            for p, value in zip(following.params, hopping.values(), strict=True):
                p.copy_(following.tensor(value, "float32"))
        following.optimizer.load_state_dict(as_state_of(framework, hopping.optimizer.state_dict()))
        hopping = following
        hopping.run(4)
    assert_same_values(hopping.values(), straight.values(), tolerance(name))


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16", "complex64"])
@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD"]
)
def test_dtypes(torch: ModuleType, oracle: ModuleType, name: str, dtype: str) -> None:
    if name == "Rprop" and dtype.endswith("float16"):
        pytest.skip("signs of products of few bits: one rounding decides on which way a parameter goes")
    options = {"lr": 0.05, **({"momentum": 0.9} if name in ("SGD", "RMSprop") else {})}
    ours, theirs = Problem(torch, name, options, dtype), Problem(oracle, name, options, dtype)
    ours.run(5)
    theirs.run(5)
    assert_same_values(ours.values(), theirs.values(), {"float64": 1e-9, "complex64": 1e-5}.get(dtype, 0.05))


@pytest.mark.parametrize("name", ["SGD", "Adam", "NAdam", "ASGD", "Adagrad"])
def test_changing_set_of_gradients(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    """A parameter without a gradient is left out, and its own count of steps goes on where it was."""

    def run(framework: ModuleType) -> Problem:
        problem = Problem(
            framework, name, {"lr": 0.05, **({"momentum": 0.9, "dampening": 0.5} if name == "SGD" else {})}
        )
        for step in range(12):
            problem.set_grads()
            problem.params[step % 3].grad = None
            problem.optimizer.step()
        return problem

    ours, theirs = run(torch), run(oracle)
    assert_same_values(ours.values(), theirs.values())
    assert_same_state(plain(ours.optimizer.state_dict()), plain(theirs.optimizer.state_dict()))


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_options_changed_between_steps(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    def run(framework: ModuleType) -> list[Any]:
        problem = Problem(framework, name, {"lr": 0.05})
        group = problem.optimizer.param_groups[0]
        problem.run(3)
        group["lr"] = 0.01
        group["weight_decay"] = 0.1
        problem.run(3)
        if name == "Adam":
            group["betas"] = (0.5, 0.9)
        else:
            group["momentum"] = 0.9
        problem.run(3)
        return problem.values()

    assert_same_values(run(torch), run(oracle))


def test_learning_rate_as_tensor(torch: ModuleType, oracle: ModuleType) -> None:
    def run(framework: ModuleType) -> list[Any]:
        problem = Problem(framework, "Adam", {"lr": framework.tensor(0.05)})
        problem.run(3)
        problem.optimizer.param_groups[0]["lr"].fill_(0.01)
        problem.run(3)
        return problem.values()

    assert_same_values(run(torch), run(oracle))


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad"])
def test_differentiable(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    """Gradients flow through the steps to the start and to the gradients."""

    def run(framework: ModuleType) -> list[Any]:
        start = framework.tensor([0.5, -1.0], dtype=framework.float64, requires_grad=True)
        param = start.clone()
        optimizer = getattr(framework.optim, name)([param], lr=0.1, differentiable=True)
        for step in range(3):
            param.grad = start * (step + 1.0)
            optimizer.step()
        (param**2).sum().backward()
        return [np.asarray(param.tolist()), np.asarray(start.grad.tolist())]

    assert_same_values(run(torch), run(oracle))


@pytest.mark.parametrize("line_search_fn", [None, "strong_wolfe"])
@pytest.mark.parametrize("history_size", [100, 3])
def test_lbfgs(torch: ModuleType, oracle: ModuleType, line_search_fn: str | None, history_size: int) -> None:
    def run(framework: ModuleType) -> list[Any]:
        x = framework.tensor([-1.2, 1.0], dtype=framework.float64, requires_grad=True)
        optimizer = framework.optim.LBFGS(
            [x],
            lr=1.0 if line_search_fn else 1e-3,
            history_size=history_size,
            line_search_fn=line_search_fn,
            max_iter=10,
        )
        losses = []

        def closure() -> Any:
            optimizer.zero_grad()
            loss = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
            loss.backward()
            losses.append(loss.item())
            return loss

        for _ in range(4):
            optimizer.step(closure)
        state = optimizer.state_dict()["state"][0]
        return [
            np.asarray(x.tolist()),
            np.asarray(losses),
            np.asarray([state["func_evals"], state["n_iter"]]),
        ]

    assert_same_values(run(torch), run(oracle), 1e-6)
