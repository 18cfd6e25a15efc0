"""Programs put together from the formulas of their stages.

Note: patchworks. Where many numbers vary, each for itself (the lengths of several sequences), comparisons
come out in ever new combinations: a joint formula holds for few shapes, and others are no help either. Then
each stage fills in its own words by a formula of its own, of which one or other holds, in the memory of a
program that all such shapes share (Note: passing programs): of a stage whose formula is the one it had
before, those words that vary alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

from .....graph.node import Signature
from ...plan import Plan
from ..patterns.arrangement import Arrangement
from ..patterns.formulas import GRAIN, TASKS, Filling, Formula
from ..patterns.pattern import Plans
from ..patterns.skeleton import Skeleton
from ..patterns.sketches import Own, Sketch
from ..patterns.varying import taking
from ..runtime import runtime
from .program import Program
from .segment import Segment

_NOWHERE = np.zeros(0, np.intp)


class Way(NamedTuple):
    """How a stage is filled in by a formula: all of its words from ``at`` on, and some of its steps'.

    ``addresses``: of those that vary, which come afterwards.
    """

    at: int
    words: Any
    steps: list[tuple[int, int]]
    addresses: list[int]


class Patch:
    """A stage of a patchwork, and how it is filled in now.

    ``plan``: of a stage that is always the same, which has no formulas.
    """

    __slots__ = ("own", "plan", "_filling", "_addresses", "_ways", "_first", "_form", "_alike")

    def __init__(self, own: Own | None, plan: Plan, first: int, form: Skeleton) -> None:
        self.own, self.plan = own, plan
        self._filling: Filling | None = None
        self._addresses: list[int] = []
        self._ways: dict[Filling, Way] = {}
        self._first, self._form = first, form
        self._alike = [call.words.places for call in plan.calls], plan.in_place, plan.reuses

    def found(self, numbers: Sequence[int]) -> tuple[Filling, Any] | None:
        """How it is filled in for these numbers, and what with; None where no formula holds."""
        assert self.own is not None
        taken, formulas = tuple(self.own.take(numbers)), self.own.formulas
        known: tuple[Filling, Any] | None = formulas.lately.get(taken) or formulas.lately.recall(taken)
        if known is not None and known[0].alike == self._alike:
            return known
        now, fillings = self._filling, [*map(Formula.filling, formulas.known)]
        for filling in fillings if now is None else [now, *fillings]:
            if filling.alike == self._alike:
                found = filling.function(*taken)
                if found is not None:
                    return formulas.lately.keep(taken, (filling, found))
        return None

    def fill(self, filling: Filling, values: Sequence[int], numbers: Sequence[int], segment: Segment) -> bool:
        """Fill in the words, or those alone that vary; whether that could be done."""
        words = segment.words
        if filling is not self._filling:
            way = self._ways.get(filling) or self._made(filling, numbers, segment.memory)
            if way is None:
                return False
            self._filling = None    # an interrupt may come before all is written
            segment.memory[way.at:way.at + len(way.words)] = way.words
            for at, value in way.steps:
                words[at] = value
            self._addresses, self._filling = way.addresses, filling
        for at, value in zip(self._addresses, values):
            words[at] = value
        return True

    def _made(self, filling: Filling, numbers: Sequence[int], memory: Any) -> Way | None:
        """How it is filled in by a formula that it meets for the first time."""
        assert self.own is not None
        plan = filling.formula.plan(self.own.take(numbers))
        if plan is None:
            return None
        words, steps = list[Any](), list[tuple[int, int]]()
        for step, call in enumerate(plan.calls, self._first):
            own = np.array(call.values, np.int64)
            for word, address in call.words.functions:
                own[word] = index(address)
            if call.words.status_word is not None:
                own[call.words.status_word] = memory[_step(step) + runtime.STATUS]
            words.append(own)
            steps += [(_step(step) + runtime.FUNCTION, index(call.function)),
                      (_step(step) + runtime.TASKS, call.tasks), (_step(step) + runtime.GRAIN, call.grain)]
        way = self._ways[filling] = Way(
            self._word(self._first, 0), np.concatenate(words), steps,
            [self._word(self._first + call, word) for call, word in filling.places])
        return way

    def _word(self, step: int, word: int) -> int:
        """Where a word of a call is."""
        if word == TASKS or word == GRAIN:
            return _step(step) + (runtime.TASKS if word == TASKS else runtime.GRAIN)
        return int(self._form.words_at + self._form.step_words[step] + word)


def _step(step: int) -> int:
    return runtime.PROGRAM_WORDS + runtime.STEP_WORDS * step


class Patchwork:
    """A program of one segment that becomes that of any shapes for which each stage has a formula."""

    def __init__(self, arrangement: Arrangement, signatures: Sequence[Signature], plans: Plans,
                 sketch: Sketch) -> None:
        self._program = Program(arrangement, signatures, plans)
        segment, = self._program.parts
        assert isinstance(segment, Segment)
        self._arrangement, self._segment, self.sketch = arrangement, segment, sketch
        self._patches: list[Patch] = []
        constant: list[int] = []
        first, pattern = 0, arrangement.pattern
        for s, plan in enumerate(plans):
            assert plan is not None
            own = sketch.of_stage(s, pattern.planned[s], signatures)
            if own is None:
                constant += pattern.stages[s]
            self._patches.append(Patch(own if own is not None and own.places else None, plan, first,
                                       segment.form))
            first += len(plan.calls)
        self._same = taking(constant)
        self._known = [*self._same(signatures)]
        self._places = [place for needed, _ in arrangement.places for place in needed]

    def passing(self, signatures: Sequence[Signature]) -> Program | None:
        """The program for these shapes, to be run at once and once; None where a formula is missing."""
        numbers = self.sketch.numbers(signatures)
        if numbers is None or [*self._same(signatures)] != self._known:
            return None
        found: list[Any] = []
        for patch in self._patches:
            if patch.own is None:
                found.append(None)
                continue
            known = patch.found(numbers)
            if known is None:
                return None
            found.append(known)
        return self._become(signatures, numbers, found)

    def _become(self, signatures: Sequence[Signature], numbers: Sequence[int],
                found: list[Any]) -> Program | None:
        segment, program = self._segment, self._program
        inputs, rooms, workspaces = list[int](), list[int](), list[int]()
        scratch, nanoseconds = 0, 0.0
        for patch, known in zip(self._patches, found):
            if known is None:
                plan = patch.plan
                for call in plan.calls:
                    inputs += call.words.shifts
                    rooms += call.words.rooms
                    scratch = max(scratch, call.scratch)
                workspaces.append(plan.workspace)
                nanoseconds += plan.nanoseconds
                continue
            filling, (values, shifts, own_rooms, workspace, most, time) = known
            if not patch.fill(filling, values, numbers, segment):
                return None
            inputs += shifts
            rooms += own_rooms
            workspaces.append(workspace)
            scratch = max(scratch, most)
            nanoseconds += time
        form = segment.form
        shifts = np.array([*inputs, *rooms, 0], np.int64)
        segment.memory[form.patches_at + 2:form.words_at:3] = shifts[form.patches[:, 2]]
        layout = self._arrangement.layout([
            workspaces[place] if place.__class__ is int else _size(signatures, *place)
            for place in self._places])
        counts = [signatures[k].outputs[r].numel for k, r in form.made]
        segment.become(_NOWHERE, (), layout, shifts[form.in_arena[:, 2]], counts, signatures, scratch,
                       nanoseconds)
        program.signatures, program.offsets, program.size = signatures, layout.offsets, layout.size
        return program


def _size(signatures: Sequence[Signature], k: int, r: int) -> int:
    return signatures[k].outputs[r].nbytes
