"""Tapes that native code plays give what Python gives, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")
from flambeau.executors.native.llvm.build import Module
from flambeau.executors.native.llvm.compiling.code import kernels
from flambeau.executors.native.llvm.compiling.effort import Effort
from flambeau.executors.native.programs.glances import kin, kinship, playing
from flambeau.executors.native.programs.glances import kin_words as at
from flambeau.executors.native.programs.glances.tapes import Played, Unplayable
from flambeau.executors.native.programs.runtime.objects import AN_ARRAY, DATA_AT, address_of, method
from flambeau.executors.native.quantity import Quantity, Tape, least, most, whole

LAST, FIRST = 2 ** 63 - 1, -2 ** 63
NUMBERS = (0, 1, -1, 2, -2, 3, -7, 8, 100, -101, LAST, FIRST)


@cache
def _player() -> Any:
    @kernels("playing_alone", Effort.FEW)
    def entries() -> str:
        module = Module()
        play = playing.play(module, kinship._equals(module))
        with module.function("play_alone", [("ptr", "%self"), ("ptr", "%given"), ("i64", "%count")],
                             "ptr") as f:
            memory = f.read("ptr", f.at("%self", DATA_AT, "i8"), 8)
            c = at.KinCode(f, memory)
            said = str(f.run(play, memory))
            c.tell_nothing(at.FORGET)
            f.give(c.call(at.NEW_INTEGER, f"i64 {said}"))
        return module.text()
    return entries()["play_alone"]


class _Alone:
    """What native code plays of a function of numbers, which was recorded for some."""

    def __init__(self, function: Callable[..., Any], *numbers: int) -> None:
        tape = Tape(numbers)
        found = function(*tape.given)
        self._is_real = isinstance(found.value, float) if isinstance(found, Quantity) else False
        played = Played(tape, (found,))
        self._place = played.place_of(found) // 8
        self._registers, steps = played.memory()
        self._steps: Any = np.array(steps, np.int64).reshape(len(steps), playing.STEP_WORDS)
        memory: Any = np.zeros(at.HEADER_WORDS, np.int64)
        memory[2 * at.STEPS:2 * at.STEPS + 2] = address_of(self._steps), len(steps)
        memory[at.PYTHON], memory[at.REGISTERS] = address_of(kin._python()), address_of(self._registers)
        self._kept, self._play = played.kept, method("play_alone", _player(), AN_ARRAY).of(memory)

    def __call__(self, *numbers: int) -> Any:
        self._registers[:len(numbers)] = numbers
        if not self._play():
            return None
        registers = self._registers.view(np.float64) if self._is_real else self._registers
        return registers[self._place].item()


@whole
def _root(n: int) -> float:
    return float(n) ** 0.5 if n >= 0 else 1 / 0


@pytest.mark.parametrize("function, numbers", [
    (lambda a, b: a + b, (1, 2)), (lambda a, b: a - b, (1, 2)), (lambda a, b: a * b, (3, 2)),
    (lambda a, b: a // b, (7, 2)), (lambda a, b: a % b, (7, 2)), (lambda a, b: -7 // b + a % 3, (1, 2)),
    (lambda a, b: least(a, b) - 1, (2, 3)), (lambda a, b: most(a, b), (2, 3)),
    (lambda a, b: _root(b) + a, (1, 4))])
def test_numbers_are_pythons(function: Callable[..., Any], numbers: tuple[int, int]) -> None:
    alone, answers = _Alone(function, *numbers), 0
    for a in NUMBERS:
        for b in NUMBERS:
            try:
                wanted = function(a, b)
            except ZeroDivisionError:
                wanted = None
            found = alone(a, b)
            assert found is None or found == wanted, (a, b)
            answers += found is not None
    assert answers > 40


@pytest.mark.parametrize("decide", [
    lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a > b,
    lambda a, b: a >= b, lambda a, b: a / 2 < b, lambda a, b: a * float("nan") != b,
    lambda a, b: not a * float("nan") <= b])
def test_comparisons_come_out_as_they_did(decide: Callable[..., Any]) -> None:
    def chosen(a: Any, b: Any) -> Any:
        return a + 1 if decide(a, b) else b + 2
    small = [n for n in NUMBERS if abs(n) < 1000]
    for recorded in ((1, 2), (2, 1), (2, 2)):
        alone, came = _Alone(chosen, *recorded), bool(decide(*recorded))
        for a in small:
            for b in small:
                assert alone(a, b) == (chosen(a, b) if bool(decide(a, b)) is came else None), (a, b)


def test_the_lesser_of_a_number_and_a_truth_is_not_played() -> None:
    with pytest.raises(Unplayable):
        _Alone(lambda a, b: a + least(b, True), 1, 2)
