"""Other parameters and other state for an optimizer, for a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..tensor import Tensor
from .optimizer import Optimizer

_NAME = "swap_in_optimizer_params_and_state"


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Let an optimizer step other parameters, with a state and hyperparameters of theirs, inside a `with`.

    `swapin_parameters` come in the order of the optimizer's own; `swapin_optim_state` is a dict as
    ``state_dict()`` gives it, whose tensors are changed in place. Afterwards the optimizer is as before.
    Raises RuntimeError if it has no state yet, or if the two do not fit.

    >>> import flambeau as torch
    >>> w = torch.nn.Parameter(torch.ones(1))
    >>> optimizer = torch.optim.SGD([w], lr=0.5, momentum=0.9)
    >>> w.sum().backward(); optimizer.step()
    >>> other = {"w": torch.zeros(1)}; other["w"].grad = torch.ones(1)
    >>> with torch.optim.swap_in_optimizer_params_and_state(optimizer, other, optimizer.state_dict()):
    ...     optimizer.step()
    >>> other["w"], w
    (tensor([-0.9500]), Parameter containing:
    tensor([0.5000], requires_grad=True))
    """
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state.")
    groups, state = _swapped(optimizer.param_groups, list(swapin_parameters.values()), swapin_optim_state)
    before = optimizer.param_groups, optimizer.state
    optimizer.param_groups, optimizer.state = groups, state
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = before


def _swapped(
    groups: list[dict[str, Any]], parameters: list[Tensor], given: dict[str, Any]
) -> tuple[list[dict[str, Any]], defaultdict[Any, Any]]:
    """Groups of these parameters, and their state."""
    if len(parameters) < sum(len(group["params"]) for group in groups):
        raise RuntimeError(f"{_NAME} requires the explicit parameter state to match optimizer.param_groups "
                           "ordering.")
    states = given.get("state")
    if not isinstance(states, dict):
        raise RuntimeError(f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed "
                           f"parameter ids to per-param state dicts, got {type(states).__name__}.")
    given_groups = given.get("param_groups", ())
    if len(given_groups) != len(groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live "
                           "optimizer.")
    rest = iter(parameters)
    swapped = []
    found: defaultdict[Any, Any] = defaultdict(dict)
    numbers: set[Any] = set()
    for i, (own, other) in enumerate(zip(groups, given_groups, strict=True)):
        if len(other["params"]) != len(own["params"]):
            raise RuntimeError(f"swapin_optim_state param group {i} has a different number of params than "
                               "the live optimizer param group.")
        members = [next(rest) for _ in own["params"]]
        swapped.append({**own, **other, "params": members})
        for parameter, number in zip(members, other["params"], strict=True):
            numbers.add(number)
            if number in states:
                found[parameter] = dict(states[number])
    extra = [number for number in states if number not in numbers]
    if extra:
        raise RuntimeError(f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed "
                           f"parameter ids from param_groups[*]['params']; got extra keys {extra}.")
    return swapped, found
