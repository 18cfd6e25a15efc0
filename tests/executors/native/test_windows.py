"""Patches as columns and back, and cross products, are those of the interpreter."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau.nn import functional

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import check, check_other_processor, check_threads

# The space, then what unfold takes: kernel, dilation, padding and stride.
WINDOWS: list[Any] = [
    ((6, 7), 3, 1, 0, 1), ((6, 7), 3, 1, 1, 1), ((5, 40), (3, 5), 1, (1, 2), 1), ((9, 8), 2, 1, 0, 2),
    ((9, 8), 3, 2, 2, 2), ((7, 19), (1, 4), (1, 3), (0, 6), (3, 2)), ((1, 1), 1, 1, 0, 1),
    ((2, 3), 5, 1, 4, 3), ((3, 3), 2, 1, 3, 1)]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows(window: Any) -> None:
    space, *how = window
    for dtype in (flambeau.float32, flambeau.float64, flambeau.bfloat16, flambeau.float16,
                  flambeau.complex64):
        x = flambeau.randn(2, 3, *space).to(dtype)
        check(lambda x: functional.unfold(x, *how), [x], "im2col")
        if dtype is flambeau.float32:
            check(lambda x: functional.unfold(x.transpose(0, 1)[1:], *how), [x], "im2col")
            last = x.to(memory_format=flambeau.channels_last)
            check(lambda x: functional.unfold(x, *how), [last], "im2col")
        if dtype is flambeau.complex64:
            continue
        columns = flambeau.randn(functional.unfold(x, *how).shape).to(dtype)
        check(lambda c: functional.fold(c, space, *how), [columns], "col2im")
        turned = columns.transpose(1, 2).contiguous()
        check(lambda c: functional.fold(c.transpose(1, 2), space, *how), [turned], "col2im")


def test_any_number_of_threads() -> None:
    x, columns = flambeau.randn(5, 4, 40, 40), flambeau.randn(5, 36, 1600)
    check_threads(lambda x: functional.unfold(x, 3, padding=1), [x])
    check_threads(lambda c: functional.fold(c, (40, 40), 3, padding=1), [columns])
    check_threads(lambda x: flambeau.linalg.cross(x, x + 1), [flambeau.randn(50_000, 3)])


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64], ids=str)
@pytest.mark.parametrize("shape", [(3,), (40, 3), (3, 40), (5, 3, 7, 2), (2, 3, 3)], ids=str)
def test_cross_products(shape: tuple[int, ...], dtype: flambeau.dtype) -> None:
    x, y = flambeau.randn(*shape, dtype=dtype), flambeau.randn(*shape, dtype=dtype)
    for dim in [d for d, n in enumerate(shape) if n == 3]:
        check(lambda x, y, d=dim: flambeau.linalg.cross(x, y, dim=d), [x, y], "linalg_cross")
        one = y.movedim(dim, -1).reshape(-1, 3)[0].reshape([3 if d == dim else 1 for d in range(len(shape))])
        check(lambda x, y, d=dim: flambeau.linalg.cross(x, y, dim=d), [x, one], "linalg_cross")
        check(lambda x, y, d=dim: flambeau.linalg.cross(y.transpose(0, -1), x.transpose(0, -1),
                                                        dim=len(shape) - 1 - d if d in (0, len(shape) - 1)
                                                        else d), [x, y], "linalg_cross")


def test_narrow_vectors() -> None:
    check_other_processor(__file__, "test_windows or test_cross_products")
