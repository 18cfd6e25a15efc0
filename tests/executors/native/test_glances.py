"""A short graph that is known runs in one native call, and gives what any other way gives."""

from __future__ import annotations

import gc
import sys
from functools import partial
from importlib import import_module

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import flambeau as torch
from flambeau import config
from flambeau.engine import looks
from flambeau.executors import native
from flambeau.executors.native.programs import book, known
from flambeau.executors.native.programs.glances import glance


@pytest.fixture(autouse=True)
def _native() -> object:
    with config.executor("native"):
        torch.ones(1).add(1).item()     # the first native look of a process opens the book
        known.clear()
        yield


@pytest.fixture(params=["asked for", "in the book"])
def answers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What glances said: those of graphs found by their signatures, or in the book."""
    said: list[object] = []

    def ask(found: object, pending: list[object]) -> object:
        said.append(found(pending))     # type: ignore[operator]
        return said[-1]

    class Book:
        """Only of what it has an entry for it is noted what it says: True for a number of nodes."""

        @staticmethod
        def look_up(pending: list[object]) -> object:
            has = book._number([x.signature for x in pending]) & (book._PLACES - 1) in known.book._entries
            answer = known.book.look_up(pending)
            said.extend([True if answer.__class__ is int else answer] * has)
            return answer

    def heard(outline: object, program: object) -> object:
        return partial(ask, glance.glance_at(outline, program))     # type: ignore[arg-type]

    if request.param == "in the book":
        monkeypatch.setattr(native, "book", Book)
    else:
        monkeypatch.setattr(import_module("flambeau.executors.native.run"), "glance_at", heard)
    return said


NOT_IN_THE_BOOK = pytest.mark.parametrize("answers", ["asked for"], indirect=True)


def _known(values: list[float], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    x = torch.tensor(values, dtype=dtype) * 1
    torch.synchronize()
    return x


def test_operands_and_numbers_of_each_time(answers: list[object]) -> None:
    for k in range(8):
        x = _known([k, k + 1.0, k + 2.0])
        assert ((x * 2.5 + k) - x.abs()).tolist() == [(k + i) * 1.5 + k for i in range(3)]
        assert x.max(0).indices.item() == 2 and looks[-1].tier == ("native" if k else "native, new")
    assert answers and all(answer is True for answer in answers)


def test_numbers_that_have_no_place_in_a_word(answers: list[object]) -> None:
    x = _known([1, 2], torch.int64)
    for k in (1, 2, 3, 4, 1 << 70, 5):
        assert (x + k).tolist() == [((n + k + (1 << 63)) % (1 << 64)) - (1 << 63) for n in (1, 2)]
    assert answers.count(None) == 1 and answers[-1] is True


@pytest.mark.parametrize("name", ["int32", "int16", "int8", "uint8"])
def test_numbers_of_narrow_types(answers: list[object], name: str) -> None:
    x, limits = _known([1, 2], getattr(torch, name)), np.iinfo(name)
    for k in (1, 2, 3, limits.min, limits.max, 5, 1 << 33, -1 - limits.max * 2, 6):
        assert (x + k).tolist() == [int(np.int64(n + k).astype(name)) for n in (1, 2)]
    assert answers.count(None) == 2 and answers[-1] is True


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_numbers_of_16_bits(answers: list[object], name: str) -> None:
    numbers = [1, 0.1, 2.5, 1e-30, 65504.0, 6e-8, 1 + 2.0**-9, 1 + 2.0**-9 + 2.0**-40, float("inf"), -0.0]
    dtype = getattr(torch, name)
    for k in (*numbers, *numbers):
        x = torch.full((3,), k, dtype=dtype)
        torch.synchronize()
        want = torch.tensor([k], dtype=torch.float64).to(dtype) if name == "bfloat16" else \
            torch.from_numpy(np.array([k]).astype(np.float16))
        assert x.view(torch.int16).tolist() == want.view(torch.int16).tolist() * 3
    assert True in answers


def test_what_is_overwritten(answers: list[object]) -> None:
    x, place = _known([1, 2, 3]), _known([1], torch.int64)
    for k in range(5):
        x.index_put_((place,), _known([k]))
        torch.synchronize()
        assert x.tolist() == [1, k, 3]
    assert answers and all(answer is True for answer in answers)
    kept = x.clone()
    x.index_put_((place,), _known([9]))
    torch.synchronize()
    assert kept.tolist() == [1, 4, 3] and x.tolist() == [1, 9, 3]
    del kept
    shared = np.array([1.0, 2.0, 3.0], np.float32)
    y = torch.from_numpy(shared)
    y.add_(1)
    assert shared.tolist() == [2, 3, 4]


def test_operands_that_are_one_or_several(answers: list[object]) -> None:
    x, y = _known([1, 2]), _known([3, 4])
    for a, b in [(x, y), (y, x), (x, y), (x, x), (y, y), (x, y)] * 2:
        assert (a * 2 - b).tolist() == [2 * p - q for p, q in zip(a.tolist(), b.tolist())]
    assert True in answers and None in answers


def test_a_failing_kernel(answers: list[object]) -> None:
    x, places = _known([0, 1, 2, 3]), _known([0, 3], torch.int64)

    def chosen(factor: int, k: int) -> list[float]:
        return (x[places * factor] + k).tolist()    # type: ignore[no-any-return]
    for k in range(4):
        assert chosen(1, k) == [k, 3 + k]
    for _ in range(2):
        with pytest.raises(IndexError, match="index 6 is out of bounds for dimension 0 with size 4"):
            chosen(2, 1)
        torch.synchronize()
        assert chosen(1, 5) == [5, 8]
    assert [answer.__class__ for answer in answers] == [bool, bool, list, bool, list, bool]


@NOT_IN_THE_BOOK
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_long_programs_with_helpers(answers: list[object], threads: int) -> None:
    a, places = torch.rand(96, 96) * 1, _known([0, 95], torch.int64)
    before = torch.get_num_threads()
    try:
        for k in range(6):
            torch.set_num_threads(threads if k % 3 else 2)
            y = a
            for _ in range(100):
                y = torch.tanh(y @ a + k).exp() / 96
            found = y[places * (2 if k == 4 else 1), 0]
            if k == 4:
                with pytest.raises(IndexError, match="index 190 is out of bounds"):
                    found.tolist()
                continue
            x = a.numpy().astype(np.float64)
            z = x
            for _ in range(100):
                z = np.exp(np.tanh(z @ x + k)) / 96
            np.testing.assert_allclose(found.tolist(), z[[0, 95], 0], rtol=1e-4)
    finally:
        torch.set_num_threads(before)
    assert True in answers and any(answer.__class__ is list for answer in answers)


def test_references_are_counted() -> None:
    x, y = _known([1, 2, 3]), _known([4, 5, 6])

    def step() -> float:
        y.mul_(1.0)
        found = (x + y).max(0)
        return found.values.item() + found.indices.item() + float((x * 2).sum() > 3)
    for _ in range(10):
        step()
    value = x._storage.node.value
    gc.collect()    # of other tests, whatever it refers to
    before = [sys.getrefcount(one) for one in (None, (), value, True)]
    for _ in range(2000):
        step()
    gc.collect()
    after = [sys.getrefcount(one) for one in (None, (), value, True)]
    assert all(abs(a - b) < 1500 for a, b in zip(after, before)), (before, after)


def test_kernel_times_are_measured() -> None:
    x = _known([1, 2, 3])
    for _ in range(4):
        (x + 1).tolist()
    with config.kernel_times():
        (x + 1).tolist()
    assert len(looks[-1].kernels) == 1


def test_operands_that_lie_elsewhere_each_time(answers: list[object]) -> None:
    table = _known([float(i) for i in range(12)]).reshape(6, 2)
    for k in (0, 3, 1, 5, 2, 4) * 2:
        assert (table[k] * 2 + k).tolist() == [5.0 * k, 5.0 * k + 2]
    assert len(answers) >= 3 and all(answer is True for answer in answers)


def test_parts_that_are_one_or_overlap(answers: list[object]) -> None:
    values = np.arange(12, dtype=np.float32)
    x = _known(values.tolist())
    for a, b in [(1, 5), (2, 7), (3, 4), (4, 4), (0, 3), (3, 0), (5, 5), (0, 0), (2, 3), (6, 1)] * 3:
        expected = values[a:a + 4] * 2 - values[b:b + 4]
        assert (x[a:a + 4] * 2 - x[b:b + 4]).tolist() == expected.tolist()
        y = x * 1       # has no value: what is read of it is not a tensor of its own
        assert (y[a:a + 4] * 2 - x[b:b + 4]).tolist() == expected.tolist()
    assert True in answers


def test_parts_of_what_is_written(answers: list[object]) -> None:
    values = np.arange(24, dtype=np.float32).reshape(6, 4)
    x = _known(values.ravel().tolist()).reshape(6, 4)
    for k in (1, 4, 2, 5, 0, 3) * 3:
        row = x[k]
        row.mul_(2).add_(x[5 - k])
        values[k] = values[k] * 2 + values[5 - k]
        assert (row + 1).sum().item() == (values[k] + 1).sum() and x.tolist() == values.tolist()
        kept = row.clone()
        x[k] = 0.5 * x[5 - k]
        assert kept.tolist() == values[k].tolist()
        values[k] = 0.5 * values[5 - k]


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.uint8, torch.bool])
def test_parts_of_other_types(answers: list[object], dtype: torch.dtype) -> None:
    x = _known([0, 1, 0, 0, 1, 1], dtype)
    for k in (1, 3, 2, 4, 1, 2, 3):
        assert x[k:k + 2].sum().item() == [1, 1, 0, 1, 2][k]
    words = _known([1.0, 2.0, 3.0]).view(torch.int32)
    for k in (1, 2, 1, 2):
        assert (words[k:k + 1] + 1).tolist() == (np.float32([1, 2, 3])[k:k + 1].view(np.int32) + 1).tolist()
    assert True in answers


def test_element_types_that_numpy_has_not() -> None:
    x = _known([1, 2], torch.bfloat16)
    for _ in range(4):
        assert (x + x).tolist() == [2.0, 4.0]


def test_graphs_of_one_place_in_the_book() -> None:
    x = _known([1, 2, 3])
    entered = known.book._entries

    def values() -> list[list[float]]:
        return [(x * 2).tolist(), (x + 2).tolist(), (x * 2 + 2).tolist(), (x.abs() - 1).tolist()]
    first = values()
    for _ in range(3):
        assert values() == first
    assert 1 <= len(entered) <= 4
    entry = next(iter(entered.values()))
    before = len(entered)
    assert entry.glance is not None and book.was_used(entry.glance) and not book.was_used(entry.glance)
    known.book.drop(entry)
    assert len(entered) == before - 1 and values() == first
    known.clear()
    assert not entered and values() == first
