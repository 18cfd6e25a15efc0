"""Running sums, products and extrema give what the interpreter gives."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor

pytest.importorskip("llvmlite")

from flambeau.executors.native.movement import spaces
from tests.executors.native.agreement import check, forget

SHAPES = [(1,), (33,), (17, 40), (3, 5, 7), (2, 9, 1, 600)]
DTYPES = [flambeau.float32, flambeau.float64, flambeau.bfloat16, flambeau.int64, flambeau.int32,
          flambeau.uint8, flambeau.bool]


def numbers(*shape: int, dtype: Any = flambeau.float32) -> Tensor:
    flambeau.manual_seed(0)
    x = flambeau.randn(shape)
    x = x if dtype.is_floating_point else (x * 3).abs().to(dtype)
    return x.to(dtype)


def swapped(x: Tensor) -> Tensor:
    return x.transpose(0, -1)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_scans(shape: tuple[int, ...]) -> None:
    for dtype in DTYPES:
        x = numbers(*shape, dtype=dtype)
        tolerance = 0.02 if dtype is flambeau.bfloat16 else 2e-6
        for d in range(x.ndim):
            for view in (lambda v: v, swapped):
                check(lambda v, d=d, view=view: view(v).cumsum(d), [x], "cumsum", tolerance)
                if not dtype.is_floating_point or x.shape[d] < 50:
                    check(lambda v, d=d, view=view: view(v).cumprod(d), [x], "cumprod", tolerance)
                if dtype is not flambeau.bool:
                    check(lambda v, d=d, view=view: [view(v).cummax(d), view(v).cummin(d)], [x], "cummax")


def test_gradients() -> None:
    x = numbers(9, 12)
    x[2, 3] = 0

    def gradients(v: Tensor) -> Any:
        leaf = v.detach().requires_grad_()
        return [flambeau.autograd.grad(y, leaf, v) for y in (leaf.cumprod(0), leaf.cumprod(1), leaf.cumsum(1),
                                                             leaf.cummax(0).values)]
    check(gradients, [x], "linear_recurrence", 1e-5)


def test_extremes_of_what_is_no_number() -> None:
    nan, inf = float("nan"), float("inf")
    for row in ([nan, 1.0, 2.0, nan, 3.0], [-inf, -inf, 0.0, nan, 5.0], [inf, inf, -0.0, 0.0, 7.0]):
        for x in (flambeau.tensor(row), flambeau.tensor(row * 9), flambeau.tensor([row, row[::-1]]).t()):
            check(lambda v: [v.cummax(0), v.cummin(0), v.cumsum(0)], [x], "cummin")


def test_tasks_do_not_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "TASK_BYTES", 64)
    x = numbers(40, 30, 700)
    for d in range(3):
        check(lambda v, d=d: [v.cumsum(d), v.cummax(d)], [x], "cumsum", 2e-6)
    forget()
