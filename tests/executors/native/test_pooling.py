"""Pooling and its gradients give what the interpreter gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import TEXTS, check, check_other_processor, forget, results

F = flambeau.nn.functional
MAXIMA = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
MEANS = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
# input, kernel, stride, padding
CASES: list[tuple[Any, ...]] = [
    ((2, 3, 8, 8), 2, 2, 0), ((2, 3, 33, 35), 3, 2, 1), ((1, 2, 17, 70), 3, 1, 1), ((3, 9, 7), 2, 3, 0),
    ((2, 40, 1, 1), 1, 1, 0), ((2, 5, 6, 40), (2, 3), (3, 2), (1, 0)), ((2, 3, 50), 3, 2, 1),
    ((2, 3, 5, 6, 7), 2, 2, 1), ((1, 2, 9, 64), (1, 2), (1, 2), 0),
]


def operand(shape: Any, dtype: Any = flambeau.float32) -> Tensor:
    flambeau.manual_seed(sum(shape))
    return flambeau.randn(*shape).to(dtype)


def dimensions(case: Any) -> int:
    return 1 if case[0] == (2, 3, 50) else min(len(case[0]) - 1, 3) if len(case[0]) != 4 else 2


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a function's first result, weighed by numbers that depend on its shape."""
    def run(x: Tensor) -> Any:
        leaf = x.detach().requires_grad_()
        y = function(leaf)
        y = y[0] if isinstance(y, tuple) else y
        weight = (flambeau.arange(y.numel()) % 7 + 1.0).reshape(y.shape).to(y.dtype)
        return flambeau.autograd.grad(y, leaf, weight)
    return run


