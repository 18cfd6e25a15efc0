"""Formulas: plans of stages whose numbers are computed on a tape (Note: formulas, in ``quantity.py``).

A stage's formulas are those of all stages that differ from it in numbers alone, whichever graphs they are in:
the layers of a network, and what many graphs of a program have in common, are learned once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from .....graph.node import Signature
from .....graph.recent import Recent
from ...plan import Call, Plan, Words
from ...quantity import Quantity, Tape, most, value_of

# The plan of members on a tape, given those that it was recorded of.
Record = Callable[[Sequence[Signature], Sequence[Signature]], "Plan | None"]

_FORMULAS = 8       # of one stage
_LATELY = 1 << 8    # numbers of which it is remembered what they gave


class StageFormulas:
    """The formulas of stages that differ in numbers alone; the one that held last comes first.

    ``lately``: of numbers, how stages were filled in by which of them (Note: patchworks).
    """

    __slots__ = ("known", "lately", "_tries")

    def __init__(self) -> None:
        self.known: list[Formula] = []
        self.lately: Recent[tuple[int, ...], tuple[Filling, Any]] = Recent(_LATELY)
        self._tries = 0

    def find(self, numbers: Sequence[int]) -> Formula | None:
        """The formula that holds for these numbers."""
        return next((x for x in self.known if x.holds(numbers)), None)

    def plan(self, numbers: Sequence[int]) -> Plan | None:
        """The plan for these numbers; None where no formula holds."""
        for formula in self.known:
            plan = formula.plan(numbers)
            if plan is not None:
                if formula is not self.known[0]:
                    self.known = [formula, *[x for x in self.known if x is not formula]]
                return plan
        return None

    def learn(self, numbers: Sequence[int], plan: Plan, record: Callable[[Tape], Plan | None]) -> bool:
        """Find the formula of a stage that has this plan for these numbers; whether there is one."""
        if self.find(numbers) is not None:
            return True
        if self._tries >= _FORMULAS:
            return False
        self._tries += 1
        tape = Tape(numbers)
        try:
            found = record(tape)
            formula = None if found is None else Formula(tape, found)
        except Exception:   # a template that needs the numbers themselves; which error it gets, who knows
            formula = None
        if formula is None or not formula.is_of(plan):
            self._tries = _FORMULAS
            return False
        self.known.insert(0, formula)
        return True


_of_stages: Recent[Any, StageFormulas] = Recent(1 << 11)


def formulas_of(key: Any) -> StageFormulas:
    """The formulas of all stages that have this in common."""
    return _of_stages.get(key) or _of_stages.recall(key) or _of_stages.keep(key, StageFormulas())


class Formula:
    """A tape that ends in a plan, recorded for the numbers ``given``."""

    __slots__ = ("given", "_tape", "_plan", "_calls", "_function", "_filling")

    def __init__(self, tape: Tape, plan: Plan) -> None:
        self.given = [x.value for x in tape.given]
        self._tape, self._plan = tape, plan
        self._calls: list[tuple[Any, Words]] = []   # of each its function, and its words without their values
        self._function: Callable[..., Any] | None = None
        self._filling: Filling | None = None

    def holds(self, given: Sequence[int]) -> bool:
        """Whether all comparisons come out for these numbers as they did."""
        return list(given) == self.given or self._numbers(given) is not None

    def is_of(self, plan: Plan) -> bool:
        """Whether this was recorded of a plan."""
        return _are_equal(self._with(value_of), plan)

    def on(self, tape: Tape, numbers: Sequence[Quantity]) -> Plan:
        """The plan for numbers that are on another tape."""
        return self._with(tape.include(self._tape, numbers))

    def _with(self, own: Callable[[Any], Any]) -> Plan:
        plan = self._plan
        calls = [Call(call.function, call.words.filled([*map(own, _plain(call.words.values))],
                                                       tuple(map(own, call.words.shifts)),
                                                       tuple(map(own, call.words.rooms))),
                      *map(own, (call.tasks, call.grain, call.scratch))) for call in plan.calls]
        return Plan(calls, workspace=own(plan.workspace), in_place=plan.in_place, reuses=plan.reuses,
                    flops=own(plan.flops), traffic=own(plan.traffic), nanoseconds=own(plan.nanoseconds))

    def plan(self, given: Sequence[int]) -> Plan | None:
        """The plan for these numbers; None where a comparison comes out otherwise."""
        found = self._numbers(given)
        if found is None:
            return None
        numbers, workspace, flops, traffic, nanoseconds = found
        calls = [Call(function, words.filled(np.array(values, np.int64), shifts, rooms), *amounts)
                 for (function, words), (values, shifts, rooms, *amounts) in zip(self._calls, numbers)]
        return Plan(calls, workspace=workspace, in_place=self._plan.in_place, reuses=self._plan.reuses,
                    flops=flops, traffic=traffic, nanoseconds=nanoseconds)

    def filling(self) -> Filling:
        """How the memory of a program is filled in by it (Note: patchworks)."""
        if self._filling is None:
            self._filling = Filling(self, self._tape, self._plan)
        return self._filling

    def _numbers(self, given: Sequence[int]) -> Any:
        """What the tape gives; it becomes a function where it is played first, as most never are."""
        if self._function is None:
            plan = self._plan
            self._calls = [(call.function, call.words.filled(None, (), ())) for call in plan.calls]
            calls = tuple([(tuple(_plain(call.words.values)), call.words.shifts, call.words.rooms, call.tasks,
                            call.grain, call.scratch) for call in plan.calls])
            self._function = self._tape.function((calls, plan.workspace, plan.flops, plan.traffic,
                                                  plan.nanoseconds))
        return self._function(*given)


TASKS, GRAIN = -2, -1    # instead of a word of a call


class Filling:
    """What a formula says of a plan's calls that varies.

    ``places``: the call of each of its values, and the word. ``function`` gives the values, all shifts and
    rooms, the size of the workspace and of what each thread has for itself, and nanoseconds; or None.
    ``alike``: what it is of plans that are arranged alike.
    """

    __slots__ = ("formula", "places", "function", "alike")

    def __init__(self, formula: Formula, tape: Tape, plan: Plan) -> None:
        self.formula = formula
        found = [(k, word, x) for k, call in enumerate(plan.calls)
                 for word, x in [*enumerate(_plain(call.words.values)), (TASKS, call.tasks),
                                 (GRAIN, call.grain)] if x.__class__ is Quantity]
        self.places = [(k, word) for k, word, _ in found]
        words = [call.words for call in plan.calls]
        self.function = tape.function((
            tuple([x for *_, x in found]), tuple([x for own in words for x in own.shifts]),
            tuple([x for own in words for x in own.rooms]), plan.workspace,
            reduce(most, [call.scratch for call in plan.calls], 0), plan.nanoseconds))
        self.alike = [own.places for own in words], plan.in_place, plan.reuses


def _plain(values: Any) -> list[Any]:
    """A call's words as Python's integers, or quantities."""
    plain: list[Any] = values if values.__class__ is list else values.tolist()
    return plain


def _are_equal(a: Plan, b: Plan) -> bool:
    """Whether two plans are the same."""
    return len(a.calls) == len(b.calls) \
        and (a.in_place, a.reuses) == (b.in_place, b.reuses) \
        and (a.workspace, a.flops, a.traffic) == (b.workspace, b.flops, b.traffic) \
        and a.nanoseconds == b.nanoseconds \
        and all(x.function is y.function and x.words.places == y.words.places
                and list(x.words.values) == list(y.words.values) and x.words.shifts == y.words.shifts
                and x.words.rooms == y.words.rooms and x.words.functions == y.words.functions
                and (x.tasks, x.grain, x.scratch) == (y.tasks, y.grain, y.scratch)
                for x, y in zip(a.calls, b.calls))
