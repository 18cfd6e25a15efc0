"""Other parameters and state for a while: what an optimizer does to them; afterwards it is as before."""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any

import pytest

OPTIMIZERS = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD",
              "Adafactor"]


def _stepped(torch: ModuleType, name: str) -> tuple[Any, Any]:
    model = torch.nn.Linear(3, 2)
    for k, p in enumerate(model.parameters()):
        p.data.copy_(torch.arange(p.numel()).reshape(p.shape) * 0.1 - k)
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return model, optimizer


def _others(torch: ModuleType, model: Any) -> dict[str, Any]:
    others = {name: torch.full_like(p, 0.25).detach() for name, p in model.named_parameters()}
    for p in others.values():
        p.grad = torch.ones_like(p) * 0.5
    return others


def _run(torch: ModuleType, name: str) -> list[Any]:
    model, optimizer = _stepped(torch, name)
    others, given = _others(torch, model), copy.deepcopy(optimizer.state_dict())
    given["param_groups"][0]["lr"] = 0.3
    before = [p.tolist() for p in model.parameters()]
    own = optimizer.param_groups[0]["params"][0]
    with torch.optim.swap_in_optimizer_params_and_state(optimizer, others, given) as nothing:
        assert nothing is None
        optimizer.step()
        optimizer.step()
        optimizer.param_groups[0]["lr"] = 7
    assert optimizer.param_groups[0]["params"][0] is own and optimizer.param_groups[0]["lr"] == 0.1
    assert [p.tolist() for p in model.parameters()] == before
    optimizer.step()    # with its own again
    changed = {key: value for key, value in given["state"][0].items() if isinstance(value, torch.Tensor)}
    return [[p.tolist() for p in others.values()], {key: value.tolist() for key, value in changed.items()},
            [p.tolist() for p in model.parameters()], given["param_groups"][0]["lr"]]


def _flat(found: Any) -> list[float]:
    if isinstance(found, dict):
        return [x for key in sorted(found) for x in _flat(found[key])]
    return [x for each in found for x in _flat(each)] if isinstance(found, list) else [float(found)]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_pytorch(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    assert _flat(_run(torch, name)) == pytest.approx(_flat(_run(oracle, name)), rel=1e-5, abs=1e-6)


WRONG = [
    ("no parameters", lambda others, given: ({}, given)),
    ("one is missing", lambda others, given: (dict([*others.items()][:1]), given)),
    ("no state", lambda others, given: (others, {})),
    ("no groups", lambda others, given: (others, {**given, "param_groups": []})),
    ("a shorter group",
     lambda others, given: (others, {**given, "param_groups": [given["param_groups"][0] | {"params": [0]}]})),
    ("another number", lambda others, given: (others, {**given, "state": {5: given["state"][0]}})),
]


@pytest.mark.parametrize("change", [row[1] for row in WRONG], ids=[row[0] for row in WRONG])
def test_what_does_not_fit(torch: ModuleType, oracle: ModuleType, change: Any) -> None:
    def said(framework: ModuleType) -> str:
        model, optimizer = _stepped(framework, "Adam")
        arguments = change(_others(framework, model), optimizer.state_dict())
        with pytest.raises(RuntimeError) as error, \
                framework.optim.swap_in_optimizer_params_and_state(optimizer, *arguments):
            pass
        assert optimizer.param_groups[0]["params"][0] is model.weight
        return str(error.value)

    assert said(torch) == said(oracle)


def test_an_optimizer_without_state(torch: ModuleType) -> None:
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    with pytest.raises(RuntimeError, match="requires initialized optimizer state"), \
            torch.optim.swap_in_optimizer_params_and_state(optimizer, {}, {}):
        pass


def test_an_error_inside_restores(torch: ModuleType) -> None:
    model, optimizer = _stepped(torch, "Adam")
    with pytest.raises(ValueError, match="inside"), torch.optim.swap_in_optimizer_params_and_state(
            optimizer, _others(torch, model), optimizer.state_dict()):
        raise ValueError("inside")
    assert optimizer.param_groups[0]["params"][0] is model.weight and model.weight in optimizer.state
