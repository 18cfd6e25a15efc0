"""A few known numbers, written at once into a known value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau as torch
from flambeau import config
from flambeau.engine import looks
from flambeau.graph import pending


def _known(*tensors: Any) -> Any:
    torch.synchronize()
    return tensors if len(tensors) > 1 else tensors[0]


_WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "row": lambda b, x: b.__setitem__(2, x),
    "part": lambda b, x: b.__setitem__((slice(1, 3), slice(0, 2)), x[:2]),
    "element": lambda b, x: b.__setitem__((1, 2), 7),
    "number": lambda b, x: b.__setitem__(0, 2.5),
    "copy": lambda b, x: b[3].copy_(x),
    "transposed": lambda b, x: b.t()[:, 1].copy_(x),
    "fill": lambda b, x: b[1:3].fill_(-1),
    "zero": lambda b, x: b.t()[1].zero_(),
}


@pytest.mark.parametrize("write", _WRITES.values(), ids=_WRITES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16, torch.bool], ids=str)
def test_a_write_is_that_of_a_graph(write: Callable[[Any, Any], Any], dtype: Any) -> None:
    def written() -> list[Any]:
        buffer, row = (torch.arange(12) % 3).reshape(4, 3).to(dtype), torch.tensor([5, 0, 6]).to(dtype)
        _known(buffer, row)
        write(buffer, row)
        return buffer.tolist()

    with config.executor("native"):
        expected = written()
    assert written() == expected


@pytest.fixture
def _auto() -> Any:
    """Known numbers are written at once where the interpreter may compute."""
    with config.executor("auto"):
        yield


@pytest.mark.usefixtures("_auto")
def test_a_filled_buffer_leaves_nothing_to_compute() -> None:
    buffer, row = _known(torch.zeros(50, 3), torch.ones(3))
    for i in range(50):
        buffer[i] = row
        buffer[i, 1] = 2
    assert not pending.nodes
    assert buffer.sum().item() == 200


def test_what_was_there_before_stays_with_its_readers() -> None:
    buffer, row = _known(torch.zeros(4, 3), torch.ones(3))
    copied, later, view = buffer.clone(), buffer + 1, buffer[2]
    buffer[2] = row
    assert copied.sum().item() == 0 and later.sum().item() == 12 and view.tolist() == [1, 1, 1]
    buffer[1] = buffer[2]
    assert buffer.sum(1).tolist() == [0, 3, 3, 0]


def test_outsiders_see_the_write() -> None:
    buffer, row = _known(torch.zeros(4, 3), torch.ones(3))
    array = buffer.numpy()
    buffer[1] = row
    assert array.sum() == 3


def test_saved_values_are_missed() -> None:
    buffer, row, weight = _known(torch.ones(4, 3), torch.ones(3), torch.ones(4, 3, requires_grad=True))
    loss = (weight * buffer).sum()
    buffer[0] = row
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_indices_are_checked_anew() -> None:
    index, table = _known(torch.zeros(3, dtype=torch.int64), torch.ones(2, 2))
    table[index].sum().item()
    index[1] = 9
    with pytest.raises(IndexError):
        table[index].sum().item()


@pytest.mark.usefixtures("_auto")
def test_a_moving_place_is_no_new_graph() -> None:
    buffer, row = _known(torch.zeros(40, 4), torch.ones(4))
    tiers = []
    for i in range(40):
        buffer[i] = row
        (buffer * 2).tanh().sum().item()
        tiers.append(looks[-1].tier)
    assert not any("new shapes" in tier for tier in tiers)
