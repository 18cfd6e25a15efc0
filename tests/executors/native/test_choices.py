"""where and masked_fill as members of fused kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import config, nn
from flambeau.nn import functional as F

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import results

DTYPES = [flambeau.float32, flambeau.float64, flambeau.bfloat16, flambeau.float16, flambeau.int64,
          flambeau.int32, flambeau.uint8, flambeau.bool]
CHOICES: list[Callable[..., Any]] = [
    lambda x, y, mask: flambeau.where(mask, x, y),
    lambda x, y, mask: flambeau.where(mask, x, 0),
    lambda x, y, mask: flambeau.where(mask, 1.5, x),
    lambda x, y, mask: flambeau.where(mask[:1], x, y),
    lambda x, y, mask: flambeau.where(mask, 1, 2),
    lambda x, y, mask: flambeau.where(mask.to(flambeau.uint8), x, y.float()),
    lambda x, y, mask: (flambeau.where(x > y, x, y) == x) & mask,
    lambda x, y, mask: x.masked_fill(mask, 1),
    lambda x, y, mask: x.masked_fill(mask[:, :1], y[0, 0]),
    lambda x, y, mask: (x.masked_fill(mask, 3) > 2).sum(1),
]


@pytest.mark.filterwarnings("ignore:where received a uint8 condition")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_choices(dtype: Any) -> None:
    flambeau.manual_seed(0)
    x, y = [(flambeau.randn(19, 17) * 5).to(dtype) for _ in range(2)]
    operands = [x, y, flambeau.rand(19, 17) > 0.5]
    for function in CHOICES:
        for (_, found), (_, want) in zip(results(function, operands, "native"),
                                         results(function, operands, "interpreter")):
            assert found.dtype == want.dtype
            np.testing.assert_array_equal(found, want)


def test_a_masked_softmax_is_one_kernel() -> None:
    scores, mask = flambeau.randn(8, 33), flambeau.rand(8, 33) > 0.7
    flambeau.synchronize()
    with config.executor("native"), config.kernel_times():
        found = (scores * 0.5).masked_fill(mask, float("-inf")).softmax(-1)
        flambeau.synchronize()
        text = flambeau.explain(last=1, kernels=True)
    assert "mul+masked_fill+softmax" in text
    with config.executor("interpreter"):
        want = (scores * 0.5).masked_fill(mask, float("-inf")).softmax(-1)
        assert flambeau.allclose(found, want, atol=1e-6)


@pytest.mark.parametrize("loss", [F.smooth_l1_loss, F.huber_loss], ids=["smooth_l1", "huber"])
def test_losses_that_choose_are_one_kernel(loss: Any) -> None:
    x = nn.Parameter(flambeau.randn(40, 6))
    y = flambeau.randn(40, 6)
    flambeau.synchronize()
    with config.executor("native"), config.kernel_times():
        value = loss(x, y)
        value.backward()
        flambeau.synchronize()
        text = flambeau.explain(last=1, kernels=True)
    assert value.item() > 0
    assert f"{loss.__name__}+" in text and "where" not in text
    wide = [v.double().detach().requires_grad_() for v in (x, y)]
    assert flambeau.autograd.gradcheck(lambda a, b: loss(a, b, reduction="none"), wide)
    assert flambeau.autograd.gradgradcheck(lambda a, b: loss(a, b, reduction="none"), wide)
