"""The loss of unaligned sequences and its gradient are what the interpreter gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.nn import functional as F

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import check, is_native, results


def run(targets: Any, inputs: Any, lengths: Any, **options: Any) -> Any:
    def both(x: Tensor) -> Any:
        leaf = x.detach().requires_grad_()
        loss = F.ctc_loss(leaf.log_softmax(2), targets, inputs, lengths, reduction="none", **options)
        weights = flambeau.arange(1, 1 + len(loss)).to(x.dtype)
        return loss, flambeau.autograd.grad(loss, leaf, weights)
    return both


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64], ids=str)
@pytest.mark.parametrize(("steps", "batch", "classes", "longest"), [
    (1, 1, 2, 1), (7, 3, 5, 2), (20, 4, 8, 6), (50, 2, 30, 20), (33, 5, 3, 9)])
@pytest.mark.parametrize("zero", [False, True])
def test_agreement(steps: int, batch: int, classes: int, longest: int, zero: bool, dtype: Any) -> None:
    flambeau.manual_seed(0)
    x = flambeau.randn(steps, batch, classes, dtype=dtype) * 3
    lengths = flambeau.randint(0, longest + 1, (batch,))
    lengths[0] = longest
    inputs = flambeau.randint(0, steps + 1, (batch,))
    inputs[-1] = steps
    padded = flambeau.randint(0, classes, (batch, longest))      # repeats, and blanks among them
    joined = flambeau.cat([row[:n] for row, n in zip(padded, lengths.tolist())])
    tolerance = 1e-4 if dtype is flambeau.float32 else 1e-10
    for blank in (0, classes - 1):
        for targets in (padded, joined):
            check(run(targets, inputs, lengths, zero_infinity=zero, blank=blank), [x], "ctc_loss", tolerance)
            assert is_native("ctc_loss_backward")
    view = x.transpose(0, 1).contiguous().transpose(0, 1)
    check(run(padded.T.contiguous().T, inputs, lengths), [view], "ctc_loss", tolerance)


def test_labels_out_of_range_are_told() -> None:
    x = flambeau.randn(5, 1, 3).log_softmax(2)
    with pytest.raises(IndexError):
        results(lambda v: F.ctc_loss(v, flambeau.tensor([[1, 7]]), (5,), (2,)), [x], "native")


def test_numbers_known_beforehand() -> None:
    """Two steps, one label: blank-label, label-blank and label-label."""
    p = np.array([[0.5, 0.5], [0.25, 0.75]])
    x = flambeau.tensor(np.log(p))[:, None]
    with flambeau.config.executor("native"):
        loss = F.ctc_loss(x, flambeau.tensor([[1]]), (2,), (1,))
    assert abs(loss.item() + np.log(0.5 * 0.75 + 0.5 * 0.25 + 0.5 * 0.75)) < 1e-12
