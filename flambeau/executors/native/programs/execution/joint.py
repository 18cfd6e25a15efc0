"""Programs by formula: all plans of a graph in one function.

Note: joint formulas. Where all plans of a graph follow from a sketch's numbers (Note: formulas), their tapes
are put together on one, which computes once what several need. It gives those words of a program's memory
that differ from shape to shape; the others are copied from the program that it was made of. So shapes that
come once and never again cost no plan, call or list of words of their own.

Note: passing programs. Where few of a family's shapes that were new lately came back, those that are new run
in one program that all of them share, in whose memory those words are written over. Shapes that come back get
a program of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from operator import sub
from typing import Any, NamedTuple

import numpy as np

from .....graph.node import Signature
from ...llvm.compiling import dumping
from ...plan import Plan, total_nanoseconds
from ...quantity import Quantity, Tape, most
from ..patterns.arrangement import Arrangement
from ..patterns.layout import Layout
from ..patterns.pattern import Plans
from ..patterns.sketches import Sketch
from ..patterns.varying import taking
from ..runtime import runtime
from .patchwork import Patchwork
from .program import Program
from .segment import Segment

_MOST = 8       # of one family, those that were looked for in vain included
_MISSED = 16    # shapes for which none of them held, more than those for which one did, before there is none


class Joints:
    """The joint formulas of a family."""

    __slots__ = ("known", "latest", "_tries", "_patchwork", "_missed")

    def __init__(self) -> None:
        self.known: list[Joint] = []
        self.latest: tuple[Joint, Sequence[int]] | None = None  # which held last, and for which numbers
        self._tries = 0
        self._patchwork: Patchwork | None = None
        self._missed = 0

    def can_hold(self) -> bool:
        """Whether there is any formula."""
        return bool(self.known) or self._patchwork is not None

    def program(self, signatures: Sequence[Signature]) -> Program | None:
        """The program for these shapes; None where no formula holds."""
        return self._first(signatures, Joint.program)

    def passing(self, signatures: Sequence[Signature]) -> Program | None:
        """The same, to be run at once and once (Note: passing programs)."""
        found = self._first(signatures, Joint.passing)
        if self._patchwork is None:
            return found
        if found is not None:
            self._missed = max(self._missed - 1, 0)
            return found
        self._missed += 1
        if self._missed == _MISSED:
            self.known.clear()      # to ask them takes as long as a patchwork
        return self._patchwork.passing(signatures)

    def _first(self, signatures: Sequence[Signature],
               made: Callable[[Joint, Sequence[Signature], Sequence[int]], Program | None]) -> Program | None:
        numbers: dict[Sketch, Sequence[int] | None] = {}
        for joint in self.known:   # most have a sketch in common
            if joint.sketch not in numbers:
                numbers[joint.sketch] = joint.sketch.numbers(signatures)
        near = [(joint, own) for joint in self.known if (own := numbers[joint.sketch]) is not None]
        if len(near) > 1:   # what templates decide depends on how large numbers are
            near.sort(key=lambda pair: sum(map(abs, map(sub, pair[0].given, pair[1]))))
        for joint, own in near:
            found = made(joint, signatures, own)
            if found is not None:
                joint.held += 1
                self.latest = joint, own
                return found
        return None

    def learn(self, arrangement: Arrangement, program: Program, plans: Plans) -> None:
        """A program was made of plans, and has not run yet."""
        segment = program.parts[0] if len(program.parts) == 1 else None
        if not isinstance(segment, Segment) or dumping.dump_folder() is not None:
            return
        found = arrangement.pattern.by_formula
        if found is None:
            return
        if self._tries >= _MOST:
            if self._patchwork is None:
                self._patchwork = Patchwork(arrangement, program.signatures, plans, found[0])
            return
        self._tries += 1
        joint = Joint(arrangement, program, segment, *found)
        if joint.join([plan for plan in plans if plan is not None]):
            self.known.insert(0, joint)


class Wanted(NamedTuple):
    """What a joint formula gives, as quantities or numbers.

    ``words``: of the program's memory; ``moved``: shifts of words that point into the arena; ``sizes``: of
    what needs room there, in bytes; ``counts``: of new arrays' elements; ``scratch``: the bytes that a thread
    has for itself.
    """

    words: tuple[Any, ...]
    moved: tuple[Any, ...]
    sizes: tuple[Any, ...]
    counts: tuple[Any, ...]
    scratch: Any
    nanoseconds: Any


class Joint:
    """The joint formula of shapes that agree with a sketch, made of the program for some of them.

    ``constant``: nodes that must be as they are; ``alike``: those that must be as others are. ``shifts``: of
    each word that points into the arena, as far as it does not vary.
    """

    def __init__(self, arrangement: Arrangement, program: Program, segment: Segment, sketch: Sketch,
                 numbers: Sequence[int]) -> None:
        self.arrangement, self._segment, self.sketch = arrangement, segment, sketch
        self._pattern = arrangement.pattern
        self._signatures, self.given = program.signatures, numbers
        self.tape = Tape(numbers)
        self.constant: list[int] = []
        self.alike: list[tuple[int, int]] = []
        taped = sketch.on_tape(self.tape.given, sketch.members, self._signatures)
        self._outputs = {k: s.outputs for k, s in zip(sketch.members, taped)}
        self.held = 0       # so often
        self._passing: Program | None = None

    def join(self, plans: list[Plan]) -> bool:
        """Whether all that the plans say follows from the numbers."""
        found = [self._plan(s, plan) for s, plan in enumerate(plans)]
        self._same, self._other, self._first = map(
            taking, (self.constant, [a for a, _ in self.alike], [b for _, b in self.alike]))
        self._known = list(self._same(self._signatures))
        segment, form = self._segment, self._segment.form
        words, shifts = self._words(found), form.listed_shifts(found)
        words += [(form.patches_at + 2 + 3 * row, shifts[at]) for row, at in enumerate(form.patches[:, 2])]
        moved = [(row, shifts[at]) for row, at in enumerate(form.in_arena[:, 2])]
        words, moved = [[x for x in own if x[1].__class__ is Quantity] for own in (words, moved)]
        scratch = functools.reduce(most, [call.scratch for plan in found for call in plan.calls], 0)
        self.wanted = Wanted(
            tuple([x for _, x in words]), tuple([x for _, x in moved]), tuple(self._sizes(found)),
            tuple([self._size(*result)[0] for result in form.made]), scratch, total_nanoseconds(found))
        self._function = self.tape.function((*self.wanted,))
        self.places, self.rows = (np.array([at for at, _ in own], np.intp) for own in (words, moved))
        self.shifts = form.shifts(plans)[form.in_arena[:, 2]]
        self._relative = np.array([*form.addresses, *form.status_words], np.intp)
        self._image = segment.memory.copy()
        self._image[self._relative] -= segment.address
        return self._is_right()

    def _plan(self, s: int, plan: Plan) -> Plan:
        """The plan of a stage, of which the numbers that vary are on the tape."""
        pattern, members = self._pattern, self._pattern.stages[s]
        own = self.sketch.of_stage(s, pattern.planned[s], self._signatures)
        if own is not None:
            formula = own.formulas.find(own.take(self.given))
            if formula is None and own.places and pattern.learn(
                    self.sketch, self.given, s, self._signatures, plan):
                formula = own.formulas.find(own.take(self.given))   # of shapes that came again by chance
            if formula is not None:
                return formula.on(self.tape, own.take(self.tape.given))
        twin = pattern.twin_of(s)
        if twin is not None:
            pairs = [*zip(members, pattern.stages[twin])]
            if all(self._signatures[a] is self._signatures[b] for a, b in pairs):
                self.alike += pairs
                self._outputs.update({a: self._outputs[b] for a, b in pairs if b in self._outputs})
                return self._plan(twin, plan)
        self.constant += members
        return plan

    def _size(self, k: int, r: int) -> tuple[Any, int]:
        """How many elements a result has, and the bytes of one."""
        g = (self._outputs.get(k) or self._signatures[k].outputs)[r]
        return g.numel, g.dtype.itemsize

    def _sizes(self, plans: list[Plan]) -> list[Any]:
        """As ``Program`` has them."""
        found: list[Any] = []
        for needed, _ in self.arrangement.places:
            for place in needed:
                if place.__class__ is int:
                    found.append(plans[place].workspace)
                else:
                    count, size = self._size(*place)
                    found.append(count * size)
        return found

    def _words(self, plans: list[Plan]) -> list[tuple[int, Any]]:
        """The words of the calls, each with its place."""
        form = self._segment.form
        calls = [call for plan in plans for call in plan.calls]
        found: list[tuple[int, Any]] = []
        for step, (call, first) in enumerate(zip(calls, form.step_words)):
            found += enumerate(call.values, form.words_at + first)
            at = runtime.PROGRAM_WORDS + runtime.STEP_WORDS * step
            found += (at + runtime.TASKS, call.tasks), (at + runtime.GRAIN, call.grain)
        return found

    def _is_right(self) -> bool:
        """Whether it gives the program that it was made of."""
        made, first = self.program(self._signatures, self.given), self._segment
        found = None if made is None else made.parts[0]
        if not isinstance(found, Segment):
            return False
        addresses = found.memory.copy()
        addresses[self._relative] += first.address - found.address
        return bool((addresses == first.memory).all()) and (found.scratch, found.nanoseconds, found.fresh) \
            == (first.scratch, first.nanoseconds, first.fresh)

    def program(self, signatures: Sequence[Signature], numbers: Sequence[int]) -> Program | None:
        """The program for these shapes, which have these numbers; None where the formula does not hold."""
        found = self._evaluate(signatures, numbers)
        if found is None:
            return None
        values, layout, shifts, counts, scratch, nanoseconds = found
        memory = self._image.copy()
        memory[self._relative] += memory.__array_interface__["data"][0]
        memory[self.places] = values
        segment = self._segment.again(memory, layout, shifts, counts, signatures, scratch, nanoseconds)
        return Program.of(self._pattern, signatures, layout, segment)

    def passing(self, signatures: Sequence[Signature], numbers: Sequence[int]) -> Program | None:
        """The same in the memory of those that passed before."""
        if self._passing is None:
            self._passing = self.program(signatures, numbers)
            return self._passing
        found = self._evaluate(signatures, numbers)
        if found is None:
            return None
        program, segment = self._passing, self._passing.parts[0]
        values, layout, shifts, counts, scratch, nanoseconds = found
        assert isinstance(segment, Segment)
        segment.become(self.places, values, layout, shifts, counts, signatures, scratch, nanoseconds)
        program.signatures, program.offsets, program.size = signatures, layout.offsets, layout.size
        return program

    def layout(self, numbers: Sequence[int]) -> Layout:
        """Where values of shapes lie for which it holds."""
        return self.arrangement.layout(self._function(*numbers)[2])

    def _evaluate(self, signatures: Sequence[Signature], numbers: Sequence[int]) -> tuple[Any, ...] | None:
        """The words that vary, where values lie, and what else a segment needs."""
        if list(self._same(signatures)) != self._known \
                or self._other(signatures) != self._first(signatures):
            return None
        found = self._function(*numbers)
        if found is None:
            return None
        values, moved, sizes, counts, scratch, nanoseconds = found
        shifts = self.shifts
        if moved:
            shifts = shifts.copy()
            shifts[self.rows] = moved
        return values, self.arrangement.layout(sizes), shifts, counts, scratch, nanoseconds
