"""Where formulas round between their steps in 16-bit types: as PyTorch does.

Single elements may differ: what is computed in float32 in between differs in its last bits. A step that is
rounded, or not, where PyTorch does otherwise shows in one of ten.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import config

pytestmark = pytest.mark.oracle

FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "cube": lambda t, x: x ** 3,
    "inverse square": lambda t, x: x ** -2,
    "inverse": lambda t, x: x ** -1,
    "fourth power": lambda t, x: x ** 4,
    "gelu by tanh and cubes": lambda t, x: 0.5 * x * (1 + t.tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))),
    "mish": lambda t, x: t.nn.functional.mish(x),
    "softplus": lambda t, x: t.nn.functional.softplus(x),
    "softplus that is cut": lambda t, x: t.nn.functional.softplus(x, 2.0, 1.5),
    "logsigmoid": lambda t, x: t.nn.functional.logsigmoid(x),
    "hardswish": lambda t, x: t.nn.functional.hardswish(x),
    "glu": lambda t, x: t.nn.functional.glu(x),
    "addcmul": lambda t, x: t.addcmul(x.detach(), x, x.detach().flip(0), value=0.3),
    "log_softmax": lambda t, x: x.log_softmax(-1),
    "log_softmax of columns": lambda t, x: x.log_softmax(0),
    "logsumexp": lambda t, x: x.logsumexp(1),
    "logsumexp kept": lambda t, x: x.logsumexp(0, keepdim=True),
    "cross entropy": lambda t, x: t.nn.functional.cross_entropy(x, t.arange(len(x)), reduction="none"),
    "layer norm": lambda t, x: t.nn.functional.layer_norm(x, x.shape[1:]),
    "layer norm with weights": lambda t, x: t.nn.functional.layer_norm(
        x, x.shape[1:], t.linspace(0.5, 1.5, x.shape[1], dtype=x.dtype), x.detach()[0]),
    "group norm": lambda t, x: t.nn.functional.group_norm(
        x.view(5, 8, -1), 4, t.linspace(0.5, 1.5, 8, dtype=x.dtype), x.detach()[0, :8]),
}


def result_and_gradient(torch: Any, formula: Callable[[Any, Any], Any], dtype: str) -> list[Any]:
    torch.manual_seed(1)
    kind = getattr(torch, dtype)
    x = (torch.randn(40, 96) * 2).to(kind).requires_grad_()
    y = formula(torch, x)
    y.backward((torch.randn(y.shape) * 0.01).to(kind))
    return [y.detach().float().numpy(), x.grad.float().numpy()]


@pytest.mark.parametrize("tier", ["interpreter", "native"])
@pytest.mark.parametrize("name", FORMULAS)
def test_steps_are_rounded(name: str, tier: str, oracle: Any) -> None:
    with config.executor(tier):
        for dtype in ("bfloat16", "float16"):
            found = [result_and_gradient(torch, FORMULAS[name], dtype) for torch in (flambeau, oracle)]
            for ours, theirs in zip(*found):
                assert np.isclose(ours, theirs, rtol=0.02, atol=1e-4, equal_nan=True).all(), dtype
                assert (ours != theirs).mean() < 0.005, dtype
