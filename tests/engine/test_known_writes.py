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
def test_numbers_in_a_new_tensor_leave_nothing_to_compute() -> None:
    table, line = torch.zeros(4, 5, dtype=torch.int64), torch.full((6,), 0.5)
    for i in range(4):
        for j in range(5):
            table[i, j] = i * j
        line[-1 - i] = i
        table[i].t()[0] = 7
    assert {node.signature.operator.name for node in pending.nodes} <= {"full"} and table._version == 24
    assert table.tolist() == [[7, *[i * j for j in range(1, 5)]] for i in range(4)]
    assert line.tolist() == [0.5, 0.5, 3, 2, 1, 0]


@pytest.mark.usefixtures("_auto")
def test_a_number_is_written_where_others_do_not_see_it() -> None:
    base = torch.zeros(4)
    copied, later, view = base.clone(), base + 1, base[1:]
    base[2] = 5.0
    view[0] = 4
    assert base.tolist() == [0, 4, 5, 0] and copied.sum().item() == 0 and later.sum().item() == 4
    array = base.numpy()
    base[3] = 6
    assert array.tolist() == [0, 4, 5, 6]
    ready = torch.ones(3, requires_grad=True)
    factor = _known(torch.ones(3))
    loss = (ready * factor).sum()
    factor[1] = 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        ready[0] = 1.0
    with torch.no_grad():
        ready[0] = 3.0
    assert ready.tolist() == [3, 1, 1]


@pytest.mark.usefixtures("_auto")
@pytest.mark.parametrize(("make", "key", "value", "error"), [
    (lambda: torch.zeros(3), 3, 1.0, "index 3 is out of bounds for dimension 0 with size 3"),
    (lambda: torch.zeros(2, 3), (1, -4), 1.0, "index -4 is out of bounds for dimension 1 with size 3"),
    (lambda: torch.zeros(3), (0, 0), 1.0, "too many indices"),
    (lambda: torch.zeros(3), 0, 1e300, "cannot be converted to type float without overflow"),
    (lambda: torch.zeros(3, dtype=torch.uint8), 0, 300, "converted to type uint8_t without overflow"),
    (lambda: torch.zeros(1).expand(3), 0, 1.0, ""),
])
def test_wrong_numbers_and_places(make: Callable[[], Any], key: Any, value: Any, error: str) -> None:
    x = make()
    if not error:
        x[key] = value
        assert x.tolist() == [value] * 3
        return
    with pytest.raises((IndexError, RuntimeError), match=error):
        x[key] = value


@pytest.mark.usefixtures("_auto")
def test_a_moving_place_is_no_new_graph() -> None:
    buffer, row = _known(torch.zeros(40, 4), torch.ones(4))
    tiers = []
    for i in range(40):
        buffer[i] = row
        (buffer * 2).tanh().sum().item()
        tiers.append(looks[-1].tier)
    assert not any("new shapes" in tier for tier in tiers)
