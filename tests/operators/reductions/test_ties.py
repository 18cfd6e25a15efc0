"""Which of equal elements comes first, or is chosen: PyTorch's published algorithms decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import config

Call = Callable[[Any], Any]
SHAPES = [(5,), (17,), (33,), (3, 40), (7, 2500), (2, 3000, 2), (3, 20, 70)]
DTYPES = ["float32", "float64", "bfloat16", "int64", "uint8"]
CALLS: dict[str, Call] = {
    "sort": lambda x: x.sort(),
    "sort descending": lambda x: x.sort(0, descending=True),
    "sort stable": lambda x: x.sort(stable=True),
    "argsort": lambda x: x.argsort(0),
    "topk few": lambda x: x.topk(2),
    "topk few smallest": lambda x: x.topk(2, 0, largest=False),
    "topk": lambda x: x.topk(x.shape[-1] // 2 + 1),
    "topk all": lambda x: x.topk(x.shape[0], 0),
    "topk unsorted": lambda x: x.topk(x.shape[-1] // 2 + 1, sorted=False),
    "topk few unsorted": lambda x: x.topk(2, 0, sorted=False),
    "kthvalue": lambda x: x.kthvalue(x.shape[-1] // 3 + 1),
    "kthvalue kept": lambda x: x.kthvalue(x.shape[0] // 2 + 1, 0, keepdim=True),
    "median": lambda x: x.median(-1),
    "nanmedian": lambda x: x.nanmedian(0),
    "mode": lambda x: x.mode(-1),
}


def numbers(torch: Any, shape: tuple[int, ...], dtype: str, kinds: int) -> Any:
    torch.manual_seed(len(shape) + kinds)
    return torch.randint(0, kinds, shape).to(getattr(torch, dtype))


def chosen(x: Any) -> Any:
    return [y.tolist() for y in x] if isinstance(x, tuple) else x.tolist()


@pytest.mark.oracle
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_equal_elements(name: str, shape: tuple[int, ...], oracle: Any) -> None:
    for dtype in DTYPES:
        for kinds in (2, 200):
            x, own = (numbers(torch, shape, dtype, kinds) for torch in (oracle, flambeau))
            assert chosen(CALLS[name](own)) == chosen(CALLS[name](x)), (dtype, kinds)


@pytest.mark.oracle
@pytest.mark.parametrize("size", [100, 700])
def test_where_splitting_goes_too_deep(size: int, oracle: Any) -> None:
    """A row that splits badly at medians of three: a heap takes over."""
    row = hard_row(size)
    for tier in ("interpreter", "native"):
        with config.executor(tier):
            for call in (lambda x: x.sort()[1], lambda x: x.topk(size // 2, largest=False, sorted=False)[1]):
                assert call(flambeau.tensor(row)).tolist() == call(oracle.tensor(row)).tolist()


def hard_row(size: int) -> list[float]:
    """Elements get their values as they are compared with a pivot, the smallest first (McIlroy, *A killer
    adversary for quicksort*, 1999), for parts that are split at the second, the middle and the last."""
    places, values = list(range(size)), [size] * size
    first, given = 0, 0
    while size - first > 3:
        middle = first + (size - first) // 2
        for at in (first + 1, middle):
            values[places[at]] = given // 2
            given += 1
        places[first], places[middle] = places[middle], places[first]
        places[first + 1], places[size - 1] = places[size - 1], places[first + 1]
        first += 2
    return [float(x) for x in values]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_expanded_element_keeps_its_order(dtype: str, descending: bool) -> None:
    x = flambeau.tensor([[2], [0]], dtype=getattr(flambeau, dtype)).expand(2, 40)
    values, indices = x.sort(1, descending=descending)
    assert values.tolist() == x.tolist()
    assert indices.tolist() == [list(range(40))] * 2
    assert x[0].argsort(descending=descending).tolist() == list(range(40))
