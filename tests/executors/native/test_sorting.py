"""sort, topk, kthvalue, mode and median give what the interpreter gives."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor

pytest.importorskip("llvmlite")

from tests.executors.native.agreement import check
from tests.operators.reductions import test_ties as ties

SHAPES = [(1,), (9,), (33, 3), (21, 17), (4, 700), (3, 40, 5), (2, 1, 5000)]
DTYPES = [flambeau.float32, flambeau.float64, flambeau.bfloat16, flambeau.int64, flambeau.int32,
          flambeau.int8, flambeau.uint8, flambeau.bool]


def numbers(*shape: int, dtype: Any = flambeau.float32) -> Tensor:
    flambeau.manual_seed(0)
    x = flambeau.randn(shape) * 50
    return x.to(dtype) if dtype.is_floating_point or dtype.is_signed else x.abs().to(dtype)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sort(shape: tuple[int, ...]) -> None:
    for dtype in DTYPES:
        x = numbers(*shape, dtype=dtype)
        for d in range(x.ndim):
            for descending in (False, True):
                check(lambda v, d=d, down=descending: v.sort(d, down), [x], "sort")
        check(lambda v: v.transpose(0, -1).sort(0), [x], "sort")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_topk(shape: tuple[int, ...]) -> None:
    flambeau.manual_seed(1)
    count = flambeau.Size(shape).numel()
    for dtype in (flambeau.float32, flambeau.float64, flambeau.int64):
        x = flambeau.randperm(count).to(dtype).reshape(shape) - count // 2
        for d in range(x.ndim):
            for k in {1, min(3, shape[d]), min(40, shape[d]), shape[d]}:
                for largest in (False, True):
                    check(lambda v, d=d, k=k, up=largest: v.topk(k, d, up), [x], "topk")


def test_what_has_no_place_in_the_order() -> None:
    nan, inf = float("nan"), float("inf")
    row = [0.0, nan, -0.0, inf, -inf, 1.0, nan, -1.0, 0.0, -0.0]
    for x in (flambeau.tensor(row), flambeau.tensor(row * 9), flambeau.tensor(row, dtype=flambeau.float64)):
        for descending in (False, True):
            check(lambda v, down=descending: v.sort(0, down), [x], "sort")
        check(lambda v: v.mode(), [x], "mode")
        check(lambda v: v[1:2].mode(), [x], "mode")
        for part in (x, x[1:2], x[:1], x[1:5], x[2:6]):
            check(lambda v: (v.median(0), v.nanmedian(0, True)), [part], "median")
    x = flambeau.tensor([[nan, 1.0, 2.0, -nan, 3.0] + [0.5] * 60])
    check(lambda v: v.topk(5).values, [x], "topk")


NATIVE = [name for name in ties.CALLS if name.split()[0] in (
    "sort", "argsort", "topk", "kthvalue", "mode", "median", "nanmedian")]


@pytest.mark.parametrize("shape", ties.SHAPES, ids=str)
@pytest.mark.parametrize("name", NATIVE)
def test_equal_elements(name: str, shape: tuple[int, ...]) -> None:
    for dtype in ties.DTYPES:
        check(ties.CALLS[name], [ties.numbers(flambeau, shape, dtype, 5)], name.split()[0].replace("arg", ""))
