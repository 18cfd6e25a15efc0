"""Convolutions, pooling, alignments and draws of new shapes are planned by formula, as from scratch."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau import config
from flambeau.executors.native.programs.execution.joint import Joints
from flambeau.executors.native.programs.patterns.sketches import Sketch
from flambeau.nn import functional as F
from tests.executors.native.planning import forget, planned


def _pictures(x: Any, channels: int = 20, kernel: int = 3, **options: Any) -> Any:
    y = F.conv2d(x, torch.ones(channels, 3, kernel, kernel, requires_grad=True),
                 torch.ones(channels, requires_grad=True), **options)
    return F.conv2d(y.relu(), torch.ones(24, channels, 3, 3, requires_grad=True), padding=1)


def _few(x: Any) -> Any:
    y = F.conv2d(x, torch.ones(2, 3, 3, 3, requires_grad=True), padding=1)
    return F.conv_transpose2d(y, torch.ones(2, 4, 4, 4, requires_grad=True), stride=2)


def _points(x: Any) -> Any:
    y = F.conv2d(x, torch.ones(32, 3, 1, 1, requires_grad=True))
    return F.conv2d(y, torch.ones(16, 32, 1, 1, requires_grad=True), stride=2)


def _pooled(x: Any) -> Any:
    return F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 1)


def _bordered(x: Any) -> Any:
    return F.pad(x, (3, 2, 1, 4), mode="reflect"), F.pad(x, (0, 5, 0, 0), mode="replicate")


def _resized(x: Any) -> Any:
    return F.interpolate(x, scale_factor=2, mode="bilinear"), F.adaptive_avg_pool2d(x, 3)


def _signals(x: Any) -> Any:
    y = F.conv1d(x.mean(2), torch.ones(20, 3, 5, requires_grad=True), stride=2)
    return F.conv1d(y.relu(), torch.ones(16, 20, 3, requires_grad=True), padding=2, dilation=2)


def _aligned(x: Any) -> Any:
    steps, batch = x.shape[3], x.shape[2]
    targets = torch.ones(batch, 3, dtype=torch.int64)
    return F.ctc_loss(x[0].permute(2, 1, 0).log_softmax(-1), targets, torch.full((batch,), steps),
                      torch.full((batch,), 3), zero_infinity=True)


def _drawn(x: Any) -> Any:
    return x + torch.randn(x.shape), torch.randn(x.shape[3] * 3 + 7) * x.sum()


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "pictures": _pictures, "strided": lambda x: _pictures(x, stride=2, padding=1),
    "large": lambda x: _pictures(x, 8, 5, padding=2), "few": _few, "points": _points, "pooled": _pooled,
    "bordered": _bordered, "resized": _resized,
    "signals": _signals, "aligned": _aligned, "drawn": _drawn}


def _shapes(count: int) -> list[tuple[int, ...]]:
    chosen = random.Random(3)
    return [(2, 3, chosen.randrange(8, 70), chosen.randrange(8, 90)) for _ in range(count)]


@pytest.fixture
def by_formula(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each plan that was asked for by formula, whether there was one."""
    found: list[bool] = []
    plan = Sketch.plan

    def counted(*arguments: Any) -> Any:
        made = plan(*arguments)
        found.append(made is not None)
        return made
    monkeypatch.setattr(Sketch, "plan", counted)
    monkeypatch.setattr(Joints, "program", lambda *arguments: None)     # which would ask for no plans
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_plans_are_those_of_templates(name: str, by_formula: list[bool]) -> None:
    program, shapes = PROGRAMS[name], _shapes(24)
    with config.executor("native"):
        wanted = []
        for shape in shapes:
            forget()
            wanted.append(planned(program, shape))
        forget()
        assert not by_formula
        for shape, plans in zip(shapes, wanted):
            found = planned(program, shape)
            for stage in found.keys() & plans.keys():
                assert found[stage] == plans[stage], (shape, stage)
    late = by_formula[len(by_formula) // 2:]
    assert sum(late) > 0.95 * len(late) > 30


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "drawn"])
def test_programs_are_made_by_one_formula(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And their results are the interpreter's."""
    joint: list[bool] = []
    program_of = Joints.program

    def counted(*arguments: Any) -> Any:
        made = program_of(*arguments)
        joint.append(made is not None)
        return made
    monkeypatch.setattr(Joints, "program", counted)
    forget()
    for shape in _shapes(24):
        x = torch.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape)
        found = []
        for tier in ("native", "interpreter"):
            with config.executor(tier):
                own = x.detach().clone().requires_grad_()
                results = PROGRAMS[name](own)
                results = results if isinstance(results, tuple) else (results,)
                sum([y.sum() for y in results]).backward()
                found.append([y.detach().numpy() for y in (*results, own.grad)])
        for a, b in zip(*found):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * max(1.0, float(np.abs(b).max())))
    assert sum(joint) > len(joint) / 4
