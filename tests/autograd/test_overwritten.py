"""What was overwritten, and results that were given other dimensions: history and gradients as PyTorch's."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.oracle

# y is made of the leaf x, z of the leaf w; statements, then what is summed.
PROGRAMS = {
    "copied": ("y.copy_(z)", "y"),
    "copied, all of it by a slice": ("y[0:2] = z", "y"),
    "copied from a leaf": ("y.copy_(w)", "y"),
    "filled": ("y.fill_(z.sum())", "y"),
    "a kept result, copied over": ("e = y.exp(); e.copy_(z)", "e"),
    "a kept result of two, copied over": ("e = y.hypot(z); e[:] = z", "e"),
    "a kept row, copied over": ("e = y.logsumexp(0); e[0:3] = z[0]", "e"),
    "a view by what keeps its result": ("y[0].sigmoid_()", "y"),
    "two views by what keeps its result": ("y[0].sigmoid_(); y[1].sigmoid_()", "y"),
    "a view, then another": ("y[0].tanh_(); y[1].mul_(2)", "y"),
    "a view, then once more": ("v = y.squeeze(); v.relu_(); v[0] = 1.0", "y"),
    "a view turned, unrecorded": ("v = y[0:1]\nwith torch.no_grad(): v.transpose_(0, 1)", "v * z.t()[:, :1]"),
    "a view, one more dimension, unrecorded": ("v = y[0]\nwith torch.no_grad(): v.unsqueeze_(0)", "v * z"),
    "one of several views turned, unrecorded": ("v = y.chunk(2)[0]\nwith torch.no_grad(): v.t_()", "v"),
    "joined, one more dimension, unrecorded":
        ("e = torch.cat([y, z])\nwith torch.no_grad(): e.unsqueeze_(0)", "e"),
    "a view of what was turned since": ("v = y.view(3, 2); y.t_()", "v * torch.tensor([1, 2])"),
    "a view of what was turned since, written": ("v = y.view(3, 2); y.unsqueeze_(1); v.mul_(2)", "y"),
    "expanded of what got a dimension since": ("v = y.expand(2, 2, 3); y.unsqueeze_(1)", "v * z"),
    "turned, unrecorded": ("e = y * 2\nwith torch.no_grad(): e.t_()", "e"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_pytorchs(torch: ModuleType, oracle: ModuleType, name: str) -> None:
    def run(framework: ModuleType) -> Any:
        x = (framework.arange(6.0, dtype=framework.float64) / 4 - 0.6).reshape(2, 3).requires_grad_()
        w = (framework.arange(6.0, dtype=framework.float64) + 1).reshape(2, 3).requires_grad_()
        names = {"torch": framework, "x": x, "w": w, "y": x * 1, "z": w * 2}
        statements, result = PROGRAMS[name]
        exec(statements, names)
        try:
            eval(result, names).sum().backward()
        except RuntimeError as error:
            return type(error)
        return [None if leaf.grad is None else [round(g, 9) for g in leaf.grad.flatten().tolist()]
                for leaf in (x, w)]

    assert run(torch) == run(oracle)


@pytest.mark.parametrize("statement", ["y.copy_(z)", "y.fill_(z.sum())", "y.fill_(2)", "y[0].copy_(z[0])"])
def test_history_of_what_was_overwritten(torch: ModuleType, oracle: ModuleType, statement: str) -> None:
    def run(framework: ModuleType) -> Any:
        x = framework.ones(2, 3, requires_grad=True)
        names = {"y": x * 1, "z": x + 2}
        exec(statement, names)
        fn = names["y"].grad_fn
        first = fn.next_functions[0][0]
        return fn.name().rsplit(":", 1)[-1], first.name(), len(fn.next_functions)

    assert run(torch) == run(oracle)
