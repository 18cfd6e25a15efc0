"""Graphs that differ from known ones in their shapes alone, run by one native call."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from inspect import unwrap
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import config, nn
from flambeau.engine import looks

pytest.importorskip("llvmlite")
from flambeau.executors.native.programs import known
from flambeau.executors.native.programs.execution.segment import Segment
from flambeau.executors.native.programs.glances import kin as kinds
from flambeau.executors.native.programs.glances import kin_words, words
from flambeau.executors.native.programs.runtime import runtime
from flambeau.executors.native.quantity import LEAST, MOST
from flambeau.nn import functional as F

from .planning import forget


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kin from the second time on that a formula held."""
    monkeypatch.setattr(known, "_OFTEN", 2)
    monkeypatch.setattr(known, "_WORTH_CODE", 0)
    forget()
    yield
    forget()


def _kin() -> list[kinds.Kin]:
    return [kin for family in known._families.values() for kin in family.kin]


def _used() -> int:
    """How many kin ran since this was asked."""
    return sum([kin.was_used() for kin in _kin()])


def _pointwise(n: int, m: int) -> Any:
    x, y = flambeau.rand(n, m), flambeau.rand(m)
    return (x * y).tanh().sum(0), (x + 1).max(1).values, x.clamp(min=0.5)


def _layers(n: int, m: int) -> Any:
    flambeau.manual_seed(n)
    first, second = nn.Linear(8, 16), nn.Linear(16, 3)
    flambeau.synchronize()
    loss = F.cross_entropy(second(first(flambeau.rand(n, 8)).relu()), flambeau.arange(n) % 3)
    loss.backward()
    return loss, first.weight.grad, second.bias.grad


def _messages(n: int, m: int) -> Any:
    x = flambeau.rand(n, 4)
    edges = flambeau.arange(2 * m).reshape(2, m) * 7 % n
    return flambeau.zeros_like(x).index_add(0, edges[1], x[edges[0]]).exp()


def _overlap(n: int, m: int) -> Any:
    a, b = flambeau.rand(n, 4), flambeau.rand(m, 4)
    sides = (flambeau.min(a[:, None, 2:], b[:, 2:]) - flambeau.max(a[:, None, :2], b[:, :2])).clamp(min=0)
    return sides.prod(-1), a.argsort(0), flambeau.cat([a, b])[1:].cumsum(0)


def _images(n: int, m: int) -> Any:
    flambeau.manual_seed(0)
    x, weight = flambeau.rand(1, 3, n + 8, m + 8), flambeau.rand(4, 3, 3, 3)
    return F.max_pool2d(F.conv2d(x, weight, padding=1).relu(), 2)


PROGRAMS = (_pointwise, _layers, _messages, _overlap, _images)


def _sizes(count: int) -> list[tuple[int, int]]:
    picked = random.Random(0)
    return [(picked.randrange(2, 60), picked.randrange(2, 60)) for _ in range(count)]


