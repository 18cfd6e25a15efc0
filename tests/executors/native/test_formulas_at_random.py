"""Random programs in random shapes: plans by formula are the template's, and values the interpreter's."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flambeau as torch
from flambeau import config
from flambeau.executors.native.programs import known
from flambeau.executors.native.programs.execution import joint
from flambeau.executors.native.programs.patterns.pattern import Pattern
from flambeau.executors.native.programs.patterns.sketches import Sketch
from flambeau.nn import functional as F
from tests.executors.native.planning import forget, said

WIDTH = 8
SHAPES = 24     # of each program; formulas come after four

Step = Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor]


def _indices(x: torch.Tensor, most: int) -> torch.Tensor:
    return torch.arange(len(x)) % most


def _weight(*shape: int) -> torch.Tensor:
    return torch.linspace(-0.5, 0.5, int(np.prod(shape))).reshape(shape)


# Of rows (n, 8), other rows (m, 8) and a small number: rows again, of any number.
STEPS: list[Step] = [
    lambda x, y, k: torch.relu(x * 2 + 0.5),
    lambda x, y, k: F.linear(x, _weight(WIDTH, WIDTH), _weight(WIDTH)),
    lambda x, y, k: torch.softmax(x, -1),
    lambda x, y, k: torch.softmax(x, 0),
    lambda x, y, k: x - x.mean(0, keepdim=True),
    lambda x, y, k: x - x.sum(-1, keepdim=True) * 0.1,
    lambda x, y, k: x[:max(k, 1)] if len(x) > 1 else x,
    lambda x, y, k: torch.cat([x, y]),
    lambda x, y, k: torch.cat([x[1:], y[:2], x[:1]]),
    lambda x, y, k: x[torch.arange(len(x)).flip(0)],
    lambda x, y, k: x[_indices(x, k + 1) == 0],
    lambda x, y, k: x.topk(k % 8 + 1, -1)[0].repeat(1, WIDTH)[:, :WIDTH],
    lambda x, y, k: x.topk(min(k + 1, len(x)), 0)[0],
    lambda x, y, k: x.sort(dim=0, stable=True)[0],
    lambda x, y, k: x.cumsum(0) * 0.1,
    lambda x, y, k: (x[:, None] - y[None]).abs().mean(1) if len(y) else x,
    lambda x, y, k: (x @ y.t()).softmax(-1) @ y if len(y) else x,
    lambda x, y, k: torch.zeros(len(x) + 3, WIDTH).index_add(0, _indices(x, len(x) + 3), x),
    lambda x, y, k: F.layer_norm(x, (WIDTH,)),
    lambda x, y, k: F.pad(x, (0, 0, k, k // 2)),
    lambda x, y, k: torch.where(x > 0, x, x.amax(0, keepdim=True)) if len(x) else x,
    lambda x, y, k: x.view(-1, 2, 4).transpose(1, 2).reshape(-1, WIDTH),
    lambda x, y, k: torch.stack([x, x * 2], 1).flatten(0, 1)[::2],
    lambda x, y, k: x.index_select(1, torch.arange(WIDTH) * max(k, 1) % WIDTH),
    lambda x, y, k: x.scatter(1, torch.full((len(x), 1), k % WIDTH), 1.0),
    lambda x, y, k: F.conv1d(x.t()[None], _weight(WIDTH, WIDTH, 3), padding=1)[0].t() if len(x) else x,
    lambda x, y, k: x.std(-1, keepdim=True) * x,
    lambda x, y, k: x.repeat_interleave(2, 0)[:len(x) + k],
    lambda x, y, k: x.narrow(0, min(k, len(x)), max(len(x) - 2 * k, 0)),
    lambda x, y, k: x.tril(k - 3),
    lambda x, y, k: x.roll(k, 0),
    lambda x, y, k: torch.bmm(x.view(-1, 2, 4), x.view(-1, 4, 2)).flatten(1).repeat(1, 2),
]


@pytest.fixture(autouse=True)
def checked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was planned by formula; each plan is compared with the template's."""
    plans, plan = Pattern._plans, Sketch.plan
    found: list[str] = []
    pattern: list[Pattern] = []

    def watched(self: Pattern, *arguments: Any) -> Any:
        pattern[:] = [self]
        return plans(self, *arguments)

    def compared(self: Sketch, stage: Any, planned: Any, signatures: Any, numbers: Any) -> Any:
        made = plan(self, stage, planned, signatures, numbers)
        if made is not None:
            members = [signatures[k] for k in planned.members]
            name = "+".join(member.operator.name for member in members)
            assert said(made) == said(pattern[0]._fit(stage).plan(members)), name
            found.append(name)
        return made

    monkeypatch.setattr(Pattern, "_plans", watched)
    monkeypatch.setattr(Sketch, "plan", compared)
    # Formulas of whole programs fill memory without plans, which could not be compared.
    monkeypatch.setattr(joint.Joints, "learn", lambda *arguments: None)
    monkeypatch.setattr(known, "_passing", lambda *arguments: None)
    forget()
    yield found
    forget()


def _results(steps: list[Step], n: int, m: int, k: int, seed: int) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    x, y = (torch.from_numpy(generator.standard_normal((rows, WIDTH), np.float32)).clone().requires_grad_()
            for rows in (n, m))
    torch.synchronize()
    z = x
    for step in steps:
        z = step(z, y, k)
    (z * z.detach().cos()).sum().backward()
    return [each.detach().numpy().copy() for each in (z, x.grad, y.grad) if each is not None]


@pytest.mark.parametrize("seed", range(16))
def test_as_templates_and_the_interpreter(seed: int, checked: list[str]) -> None:
    chosen = random.Random(seed)
    steps = chosen.sample(STEPS, chosen.randint(2, 6))
    most = chosen.choice([5, 9, 12, 40, 70, 300])
    for _ in range(SHAPES):
        shape = chosen.randint(1, most), chosen.randint(1, most), chosen.randint(0, 6)
        of = chosen.randrange(1 << 30)
        with config.executor("native"):
            found = _results(steps, *shape, of)
        with config.executor("interpreter"):
            expected = _results(steps, *shape, of)
        for one, other in zip(found, expected, strict=True):
            size = 1 + np.abs(other).max(initial=0)
            np.testing.assert_allclose(one, other, rtol=3e-4, atol=3e-4 * size, err_msg=str(shape))
    assert checked, "nothing was planned by formula"
