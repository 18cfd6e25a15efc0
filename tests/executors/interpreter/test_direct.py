"""Operators that are one function of NumPy: found as such, and right for operands of any layout and type."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, config
from flambeau.executors.interpreter import direct
from flambeau.operators.pointwise import arithmetic, exponential

LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x,
    "part": lambda x: x.flatten()[6:].view(4, 6)[1:],
    "transposed": lambda x: x.t().contiguous().t(),
    "columns": lambda x: x[:, ::2],
    "row": lambda x: x[1],
    "column": lambda x: x[:, :1],
    "repeated": lambda x: x[:1].expand(5, 6),
    "one": lambda x: x[2, 3],
    "empty": lambda x: x[:0],
    "other bits": lambda x: x.view(flambeau.int32).view(x.dtype) if x.dtype == flambeau.float32 else x,
}
TYPES = [flambeau.float32, flambeau.float64, flambeau.int64, flambeau.bool, flambeau.bfloat16]


def _values(x: Any) -> Any:
    return x.to(flambeau.float64).numpy() if isinstance(x, Tensor) else x


def _matrix(dtype: Any) -> Tensor:
    return (flambeau.arange(30).reshape(5, 6) % 7).to(dtype)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, dtype: Any) -> None:
    with config.executor("interpreter"):
        x = LAYOUTS[layout](_matrix(dtype))
        y = _matrix(dtype)[:, :x.shape[-1]] if x.ndim else _matrix(dtype)
        y = y[:x.shape[0]] if x.ndim == 2 else y
        plain = _values(x), _values(y)
        wanted = [plain[0] + plain[1], plain[1] * plain[0], plain[0] == plain[1], plain[0] < plain[1]]
        found = [x + y, y * x, x.eq(y), x < y]
        for a, b in zip(found, wanted):
            limited = b > 0 if dtype == flambeau.bool else b
            assert a.shape == b.shape
            assert (_values(a) == limited).all()


@pytest.mark.parametrize("combine", [operator.add, operator.sub, operator.mul])
@pytest.mark.parametrize("number", [2, -1.5])
def test_numbers(combine: Callable[[Any, Any], Any], number: float) -> None:
    with config.executor("interpreter"):
        x = _matrix(flambeau.float32)[:, 1::2]
        plain = x.numpy()
        assert (combine(x, number).numpy() == combine(plain, np.float32(number))).all()
        assert (combine(number, x).numpy() == combine(np.float32(number), plain)).all()


def test_results_are_nobody_elses() -> None:
    with config.executor("interpreter"):
        x = flambeau.ones(4)
        flambeau.synchronize()
        y = x + 0
        y += 1
        assert x.tolist() == [1, 1, 1, 1] and y.tolist() == [2, 2, 2, 2]


def test_what_is_one_function() -> None:
    def found(op: Any, count: int) -> Any:
        return direct._function_of(op.kernel, count)

    assert found(arithmetic.ADD, 2) == (np.add, (0, 1))
    assert found(arithmetic.RSUB, 2) == (np.subtract, (1, 0))
    assert found(arithmetic.ADD_SCALED, 3) is None
    assert found(arithmetic.ADD, 1) is None
    assert found(exponential.SIGMOID_BACKWARD, 2) is None


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64, flambeau.int64], ids=str)
def test_one_element_is_compared_where_it_lies(dtype: Any, compare: Callable[[Any, Any], Any]) -> None:
    x = flambeau.tensor([1, 3, 2], dtype=dtype)
    number = 2 if dtype is flambeau.int64 else 2.0
    with config.executor("interpreter"):
        found = [bool(compare(one, number)) for part in (x, x[1:], x.flip(0)) for one in (part[0], part[-1:])]
    assert found == [bool(compare(n, number)) for n in (1, 2, 3, 2, 2, 1)]
