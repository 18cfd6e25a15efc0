"""vmap computes what a loop over the examples computes, also of gradients, for a table of operators."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

import flambeau

from .vmap_table import Row, rows

SIZE = 3
# A tensor of all examples cannot be written to with one of each: the first input is never shared.
WRITTEN = ("in place", "x[i] = y")
# These have no gradient.
CONSTANT = ("argsort 0", "argsort -1")
ROWS = list(rows(flambeau))


def _example(kind: Any, rng: np.random.Generator) -> Any:
    if kind and kind[0] == "int":
        return rng.integers(0, kind[1], kind[2])
    if kind and kind[0] == "bool":
        return rng.integers(0, 2, kind[1]).astype(bool)
    if kind and kind[0] == "positive":
        return rng.uniform(0.1, 0.9, kind[1]).astype(np.float32)
    if kind and kind[0] == "matrix":
        root = rng.standard_normal((kind[1], kind[1])).astype(np.float32)
        return root @ root.T + 2 * np.eye(kind[1], dtype=np.float32)
    return rng.standard_normal(kind).astype(np.float32)


def _batches(torch: Any, row: Row) -> list[Any]:
    rng = np.random.default_rng(zlib.crc32(row[0].encode()))
    return [torch.from_numpy(np.stack([_example(kind, rng) for _ in range(SIZE)])) for kind in row[2]]


def _tensors(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _same(torch: Any, found: Any, expected: Any) -> None:
    for a, b in zip(_tensors(found), _tensors(expected), strict=True):
        torch.testing.assert_close(a, b, rtol=2e-4, atol=2e-5, equal_nan=True)


def _looped(torch: Any, function: Any, inputs: list[Any], shared: int | None = None) -> list[Any]:
    results = [_tensors(function(*[x if i == shared else x[k] for i, x in enumerate(inputs)]))
               for k in range(SIZE)]
    return [torch.stack(column) for column in zip(*results)]


@pytest.mark.filterwarnings("ignore:reduction. .mean. divides")
@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_vmap_is_a_loop(torch: Any, row: Row) -> None:
    _, function, _ = row
    inputs = _batches(torch, row)
    _same(torch, torch.vmap(function)(*inputs), _looped(torch, function, inputs))
    first = 1 if row[0] in WRITTEN else 0
    for shared in range(first, len(inputs) if len(inputs) > 1 else 0):
        some = [x[0] if i == shared else x for i, x in enumerate(inputs)]
        dims = tuple(None if i == shared else 0 for i in range(len(inputs)))
        _same(torch, torch.vmap(function, dims)(*some), _looped(torch, function, some, shared))


def _loss(function: Any) -> Any:
    def loss(*inputs: Any) -> Any:
        results = [x for x in _tensors(function(*inputs)) if x.is_floating_point()]
        return sum((x * x + x).sum() for x in results)
    return loss


def _is_differentiable(row: Row) -> bool:
    kind = row[2][0]
    if row[0] in CONSTANT:
        return False
    return not kind or kind[0] == "matrix" or not isinstance(kind[0], str)


DIFFERENTIABLE = list(filter(_is_differentiable, ROWS))


@pytest.mark.filterwarnings("ignore:reduction. .mean. divides")
@pytest.mark.parametrize("row", DIFFERENTIABLE[::2], ids=[row[0] for row in DIFFERENTIABLE[::2]])
def test_gradients_inside_and_outside(torch: Any, row: Row) -> None:
    inputs = _batches(torch, row)
    inner = torch.func.grad(_loss(row[1]))
    expected = _looped(torch, inner, inputs)
    _same(torch, torch.vmap(inner)(*inputs), expected)
    outer = torch.func.grad(lambda *batch: torch.vmap(_loss(row[1]))(*batch).sum())
    _same(torch, outer(*inputs), expected)


def test_what_is_covered() -> None:
    assert len(ROWS) >= 150 and len({row[0] for row in ROWS}) == len(ROWS)
