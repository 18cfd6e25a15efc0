"""What a program is planned as."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from operator import index
from typing import Any

import flambeau as torch
from flambeau.executors.native import templates
from flambeau.executors.native.fusion import binding, following
from flambeau.executors.native.plan import Plan
from flambeau.executors.native.programs import known
from flambeau.executors.native.programs.patterns import formulas


def forget() -> None:
    """No programs, no plans, and no formulas."""
    known.clear()
    for cache in (binding._plans, following._plans, templates._plans, formulas._of_stages):
        cache.clear()


def said(plan: Plan | None) -> Any:
    """All of a plan that a run depends on."""
    if plan is None:
        return None
    calls = [(index(call.function), call.tasks, call.grain, call.scratch, list(call.values),
              call.words.shifts, call.words.rooms, call.words.places,
              [(at, index(function)) for at, function in call.words.functions])
             for call in plan.calls]
    return calls, plan.workspace, plan.in_place, plan.nanoseconds, plan.flops, plan.traffic


def planned(program: Callable[[Any], Any], shape: tuple[int, ...]) -> dict[tuple[int, ...], Any]:
    """The plans of a program and its gradient, by the members of their stages."""
    x = torch.arange(float(prod(shape))).reshape(shape).div(100).requires_grad_()
    torch.synchronize()
    results = program(x)
    sum([y.sum() for y in results] if isinstance(results, tuple) else [results.sum()]).backward()
    torch.synchronize()
    assert known._latest is not None
    found = known._latest.program
    assert found is not None
    plans = [plan for part in found.parts if hasattr(part, "plans") for plan in part.plans]
    stages = [tuple(members) for members, plan in zip(found.pattern.stages, found.pattern.first)
              if plan is not None]
    assert len(plans) == len(stages)
    return dict(zip(stages, map(said, plans)))