def _values(found: Any) -> list[Any]:
    return [x.detach().numpy().copy() for x in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values_are_those_of_the_interpreter(program: Callable[[int, int], Any]) -> None:
    ran = 0
    for n, m in _sizes(60):
        with config.executor("native"):
            flambeau.manual_seed(n + m)
            found = _values(program(n, m))
            ran += _used()
        with config.executor("interpreter"):
            flambeau.manual_seed(n + m)
            for ours, other in zip(found, _values(program(n, m)), strict=True):
                np.testing.assert_allclose(ours, other, 2e-5, 2e-5)
    assert ran > 20


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_memory_is_that_of_the_joint_formula(program: Callable[[int, int], Any],
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    compared = [0]
    find, enter = known.program_of, known.book.enter_kin

    def stay(kin: kinds.Kin) -> None:
        enter(kin)
        known.book._memory[words.BOOK_KIN_SIZE] = 0      # nobody finds it

    def checked(nodes: list[Any], reading: Any, forced: bool) -> Any:
        program = find(nodes, reading, forced)      # which asks who refers to a node
        pending = nodes[::-1]
        assert known._latest is not None
        for kin in known._latest.family.kin:
            joint, signatures = kin._joint, reading.signatures
            numbers = joint.sketch.numbers(signatures)
            wanted = None if numbers is None else joint.program(signatures, numbers)
            said = kin._fit(pending)
            if said == kin_words.WAITS:
                kin._make_room()
                said = kin._fit(pending)
            if wanted is None or said not in (kin_words.READY, kin_words.SHARED):
                assert wanted is None or said == kin_words.FREQUENT
                continue
            ours, other = kin._segment, wanted.parts[0]
            assert isinstance(other, Segment)
            assert (_words(joint, ours) == _words(joint, other)).all()
            own = ours.memory[ours.form.arena_words] - kin._layout.words(ours.form)
            assert (own - ours.header[runtime.BOUND]
                    == other._arena_offsets - joint.layout(numbers).words(ours.form)).all()
            compared[0] += 1
        return program
    monkeypatch.setattr(known.book, "enter_kin", stay)
    monkeypatch.setattr(sys.modules["flambeau.executors.native.run"], "program_of", checked)
    with config.executor("native"):
        for n, m in _sizes(60):
            _values(program(n, m))
    assert compared[0] > 20


def _words(joint: Any, segment: Segment) -> Any:
    """A program's memory but for where it, and the arena, lie, and what a run leaves there."""
    memory = segment.memory.copy()
    memory[joint._relative] -= segment.address
    memory[segment.form.arena_words] = 0
    memory[:runtime.PROGRAM_WORDS] = 0
    return memory


def test_an_index_out_of_range_is_reported_with_its_line() -> None:
    def read(n: int, last: int) -> Any:
        index = flambeau.arange(n) * 1
        index = index + (index == n - 1) * (last - n + 1)
        return (flambeau.ones(n, 3) * 2)[index].sum()
    with config.executor("native"):
        for n in range(10, 40):
            assert read(n, n - 1).item() == 6 * n
        assert _used()
        with pytest.raises(IndexError) as error:
            read(40, 40).item()
        assert any("test_kin.py" in note for note in error.value.__notes__)
        assert read(41, 40).item() == 6 * 41


def test_operands_that_move_are_read_where_they_are() -> None:
    table = flambeau.arange(400).reshape(100, 4) * 0.5
    flambeau.synchronize()
    picked = random.Random(0)
    with config.executor("native"):
        for _ in range(60):
            begin, count = picked.randrange(50), picked.randrange(2, 50)
            found = (table[begin:begin + count] * 2).sum(0)
            assert found.tolist() == [sum(range(4 * begin + k, 4 * (begin + count), 4)) for k in range(4)]
    assert _used()


def test_graphs_of_other_wires_are_told_apart() -> None:
    def computed(n: int, crossed: bool) -> Any:
        a, b = flambeau.full((n,), 2.0), flambeau.full((n,), 3.0)
        x, y = a * 2, b * 2
        return (y - x if crossed else x - y).sum()
    with config.executor("native"):
        for n in range(2, 40):
            assert computed(n, False).item() == -2 * n
        for n in range(40, 60):
            assert computed(n, n % 2 == 0).item() == (2 * n if n % 2 == 0 else -2 * n)


def test_other_numbers_of_threads_get_other_programs() -> None:
    before = flambeau.get_num_threads()
    try:
        with config.executor("native"):
            for n in range(2, 60):
                flambeau.set_num_threads(1 + n % 2)
                assert (flambeau.ones(n, 3) * 2).sum().item() == 6 * n
    finally:
        flambeau.set_num_threads(before)


def test_shapes_that_come_often_get_a_program_of_their_own() -> None:
    with config.executor("native"):
        for n, m in _sizes(30):
            _pointwise(n, m)[0].sum().item()
        kin, *_ = {id(family): family.kin[0] for family in known._families.values() if family.kin}.values()
        enough, count = int(kin.memory[kin_words.ENOUGH]), len(known._entries)
        for _ in range(enough):
            _pointwise(70, 71)[0].sum().item()
        assert len(known._entries) == count
        for _ in range(3):
            _pointwise(70, 71)[0].sum().item()
        assert len(known._entries) == count + 1


def test_results_of_large_graphs_are_shared_out() -> None:
    with config.executor("native"):
        for n in range(2000, 2030):
            x = flambeau.full((n, 64), 0.5)
            assert (x.exp().log() @ flambeau.ones(64, 8)).sum().item() == pytest.approx(n * 256, rel=1e-4)
    assert _used() and looks[-1].tier.startswith("native")


def test_what_is_forgotten_is_not_found() -> None:
    with config.executor("native"):
        for n in range(2, 30):
            _pointwise(n, n)[0].sum().item()
        assert _kin()
        forget()
        assert not known.book._by_address
        for n in range(2, 30):
            assert _pointwise(n, n)[2].sum().item() > 0


@pytest.mark.parametrize("error, passes", [(KeyboardInterrupt, True), (TimeoutError, True),
                                           (OverflowError, False)])
def test_what_a_signal_raises_while_a_tape_is_played_is_not_lost(error: type[BaseException],
                                                                 passes: bool) -> None:
    def total(n: int, m: int) -> Any:
        return (flambeau.full((n, 8), 2.0) @ flambeau.full((8, m), 0.5)).sum()
    came: list[str] = []
    with config.executor("native"):
        for n, m in _sizes(30):
            assert total(n, m).item() == 8 * n * m
        steps = [step for kin in _kin() for step, _ in kin._joint.tape.steps((*kin._joint.wanted,))]
        codes = {unwrap(function).__code__ for function, given, *_ in steps
                 if given.__class__ is tuple and function not in (LEAST, MOST)}
        assert codes and _used()

        def watch(frame: Any, event: str, _: Any) -> None:
            if event == "call" and frame.f_code in codes and not came:
                came.append(frame.f_back.f_code.co_name)
                raise error
        wanted, number = total(70, 71), 8 * 70 * 71
        sys.setprofile(watch)
        try:
            with pytest.raises(error) if passes else nullcontext():
                assert wanted.item() == number
        finally:
            sys.setprofile(None)
        assert came and wanted.item() == number
        for n, m in _sizes(5):
            assert total(n, m).item() == 8 * n * m
