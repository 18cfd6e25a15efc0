"""Pooling of images that are channels last gives what the interpreter gives, and stays channels last."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import check
from tests.executors.native.test_pooling import MAXIMA, MEANS, gradient, operand

F = flambeau.nn.functional
FORMATS = {2: flambeau.channels_last, 3: flambeau.channels_last_3d}
ADAPTIVE = {2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
# Fewer channels than a vector has, a group of vectors and more, and exactly as many.
SHAPES = [(2, 3, 9, 7), (1, 70, 12, 11), (2, 64, 8, 8), (2, 5, 4, 6, 7)]
# kernel, stride, padding
WINDOWS: list[tuple[Any, ...]] = [(2, 2, 0), (3, 2, 1), (2, 1, 1)]


def last(shape: Any, dtype: Any = flambeau.float32) -> Tensor:
    return operand(shape, dtype).contiguous(memory_format=FORMATS[len(shape) - 2])


@pytest.mark.parametrize(("dtype", "tolerance"), [(flambeau.float32, 1e-6), (flambeau.float64, 1e-14),
                                                  (flambeau.bfloat16, 1e-2)], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_windows(shape: Any, dtype: Any, tolerance: float) -> None:
    x, dims = last(shape, dtype), len(shape) - 2
    has_means = dims < 3 or dtype is not flambeau.bfloat16      # PyTorch has none in 16 bits
    for window in WINDOWS:
        def maxima(x: Tensor, window: Any = window) -> Any:
            return MAXIMA[dims](x, *window, ceil_mode=True, return_indices=True)

        def means(x: Tensor, window: Any = window) -> Any:
            return MEANS[dims](x, *window, False, False)
        check(maxima, [x], "max_pool")
        check(gradient(maxima), [x], "pool_scatter", tolerance)
        if has_means:
            check(means, [x], "avg_pool", tolerance)
        assert maxima(x)[0].is_contiguous(memory_format=FORMATS[dims])
    check(lambda x: MAXIMA[dims](x, 2, 1, 1, 2, return_indices=True), [x], "max_pool")
    if has_means:
        check(lambda x: MEANS[dims](x, 3, 2, 1, True, True, 5), [x], "avg_pool", tolerance)


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.bfloat16], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_adaptive(shape: Any, dtype: Any) -> None:
    x, dims = last(shape, dtype), len(shape) - 2
    for size in (1, 3):
        def maxima(x: Tensor, size: int = size) -> Any:
            return ADAPTIVE[dims](x, size, return_indices=True)
        check(maxima, [x], "adaptive_max_pool")
        check(gradient(maxima), [x], "pool_scatter", 1e-2)


def test_what_is_no_number() -> None:
    x = last((1, 20, 8, 8))
    x[0, :, 3, 2] = x[0, 1, 0, 0] = x[0, 1, 0, 1] = float("nan")
    x[0, 2:, 4:, 4:] = float("-inf")
    for window in WINDOWS:
        check(lambda x, w=window: F.max_pool2d(x, *w, return_indices=True), [x], "max_pool")
    check(lambda x: F.adaptive_max_pool2d(x, (3, 2), return_indices=True), [x], "adaptive_max_pool")
