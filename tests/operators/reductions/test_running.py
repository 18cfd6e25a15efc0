"""Running reductions do not drift: each step is kept in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau as torch

OPERATORS: dict[str, tuple[Any, Any]] = {
    "cumsum": (torch.cumsum, np.cumsum),
    "cumprod": (torch.cumprod, np.cumprod),
    "logcumsumexp": (torch.logcumsumexp, np.logaddexp.accumulate),
}
EPS = float(np.finfo(np.float32).eps)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("executor", ["interpreter", "native"])
@pytest.mark.parametrize("shape, dim", [((3, 5000), 1), ((5000, 3), 0), ((2, 3000, 2), 1)])
def test_is_rounded_once(name: str, executor: Any, shape: tuple[int, ...], dim: int) -> None:
    if executor == "native":
        pytest.importorskip("llvmlite")
    ours, exact = OPERATORS[name]
    array = np.random.default_rng(0).standard_normal(shape, np.float32)
    if name == "cumprod":   # of factors near one
        array = 1 + array / 64
    with torch.config.executor(executor):
        found = ours(torch.from_numpy(array), dim).numpy()
    expected = exact(array.astype(np.float64), axis=dim)
    size = np.abs(expected) if name == "cumprod" else np.maximum(np.abs(expected), 1)
    assert (np.abs(found - expected) <= 2 * EPS * size).all()


def test_gradients_of_long_ones() -> None:
    array = np.random.default_rng(0).standard_normal(20_000)
    gradients = []
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor(array, dtype=dtype, requires_grad=True)
        torch.logcumsumexp(x, 0).sum().backward()
        assert x.grad is not None
        gradients.append(x.grad.double().numpy())
    assert np.abs(gradients[0] / gradients[1] - 1).max() < 50 * EPS
