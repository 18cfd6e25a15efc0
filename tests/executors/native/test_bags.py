"""Sums and means of bags of rows give what the interpreter gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor

pytest.importorskip("llvmlite")

from flambeau.nn.functional import embedding_bag
from tests.executors.native.agreement import check, check_other_processor, check_threads, compiled


def table(rows: int, width: int, dtype: Any = flambeau.float32) -> Tensor:
    """Small whole numbers, whose sums are exact in any order."""
    return (flambeau.arange(rows * width) * 7 % 61 - 30).reshape(rows, width).to(dtype)


def bags(mode: str) -> Callable[..., Tensor]:
    return lambda weight, indices, offsets=None: embedding_bag(indices, weight, offsets, mode=mode)


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("width", [1, 7, 16, 64, 65, 200])
def test_bags_of_any_length(mode: str, width: int) -> None:
    offsets = flambeau.tensor([0, 3, 3, 4, 10])
    for dtype, kind in ((flambeau.float32, flambeau.int64), (flambeau.float64, flambeau.int32),
                        (flambeau.bfloat16, flambeau.int64)):
        weight = table(9, width, dtype)
        indices = (flambeau.arange(24) * 5 % 9).to(kind)
        check(bags(mode), (weight, indices, offsets), "embedding_bag")
        check(bags(mode), (weight[::2], indices.reshape(6, 4) % 5), "embedding_bag")


def test_other_shapes_compile_nothing() -> None:
    check(bags("sum"), (table(9, 20), flambeau.arange(8).reshape(2, 4)), "embedding_bag")
    before = compiled()
    check(bags("sum"), (table(30, 33), flambeau.arange(12).reshape(3, 4)), "embedding_bag")
    assert compiled() == before


def test_an_index_without_a_row_is_an_error() -> None:
    words = "Index 1 of input takes value 9 which is not in the valid range"
    with flambeau.config.executor("native"), pytest.raises(RuntimeError, match=words):
        embedding_bag(flambeau.tensor([[0, 9]]), table(9, 8))
    with flambeau.config.executor("native"), pytest.raises(RuntimeError, match=words):
        embedding_bag(flambeau.tensor([[0, 8]]) + flambeau.tensor([[0, 1]]), table(9, 8)).tolist()


def test_any_number_of_threads() -> None:
    check_threads(bags("mean"), (table(50, 130), flambeau.arange(400).reshape(20, 20) % 50))


def test_another_processor() -> None:
    check_other_processor(__file__, "length")
