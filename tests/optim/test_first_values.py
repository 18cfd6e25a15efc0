"""When a model's first values are drawn."""

from __future__ import annotations

import flambeau as torch
from flambeau.engine import looks
from flambeau.graph import pending


def _causes() -> list[str]:
    return [look.cause for look in looks]


def test_an_optimizer_draws_the_parameters_it_takes() -> None:
    torch.synchronize()
    looks.clear()
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD([model.weight], lr=0.1)
    assert _causes() == ["parameters"]
    assert not pending.nodes
    torch.optim.Adam([{"params": [model.weight]}, {"params": [model.bias]}])    # all have values
    assert _causes() == ["parameters"]
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.rand(20))]})
    assert _causes() == ["parameters"] * 2


def test_what_was_loaded_before_is_not_drawn() -> None:
    state = torch.nn.Linear(4, 3).state_dict()
    torch.synchronize()
    looks.clear()
    model = torch.nn.Linear(4, 3)
    model.load_state_dict(state)
    torch.optim.SGD(model.parameters(), lr=0.1)
    assert sum(look.computed for look in looks) == 0
    assert torch.equal(model.weight, state["weight"])


def test_parameters_without_values_are_no_reason_to_look() -> None:
    sparse = torch.eye(3).to_sparse().requires_grad_()
    other = torch.rand(3) + 1
    looks.clear()
    torch.optim.SGD([torch.nn.Linear(2, 2, device="meta").weight], lr=0.1)
    torch.optim.SGD([sparse], lr=0.1)
    assert not looks
    assert pending.nodes
    assert other.sum().item() >= 3