def second(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of the gradient by what weighs it."""
    def run(x: Tensor) -> Any:
        leaf = x.detach().requires_grad_()
        y = function(leaf)[0]
        weight = flambeau.ones_like(y, requires_grad=True)
        g, = flambeau.autograd.grad(y, leaf, weight, create_graph=True)
        return flambeau.autograd.grad((g * x).sum(), weight)
    return run


def check_case(case: Any, x: Tensor, tolerance: float = 1e-6) -> None:
    dims, window = dimensions(case), case[1:]

    def maxima(x: Tensor) -> Any:
        return MAXIMA[dims](x, *window, return_indices=True)

    def hanging(x: Tensor) -> Any:
        return MAXIMA[dims](x, *window, ceil_mode=True, return_indices=True)
    check(maxima, [x], "max_pool")
    check(hanging, [x], "max_pool")
    for ceil_mode in (False, True):
        check(lambda x, c=ceil_mode: MAXIMA[dims](x, *window, ceil_mode=c), [x], "max_pool_values")
    check(gradient(maxima), [x], "pool_scatter", tolerance)
    check(second(maxima), [x], "pool_gather", tolerance)
    for ceil_mode in (False, True):
        for include in (False, True):
            def means(x: Tensor, ceil_mode: bool = ceil_mode, include: bool = include) -> Any:
                return MEANS[dims](x, *window, ceil_mode, include)
            check(means, [x], "avg_pool", tolerance)
            check(gradient(means), [x], "avg_pool_backward", tolerance)
    if dims > 1:
        check(lambda x: MEANS[dims](x, *window, False, True, 3), [x], "avg_pool", tolerance)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shapes(case: Any) -> None:
    check_case(case, operand(case[0]))


@pytest.mark.parametrize(("dtype", "tolerance"), [(flambeau.float64, 1e-14), (flambeau.bfloat16, 1e-2),
                                                  (flambeau.float16, 2e-3)], ids=str)
@pytest.mark.parametrize("case", [CASES[0], CASES[1], CASES[5]], ids=str)
def test_element_types(case: Any, dtype: Any, tolerance: float) -> None:
    check_case(case, operand(case[0], dtype), tolerance)


def test_views() -> None:
    case = CASES[1]
    x = operand(case[0])
    check_case(case, x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2))
    check_case(case, x.mT.contiguous().mT)
    check_case(case, x[:, :1].expand(x.shape))
    check_case(CASES[3], operand((3, 9, 7)))


def test_dilation() -> None:
    x = operand((2, 3, 20, 40))
    for stride in (1, 2, 3):
        check(lambda x, s=stride: F.max_pool2d(x, 3, s, 2, 2, return_indices=True), [x], "max_pool")


def test_the_last_nan_of_a_window_wins() -> None:
    x = operand((1, 2, 8, 8))
    x[0, 0, 3, 2] = x[0, 1, 0, 0] = x[0, 1, 0, 1] = float("nan")
    x[0, 1, 4:, 4:] = float("-inf")
    for case in ((2, 2), (3, 2, 1), (3, 1, 1)):
        check(lambda x, c=case: F.max_pool2d(x, *c, return_indices=True), [x], "max_pool")
    check(lambda x: F.adaptive_max_pool2d(x, (3, 2), return_indices=True), [x], "adaptive_max_pool")


@pytest.mark.parametrize("sizes", [(1, 1), (3, 2), (7, 5), (9, 9)], ids=str)
def test_adaptive_maxima(sizes: Any) -> None:
    def maxima(x: Tensor) -> Any:
        return F.adaptive_max_pool2d(x, sizes, return_indices=True)
    for x in (operand((2, 3, 9, 7)), operand((3, 9, 7)), operand((2, 3, 7, 9)).mT):
        check(maxima, [x], "adaptive_max_pool")
        check(gradient(maxima), [x], "pool_scatter")


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.bfloat16], ids=str)
@pytest.mark.parametrize("window", [(7,), (32,), (9, 5), ((3, 20), (2, 20)), (20, 20, 5), (6, 5, 3)], ids=str)
def test_wide_windows(window: Any, dtype: Any) -> None:
    """Their rows are read as vectors."""
    tolerance = 1e-2 if dtype is flambeau.bfloat16 else 1e-6
    for x in (operand((2, 3, 33, 40), dtype), operand((2, 3, 70, 45), dtype)):
        check(lambda x: F.avg_pool2d(x, *window), [x], "avg_pool", tolerance)
        check(lambda x: F.avg_pool2d(x, *window, ceil_mode=True, count_include_pad=False), [x], "avg_pool",
              tolerance)
    for sizes in ((1, 1), (3, 2), (33, 7)):
        for x in (operand((2, 3, 33, 40), dtype), operand((2, 3, 40, 33), dtype).mT):
            x[0, 0, 5, 30] = x[0, 1, 3, 0] = x[0, 1, 0, 1] = float("nan")
            x[1, 1], x[1, 2, 4:] = float("-inf"), 3.0
            check(lambda x: F.adaptive_max_pool2d(x, sizes, return_indices=True), [x],  # noqa: B023
                  "adaptive_max_pool")


def test_another_shape_compiles_nothing() -> None:
    def run(case: Any) -> set[str]:
        window = case[1:]
        for pool in (MAXIMA[2], MEANS[2]):
            results(gradient(lambda x: pool(x, *window)), [operand(case[0])], "native")  # noqa: B023
        return {text for text in TEXTS if "pool" in text}
    known = run(((1, 2, 8, 8), 2, 2, 0))
    for case in (CASES[0], CASES[1], CASES[5]):
        assert run(case) == known


def test_the_same_bits_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    from flambeau.config import settings
    x = operand((4, 30, 33, 32))
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(settings, "threads", count)
        forget()
        found.append([results(gradient(lambda x: pool(x, 3, 2, 1)), [x], "native")[0][1]  # noqa: B023
                      for pool in (MAXIMA[2], MEANS[2])])
    for other in found[1:]:
        for a, b in zip(found[0], other):
            np.testing.assert_array_equal(a, b)


def test_other_processors() -> None:
    check_other_processor(__file__, "test_shapes or test_the_last_nan")
