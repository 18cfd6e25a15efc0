"""The Optimizer base class: groups, hooks, state dicts, errors; in PyTorch's words."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import flambeau

from .cases import ADAM_KIN, OPTIMIZERS, Problem, assert_same_state, outcome, plain

NAMES = sorted({name for name, _ in OPTIMIZERS} | {"LBFGS", "SparseAdam"})


def parameter(torch: ModuleType, *shape: int) -> Any:
    return torch.nn.Parameter(torch.ones(shape or (2, 2)))


# (framework, two parameters) -> anything
MISTAKES: dict[str, Callable[[ModuleType, Any, Any], Any]] = {
    "a tensor": lambda t, p, q: t.optim.SGD(p),
    "nothing": lambda t, p, q: t.optim.SGD([]),
    "a number": lambda t, p, q: t.optim.SGD([1]),
    "a set in a group": lambda t, p, q: t.optim.SGD([{"params": {p}}]),
    "a group without params": lambda t, p, q: t.optim.SGD([{"lr": 1}]),
    "a group among tensors": lambda t, p, q: t.optim.SGD([p, {"params": q}]),
    "a dict": lambda t, p, q: t.optim.SGD({"a": p}),
    "a name missing": lambda t, p, q: t.optim.SGD([("w", p), q]),
    "a tuple of numbers": lambda t, p, q: t.optim.SGD([(1, 2)]),
    "groups with and without names": lambda t, p, q: t.optim.SGD([{"params": [("w", p)]}, {"params": [q]}]),
    "groups without and with names": lambda t, p, q: t.optim.SGD([{"params": [p]}, {"params": [("w", q)]}]),
    "twice in a group": lambda t, p, q: plain(t.optim.SGD([p, p]).state_dict()),
    "in two groups": lambda t, p, q: t.optim.SGD([{"params": p}, {"params": p}]),
    "not a leaf": lambda t, p, q: t.optim.SGD([p * 2]),
    "a group that is a number": lambda t, p, q: t.optim.SGD([p]).add_param_group(1),
    "a parameter added again": lambda t, p, q: t.optim.SGD([p]).add_param_group({"params": p}),
    "a required option": lambda t, p, q: t.optim.Optimizer(
        [p], {"a": import_module(f"{t.__name__}.optim.optimizer").required}
    ),
    "no step": lambda t, p, q: t.optim.Optimizer([p], {"a": 1}).step(),
    "fewer groups": lambda t, p, q: t.optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []}),
    "fewer params": lambda t, p, q: t.optim.SGD([p, q]).load_state_dict(
        {"state": {}, "param_groups": [{"params": [0]}]}
    ),
    "empty dict": lambda t, p, q: t.optim.SGD([p]).load_state_dict({}),
    "LBFGS groups": lambda t, p, q: t.optim.LBFGS([{"params": [p]}, {"params": [q]}]),
    "Muon vector": lambda t, p, q: t.optim.Muon([parameter(t, 2)]),
    "SparseAdam dense": lambda t, p, q: step_with_grad(t.optim.SparseAdam([p]), t),
    "pre-hook": lambda t, p, q: step_with_pre_hook(t.optim.SGD([p])),
}


def step_with_grad(optimizer: Any, torch: ModuleType) -> None:
    for p in optimizer.param_groups[0]["params"]:
        p.grad = torch.ones(tuple(p.shape))
    optimizer.step()


def step_with_pre_hook(optimizer: Any) -> None:
    optimizer.register_step_pre_hook(lambda *arguments: 5)
    try:
        optimizer.step()
    except RuntimeError as error:
        raise RuntimeError(str(error).partition(" at 0x")[2].partition(">")[2]) from None


@pytest.mark.oracle
@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    def run(framework: ModuleType) -> Any:
        return outcome(lambda: MISTAKES[name](framework, parameter(framework), parameter(framework)))

    ours, theirs = run(torch), run(oracle)
    assert ours[1] == theirs[1]
    assert ours[0][0] == theirs[0][0]
    if ours[0][0] == "returned":
        assert_same_state(ours[0][1], theirs[0][1])
    else:
        assert ours[0][1].replace("flambeau.", "torch.") == theirs[0][1]


OPTIONS: list[dict[str, Any]] = [
    {"lr": -1},
    {"eps": -1},
    {"betas": (-0.1, 0.9)},
    {"betas": (0.9, 1.0)},
    {"weight_decay": -1},
    {"momentum": -1},
    {"alpha": -1},
    {"rho": 2},
    {"lr_decay": -1},
    {"initial_accumulator_value": -1},
    {"momentum_decay": -1},
    {"etas": (1.2, 0.5)},
    {"fused": True, "foreach": True},
    {"fused": True, "differentiable": True},
    {"nesterov": True},
    {"nesterov": True, "momentum": 0.9, "dampening": 0.1},
    {"d": -1},
    {"beta2_decay": 1},
    {"eps": (-1, 1)},
    {"eps": (None, -1)},
    {"adjust_lr_fn": "x"},
    {"max_iter": 0},
    {"maximize": True},
    {"lr": 0.0},
    {"lambd": -1},
    {"capturable": True},
    {"eps": 0.0},
    {"nonsense": 1},
]


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_options(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    def run(framework: ModuleType, options: dict[str, Any]) -> Any:
        return outcome(lambda: repr(getattr(framework.optim, name)([parameter(framework)], **options)))

    for options in [{}, *OPTIONS]:
        assert run(torch, options) == run(oracle, options), options


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_options_as_tensors(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    def run(framework: ModuleType, shape: tuple[int, ...], foreach: bool) -> Any:
        options = {"lr": framework.full(shape, 0.5), **({"foreach": True} if foreach else {})}
        return outcome(lambda: repr(getattr(framework.optim, name)([parameter(framework)], **options)))

    for shape in ((), (1,), (2,)):
        for foreach in (False, True):
            assert run(torch, shape, foreach) == run(oracle, shape, foreach)


@pytest.mark.oracle
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("LBFGS", "SparseAdam")])
def test_capturable_and_defaults_after_loading(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    def load(framework: ModuleType) -> Any:
        p = parameter(framework)
        optimizer = getattr(framework.optim, name)([p])
        saved = {
            "step": 3,
            "mu_product": 0.5,
            "eta": 0.1,
            "mu": 1.0,
            "rest": framework.ones(1, dtype=framework.float64),
        }
        optimizer.load_state_dict(
            {"state": {0: saved, "other": 5}, "param_groups": [{"lr": 0.1, "params": [0]}]}
        )
        group = optimizer.param_groups[0]
        return (
            plain(dict(optimizer.state[p])),
            optimizer.state["other"],
            {k: group[k] for k in group if k != "params"},
        )

    ours, theirs = load(torch), load(oracle)
    if name == "SGD":  # PyTorch sets fused to False here alone
        theirs[2]["fused"] = None
    if name == "Adafactor":  # PyTorch forgets those that have come later, and fails at the next step
        theirs[2].update(maximize=False, differentiable=False)
    assert_same_state(ours[0], theirs[0])
    assert ours[1:] == theirs[1:]


def test_step_hooks_and_their_order(torch: ModuleType) -> None:
    module = import_module(f"{torch.__name__}.optim.optimizer")
    calls: list[str] = []
    optimizer = torch.optim.SGD([parameter(torch)])
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: calls.append("pre")),
        optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append("post")),
        module.register_optimizer_step_pre_hook(lambda o, args, kwargs: calls.append("all pre")),
        module.register_optimizer_step_post_hook(lambda o, args, kwargs: calls.append("all post")),
    ]
    assert optimizer.step(lambda: 5) == 5
    assert calls == ["all pre", "pre", "post", "all post"]
    for handle in handles:
        handle.remove()
    assert optimizer.step(closure=lambda: 6) == 6
    assert len(calls) == 4
    handle = optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 7), {}))
    assert optimizer.step() == 7
    handle.remove()


def test_state_dict_hooks(torch: ModuleType) -> None:
    optimizer = torch.optim.SGD([parameter(torch)])
    calls: list[Any] = []
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("pre"))
    optimizer.register_state_dict_post_hook(lambda o, state: calls.append("post"))
    optimizer.register_state_dict_post_hook(lambda o, state: calls.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, state: calls.append(state["more"]))
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append("loaded"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert calls == ["pre", "first", "post", 1, "loaded"]


def test_zero_grad(torch: ModuleType) -> None:
    p = parameter(torch)
    optimizer = torch.optim.SGD([p])
    p.grad = grad = torch.ones(2, 2)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad
    assert grad.tolist() == [[0, 0], [0, 0]]
    p.grad = p * 2
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.grad_fn is None
    assert not p.grad.requires_grad
    optimizer.zero_grad()
    assert p.grad is None


@pytest.mark.parametrize("name", ADAM_KIN)
def test_state_shown_between_steps(torch: ModuleType, name: str) -> None:
    """The count of steps is a tensor whenever it is looked at, and a changed count is taken over."""
    problem = Problem(torch, name, {"lr": 0.1})
    problem.run(3)
    state = problem.optimizer.state[problem.params[0]]
    assert state["step"].dtype == torch.float32
    assert state["step"].item() == 3
    problem.run(2)
    assert problem.optimizer.state_dict()["state"][0]["step"].item() == 5
    problem.optimizer.state[problem.params[0]]["step"].fill_(100)
    problem.run(1)
    steps = [problem.optimizer.state[p]["step"].item() for p in problem.params]
    assert steps == [101, 6, 6, 6]


def test_parameters_and_states_keep_their_identity(torch: ModuleType) -> None:
    problem = Problem(torch, "Adam", {"lr": 0.1})
    p = problem.params[0]
    version = p._version
    problem.run(1)
    average = problem.optimizer.state[p]["exp_avg"]
    problem.run(1)
    assert problem.optimizer.state[p]["exp_avg"] is average
    assert p._version >= version + 2
    assert p.requires_grad
    assert p.is_leaf


def test_copies_continue_alike(torch: ModuleType) -> None:
    problem = Problem(torch, "Adam", {"lr": 0.1})
    problem.run(2)
    state = plain(problem.optimizer.state_dict())
    for clone in (copy.deepcopy(problem.optimizer), pickle.loads(pickle.dumps(problem.optimizer))):
        assert_same_state(plain(clone.state_dict()), state)
        for p, original in zip(clone.param_groups[0]["params"], problem.params, strict=True):
            assert p is not original
            p.grad = original.grad
        clone.step()
        assert clone.state_dict()["state"][0]["step"].item() == 3
    assert problem.optimizer.state_dict()["state"][0]["step"].item() == 2


def test_subclass_with_its_own_step(torch: ModuleType) -> None:
    class Signs(torch.optim.Optimizer):  # type: ignore[misc, name-defined]
        def step(self, closure: Any = None) -> None:
            with torch.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        state["count"] = state.get("count", 0) + 1
                        p.add_(p.grad.sign(), alpha=-group["lr"])

    p = parameter(torch)
    optimizer = Signs([p], {"lr": 0.5})
    seen: list[int] = []
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(o.state[p]["count"]))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    for _ in range(2):
        optimizer.zero_grad()
        (p**2).sum().backward()
        optimizer.step()
        scheduler.step()
    assert p.tolist() == [[0.25, 0.25], [0.25, 0.25]]
    assert seen == [1, 2]


def test_group_added_in_mid_run(torch: ModuleType) -> None:
    p, q = parameter(torch), parameter(torch)
    optimizer = torch.optim.Adam([p], lr=0.1)
    p.grad, q.grad = torch.ones(2, 2), torch.ones(2, 2)
    optimizer.step()
    optimizer.add_param_group({"params": [q], "lr": 0.2})
    optimizer.step()
    assert optimizer.state[p]["step"].item() == 2
    assert optimizer.state[q]["step"].item() == 1
    assert q[0, 0].item() == pytest.approx(0.8, abs=1e-6)


def test_an_optimizer_that_wraps_another_one_has_hooks() -> None:
    class Wrapped(flambeau.optim.Optimizer):
        def __init__(self, inner: flambeau.optim.Optimizer) -> None:
            self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = OrderedDict(), OrderedDict()
            self.inner, self.defaults = inner, inner.defaults
            self._patch_step_function()

        @property
        def param_groups(self) -> list[dict[str, object]]:
            return self.inner.param_groups

        def step(self, closure: object = None) -> object:
            return self.inner.step(closure)
    p = flambeau.nn.Parameter(flambeau.ones(1))
    p.grad = flambeau.ones(1)
    outer, seen = Wrapped(flambeau.optim.SGD([p], 0.5)), []
    outer.register_step_post_hook(lambda *arguments: seen.append(1))
    outer.step()
    assert p.item() == 0.5 and seen == [1]


def test_lbfgs_reads_losses_without_a_warning(recwarn):
    w = flambeau.tensor([3.0], requires_grad=True)
    optimizer = flambeau.optim.LBFGS([w], max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = (w**2).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 9
    assert not recwarn.list
