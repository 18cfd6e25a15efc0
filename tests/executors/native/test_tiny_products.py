"""Products of many tiny matrices give what the interpreter gives, in any shape, layout and type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor

pytest.importorskip("llvmlite")

from flambeau.executors.native.llvm.emitter import FLOAT32
from flambeau.executors.native.products import blocking, tiny
from flambeau.executors.native.products.arguments import Kind
from flambeau.executors.native.products.blocking import Matrix, Problem, Target
from tests.executors.native.agreement import check

TOLERANCES = {flambeau.float32: 1e-4, flambeau.float64: 1e-12, flambeau.bfloat16: 2e-2,
              flambeau.float16: 2e-3}

# (m, n, k): results one by one; a row in a vector that is full or not, in several; groups that overlap.
SHAPES = [(1, 1, 1), (2, 2, 2), (3, 3, 3), (3, 1, 3), (1, 3, 5), (8, 2, 9), (4, 4, 4), (5, 4, 1), (3, 7, 6),
          (8, 8, 8), (13, 8, 17), (16, 16, 16), (17, 20, 5), (33, 33, 9), (6, 50, 64), (64, 64, 33),
          (2, 16, 40), (1, 61, 3)]


def _items(count: int, m: int, n: int, dtype: Any) -> Tensor:
    x = flambeau.randn(count, m, n).to(dtype)
    flambeau.synchronize()
    return x


LAYOUTS: dict[str, Callable[[int, int, int, Any], Tensor]] = {
    "rows": _items,
    "columns": lambda count, m, n, dtype: _items(count, n, m, dtype).mT,
    "apart": lambda count, m, n, dtype: _items(count, 2 * m, 2 * n, dtype)[:, ::2, 1::2],
}


@pytest.fixture(autouse=True)
def _seeded() -> None:
    flambeau.manual_seed(0)


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The kernels of this kind that are asked for."""
    asked: list[Any] = []
    make = tiny.tiny_kernel

    def watched(*form: Any) -> Any:
        asked.append(form)
        return make(*form)
    monkeypatch.setattr(blocking, "tiny_kernel", watched)
    return asked


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes(shape: tuple[int, int, int], dtype: Any, kernels: list[Any]) -> None:
    m, n, k = shape
    for left in LAYOUTS.values():
        for right in LAYOUTS.values():
            check(flambeau.bmm, (left(40, m, k, dtype), right(40, k, n, dtype)), "bmm", TOLERANCES[dtype])
    assert kernels


def test_batches_that_broadcast(kernels: list[Any]) -> None:
    shapes = [((9, 1, 3, 4), (17, 4, 6)), ((3, 9, 5, 2, 3), (1, 9, 5, 3, 3)), ((40, 8, 1, 5), (40, 1, 5, 1))]
    for a, b in shapes:
        x, y = flambeau.randn(a), flambeau.randn(b)
        flambeau.synchronize()
        check(flambeau.matmul, (x, y), "matmul", 1e-4)
    assert len(kernels) >= 3


def test_few_kernels_for_many_shapes() -> None:
    """Rows and columns of any number: a handful is compiled."""
    kind, forms, k = Kind(FLOAT32, FLOAT32, FLOAT32), set(), 8
    for m in range(5, 65):
        for n in range(17, 65):
            a, b = Matrix(0, None, k, 1, (0, 0, m * k)), Matrix(1, None, n, 1, (0, 0, k * n))
            problem = Problem(m, n, k, (1, 1, 40), a, b, Target(n, 1, (0, 0, m * n)), *kind[:3])
            row = blocking._tiny_row(problem, kind)
            assert isinstance(row, tiny.Across)
            forms.add((row, tiny.rows_at_once(m, row.vectors)))
    assert len(forms) <= 16
