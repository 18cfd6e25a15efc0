"""State dicts by parameters' names."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau as torch
from flambeau import nn
from flambeau.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)


def model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 1, bias=False), nn.BatchNorm1d(1)))


def optimizer(of: nn.Sequential, turned: bool = False) -> torch.optim.Optimizer:
    groups = [{"params": list(of[0].parameters()), "lr": 0.1}, {"params": list(of[1].parameters())}]
    return torch.optim.AdamW(groups[::-1] if turned else groups)


def stepped(of: nn.Sequential, by: torch.optim.Optimizer) -> None:
    of(torch.arange(6.0).reshape(3, 2)).square().sum().backward()
    by.step()


def test_parts_of_a_model() -> None:
    net = model()
    net[0].bias.requires_grad_(False)
    inner = ["1.0.weight", "1.1.weight", "1.1.bias", "1.1.running_mean", "1.1.running_var",
             "1.1.num_batches_tracked"]
    assert list(get_model_state_dict(net)) == ["0.weight", "0.bias", *inner]
    moving = get_model_state_dict(net, options=StateDictOptions(ignore_frozen_params=True))
    assert list(moving) == ["0.weight", *inner]
    assert list(get_model_state_dict(net, submodules={net[1]})) == inner
    bare = get_model_state_dict(net, submodules={net[1]},
                                options=StateDictOptions(keep_submodule_prefixes=False))
    assert list(bare) == [name[2:] for name in inner]
    missing = set_model_state_dict(net, {net[1]: bare}, options=StateDictOptions(strict=False))
    assert missing.missing_keys == ["0.weight", "0.bias"] and not missing.unexpected_keys


def test_a_wrapper_has_no_part_in_names() -> None:
    net = model()
    state = get_model_state_dict(torch.compile(net))
    assert list(state) == list(net.state_dict())
    set_model_state_dict(torch.compile(net), {name: x + 1 for name, x in state.items()})
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        set_model_state_dict(net, state, options=StateDictOptions(full_state_dict=True,
                                                                  broadcast_from_rank0=True))


@pytest.mark.parametrize("flat", [False, True])
def test_an_optimizer_whose_groups_stand_otherwise(flat: bool) -> None:
    net, options = model(), StateDictOptions(flatten_optimizer_state_dict=flat)
    one = optimizer(net)
    stepped(net, one)
    found = get_optimizer_state_dict(net, one, options=options)
    if flat:
        assert found["param_groups.0.weight.lr"] == 0.1 and found["state.1.1.bias.exp_avg"].shape == (1,)
    else:
        assert found["param_groups"][1]["params"] == ["1.0.weight", "1.1.weight", "1.1.bias"]
    other = optimizer(net, turned=True)
    set_optimizer_state_dict(net, other, found, options=options)
    assert [group["lr"] for group in other.param_groups] == [0.001, 0.1]
    for group in one.param_groups:
        for x in group["params"]:
            assert torch.equal(other.state[x]["exp_avg"], one.state[x]["exp_avg"])


def test_an_optimizer_before_its_first_step() -> None:
    net = model()
    before: Any = [x.clone() for x in net.parameters()]
    found = get_optimizer_state_dict(net, optimizer(net))
    assert found["state"]["0.bias"]["step"] == 1 and not found["state"]["0.bias"]["exp_avg"].any()
    assert all(torch.equal(x, y) for x, y in zip(net.parameters(), before, strict=True))


def test_both() -> None:
    net = model()
    one = optimizer(net)
    stepped(net, one)
    states = get_state_dict(net, [one], options=StateDictOptions(cpu_offload=True))
    fresh = model()
    set_state_dict(fresh, optimizer(fresh), model_state_dict=states[0], optim_state_dict=states[1])
    assert torch.equal(fresh[0].weight, net[0].weight)
    assert [list(state) for state in get_state_dict(net, [])][1] == []
