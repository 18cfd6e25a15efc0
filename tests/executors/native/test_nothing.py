"""Operators of tensors without elements run natively, and give what the interpreter gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("llvmlite")

import flambeau as torch
from flambeau import config
from flambeau.executors.native.programs import known

F = torch.nn.functional


def _empty(*shape: int) -> Any:
    return torch.zeros(*shape) + 1      # recorded


def _indices() -> Any:
    return torch.arange(0)


def _rows() -> Any:
    return torch.arange(15.0).reshape(5, 3) * 1


def _written(x: Any, index: Any, values: Any) -> Any:
    x[index] = values
    return x


CASES: dict[str, Callable[[], Any]] = {
    "pointwise": lambda: torch.tanh(_empty(0, 4)) * 2 + 1,
    "softmax": lambda: torch.softmax(_empty(0, 4), 1),
    "sum": lambda: _empty(0, 4).sum(),
    "sum of columns": lambda: _empty(0, 4).sum(0),
    "sum of rows": lambda: _empty(0, 4).sum(1),
    "sum of integers": lambda: _indices().sum(),
    "sum of complex numbers": lambda: (_empty(0, 2) * 1j).sum(0),
    "prod": lambda: _empty(3, 0).prod(1),
    "mean": lambda: _empty(3, 0).mean(1),
    "all": lambda: (_empty(3, 0) > 0).all(1),
    "any": lambda: (_empty(3, 0) > 0).any(1),
    "mm": lambda: torch.mm(_empty(3, 0), _empty(0, 2)),
    "bmm": lambda: torch.bmm(_empty(2, 3, 0), _empty(2, 0, 2)),
    "linear": lambda: F.linear(_empty(0, 3), _rows(), torch.ones(5)),
    "conv2d": lambda: F.conv2d(_empty(0, 3, 8, 8), torch.ones(4, 3, 3, 3)),
    "cat": lambda: torch.cat([_empty(0, 3), _rows()]),
    "index": lambda: _rows()[_indices()],
    "index of integers": lambda: torch.arange(5)[_indices()],
    "index_select": lambda: _rows().index_select(1, _indices()),
    "gather": lambda: _rows().gather(0, _indices().reshape(0, 3)),
    "mask": lambda: _rows()[_rows() > 100],
    "index_put": lambda: _written(_rows(), _indices(), _empty(0, 3)),
    "index_put into columns": lambda: _written(_rows().t(), _indices(), 3.0),
    "index_put, accumulated": lambda: _rows().index_put((_indices(),), _empty(0, 3), accumulate=True),
    "index_add": lambda: _rows().index_add(0, _indices(), _empty(0, 3)),
    "index_fill": lambda: _rows().index_fill(0, _indices(), 2.0),
    "scatter_add": lambda: _rows().scatter_add(0, _indices().reshape(0, 3), _empty(0, 3)),
    "smooth_l1_loss": lambda: F.smooth_l1_loss(_empty(0, 4), _empty(0, 4), reduction="sum"),
    "sort": lambda: torch.sort(_empty(0, 4), 1),
}


def _values(found: Any) -> list[Any]:
    results = found if isinstance(found, tuple) else (found,)
    return [(x.tolist(), x.shape, x.dtype, x.stride()) for x in results]


@pytest.mark.parametrize("name", CASES)
def test_native_values_are_those_of_the_interpreter(name: str) -> None:
    with config.executor("interpreter"):
        expected = _values(CASES[name]())
    for _ in range(3):
        with config.executor("native"):
            found = _values(CASES[name]())
        assert repr(found) == repr(expected)


def _gradients(count: int) -> list[Any]:
    """Of a loss of some rows: those that a detector matched, those that an expert was given."""
    x, w = _rows().requires_grad_(), torch.ones(2, 3).requires_grad_()
    b = torch.zeros(2).requires_grad_()
    k = torch.arange(count)
    y = F.linear(x[k], w, b)
    loss = F.smooth_l1_loss(y, y * 2 + 1, reduction="sum") + x.index_select(0, k).pow(2).sum() \
        + x.gather(1, k.reshape(-1, 1)).sum() + F.embedding(k, x).sum()
    loss.backward()
    grads = [t.grad for t in (x, w, b) if t.grad is not None]
    return [loss.item(), *torch.cat([grad.reshape(-1) for grad in grads]).tolist()]


@pytest.mark.parametrize("count", [0, 2])
def test_gradients(count: int) -> None:
    with config.executor("interpreter"):
        expected = _gradients(count)
    with config.executor("native"):
        found = _gradients(count)
        _gradients(count)
    assert found == pytest.approx(expected) and len(found) == 1 + 15 + 6 + 2


def test_programs_have_all_of_it() -> None:
    """No part is left to the interpreter, which would cost more than the rest."""
    known.clear()
    with config.executor("native"):
        _gradients(0)
    programs = [entry.program for entry in known._entries if entry.program is not None]
    assert programs and not any(program.several for program in programs)


@pytest.mark.parametrize("tier", ["interpreter", "native"])
def test_indices_out_of_range_are_minded_where_something_is_there(tier: str) -> None:
    """As in PyTorch: subscripts that choose nothing choose it anywhere."""
    five = torch.tensor([5]) + 0
    with config.executor(tier):
        assert torch.zeros(3, 0)[five].tolist() == torch.zeros(3, 2, 0)[five, five].tolist() == [[]]
        with pytest.raises(IndexError):
            torch.zeros(3, 1)[five].tolist()
        with pytest.raises(IndexError):
            torch.zeros(0, 3)[five].tolist()
