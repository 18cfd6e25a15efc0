"""Plans of a pattern's stages by formula (Note: formulas): for shapes that come after several others.

Shapes that a program meets differ in a few numbers: a length, and what is computed of it. Which of a graph's
extents, strides and offsets these are is seen from some of its shapes, and is called a *sketch*: what was
equal in all of them is one number. Shapes that agree with a sketch have new values of its numbers, and every
other extent as it was. For them, stages' plans are tapes, recorded for one of the shapes that the sketch was
made of: numbers that are equal by chance are compared like any others, and come out otherwise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from .....config import settings
from .....graph.geometry import Family, Geometry
from .....graph.node import Signature
from .....size import Size
from ...plan import Call, Plan, Words
from ...quantity import Quantity, Tape

# The plan of members on a tape, given those that it was recorded of.
Record = Callable[[Sequence[Signature], Sequence[Signature]], "Plan | None"]

_SHAPES = 6         # that were planned before formulas are looked for: it takes as long as to plan two dozen
_SKETCHES = 4       # of one pattern: shapes that agree with none of them are planned by templates
_FORMULAS = 4       # of one stage

_attributes = attrgetter("attributes", "compute")
_VARYING = frozenset((Geometry, Size))  # what varies with the shapes, wherever it is in a signature


class Sketch:
    """Which numbers of some nodes' geometries vary.

    ``members``: positions of the nodes; ``which``: of the geometries of all their operands, results and
    attributes, which of the distinct ones they are. ``classes``: of all integers of these which number they
    are, of ``constants`` first and then of the numbers that vary.
    """

    def __init__(self, members: list[int], shapes: Sequence[Sequence[Signature]]) -> None:
        self.members = members
        self.threads = settings.threads
        whole = Part(members, shapes)
        numbers = dict.fromkeys(values for values in whole.values if len({*values}) == 1)
        self.constants = [values[0] for values in numbers]
        numbers.update(dict.fromkeys(whole.values))
        place = {values: k for k, values in enumerate(numbers)}
        self.which, self._lengths = whole.which, whole.lengths
        self.classes = whole.number(place, self.constants)
        self._whole = whole
        kinds = {k: tuple([signatures[k] for signatures in shapes]) for k in members}
        steady = [k for k in members if len({*kinds[k]}) == 1]
        varied: dict[Any, int] = {}     # members that were not always the same as one before
        pairs = [(k, varied.setdefault(kinds[k], k)) for k in members if len({*kinds[k]}) > 1]
        again = [pair for pair in pairs if pair[0] != pair[1]]
        self._again, self._before = taking([k for k, _ in again]), taking([k for _, k in again])
        self._varied = Part([*varied.values()], shapes)
        self._varied.number(place, self.constants)
        self._steady_of = taking(steady)
        self._steady_ones = list(self._steady_of(shapes[0]))
        self.formulas: dict[int, list[Formula]] = {}
        self._tries: dict[int, int] = {}
        self._members = set(members)

    def numbers(self, signatures: Sequence[Signature]) -> Sequence[int] | None:
        """The numbers that vary; None where signatures do not agree with the sketch."""
        if self.threads != settings.threads:
            return None
        known = list(self._steady_of(signatures)) == self._steady_ones \
            and self._again(signatures) == self._before(signatures)
        return (self._varied if known else self._whole).numbers(signatures)

    def plan(self, stage: int, numbers: Sequence[int]) -> Plan | None:
        """A stage's plan; None where no formula holds."""
        for formula in self.formulas.get(stage, ()):
            plan = formula.plan(numbers)
            if plan is not None:
                return plan
        return None

    def formula(self, stage: int, numbers: Sequence[int]) -> Formula | None:
        """The formula of a stage that holds for these numbers."""
        return next((x for x in self.formulas.get(stage, ()) if x.holds(numbers)), None)

    def learn(self, stage: int, members: list[int], signatures: Sequence[Signature], plan: Plan,
              record: Record) -> bool:
        """Find the formula of a stage that has this plan for shapes that agree with the sketch."""
        tries = self._tries.get(stage, 0)
        if tries >= _FORMULAS or not self._members.issuperset(members):
            return False
        numbers = self.numbers(signatures)
        assert numbers is not None
        self._tries[stage] = tries + 1
        tape = Tape(numbers)
        try:
            found = record([signatures[k] for k in members], self.on_tape(tape, members, signatures))
            formula = None if found is None else Formula(tape, found)
        except Exception:   # a template that needs the numbers themselves; which error it gets, who knows
            formula = None
        if formula is None or not formula.is_of(plan):
            self._tries[stage] = _FORMULAS
            return False
        self.formulas.setdefault(stage, []).insert(0, formula)
        return True

    def on_tape(self, tape: Tape, members: list[int], signatures: Sequence[Signature]) -> list[Signature]:
        """Signatures of which the numbers that vary are on a tape."""
        values: list[Any] = [*self.constants, *tape.given]
        made: dict[int, Any] = {}
        integers = [values[k] for k in self.classes]
        starts = [*accumulate(self._lengths, initial=0)]
        at = {}
        count = 0
        for k in self.members:
            s = signatures[k]
            at[k] = count
            count += len(_geometries([s]))
        found = []
        for k in members:
            each = iter(self.which[at[k]:])

            def taped(g: Any, each: Any = each) -> Any:
                if g.__class__ not in _VARYING:
                    return g
                n = next(each)
                if n not in made:
                    made[n] = _with_numbers(g, integers[starts[n]:starts[n + 1]])
                return made[n]
            found.append(_signature(signatures[k], taped))
        return found


class Part:
    """Some of a sketch's members, from whose geometries its numbers are read.

    Those alone that vary, mostly: the others are the same signatures as ever. ``which``: of all their
    geometries, which of the distinct ones they are; ``lengths``: how many integers these have; ``values``: of
    each of these what it is in all shapes.
    """

    __slots__ = ("which", "lengths", "values", "_facts", "_of", "_alike", "_plainly", "_first", "_which",
                 "_constants", "_values", "_classes")

    def __init__(self, members: list[int], shapes: Sequence[Sequence[Signature]]) -> None:
        self._of = taking(members)
        own = [*map(self._of, shapes)]
        geometries = [*map(_geometries, own)]
        self._plainly = _VARYING.isdisjoint([type(x) for s in own[-1] for x in s.attributes])
        self._alike = self._common(own[-1])
        known: dict[Any, int] = {}
        self.which = [known.setdefault(each, len(known)) for each in zip(*geometries)]
        self._first = taking([self.which.index(k) for k in range(len(known))])
        self._which = taking(self.which)
        self._facts = [*map(_facts, self._first(geometries[-1]))]
        self.lengths = [len(_integers([g])) for g in self._first(geometries[-1])]
        self.values = list(zip(*[_integers(self._first(each)) for each in geometries]))

    def number(self, place: dict[tuple[int, ...], int], constants: list[int]) -> list[int]:
        """Of all integers which number they are, by their places: the constants come first."""
        classes = [place[values] for values in self.values]
        self._constants = constants
        self._values = taking([classes.index(k) for k in range(len(constants), len(place))])
        self._classes = taking(classes)
        return classes

    def _common(self, own: Sequence[Signature]) -> list[Any]:
        """What signatures that differ in their geometries have in common."""
        return [*map(_attributes if self._plainly else _alike, own)]

    def numbers(self, signatures: Sequence[Signature]) -> Sequence[int] | None:
        """The numbers that vary; None where these signatures are not as the sketch has them."""
        own = self._of(signatures)
        if self._common(own) != self._alike:
            return None
        geometries = _geometries(own)
        if len(geometries) != len(self.which):
            return None
        distinct = self._first(geometries)
        # Of operands and results, forms tell what kind they are (Note: known graphs).
        if list(self._which(distinct)) != geometries \
                or not (self._plainly or [*map(_facts, distinct)] == self._facts):
            return None
        integers = _integers(distinct)
        found = self._values(integers)
        return found if list(self._classes([*self._constants, *found])) == integers else None


def _geometries(signatures: Sequence[Signature]) -> list[Any]:
    return [g for s in signatures for g in (*s.geometries, *s.outputs, *s.attributes)
            if g.__class__ in _VARYING]


def _facts(g: Any) -> Any:
    """What does not vary: of a shape alone, too, which extents are 0 and 1."""
    return g.family.kind if g.__class__ is Geometry else [min(n, 2) for n in g]


def _alike(signature: Signature) -> Any:
    """What signatures that differ in their geometries have in common; a part written to is an attribute."""
    attributes = signature.attributes
    if not _VARYING.isdisjoint(map(type, attributes)):
        attributes = tuple([x.__class__ if x.__class__ in _VARYING else x for x in attributes])
    return attributes, signature.compute


def _correspond(old: Signature, new: Signature) -> bool:
    """Whether each integer of one's geometries has its like in the other's."""
    return old is new or (_alike(old) == _alike(new) and _ranks(old) == _ranks(new))


def _ranks(signature: Signature) -> list[tuple[type, int]]:
    return [(type(g), len(g) if g.__class__ is Size else g.ndim) for g in _geometries([signature])]


def taking(places: list[int]) -> Callable[[Any], Any]:
    """What takes the elements at some places, as a sequence."""
    return itemgetter(*places) if len(places) > 1 else lambda all_of: [all_of[k] for k in places]


def _integers(geometries: Sequence[Any]) -> list[int]:
    """Of each geometry shape, strides and offset."""
    return [*chain.from_iterable([(*g.shape, *g.strides, g.offset) if g.__class__ is Geometry else g
                                  for g in geometries])]


def _with_numbers(g: Any, integers: list[Any]) -> Any:
    """A geometry, or a shape, with other numbers."""
    return Size(integers) if g.__class__ is Size else _geometry(g, integers)


def _geometry(g: Geometry, integers: list[Any]) -> Geometry:
    """A geometry with other numbers; what is known of them without looking stays."""
    ndim = g.ndim
    family = Family.__new__(Family)
    family.shape, family.strides = Size(integers[:ndim]), tuple(integers[ndim:2 * ndim])
    family.dtype, family.device, family.ndim, family.is_contiguous = g.dtype, g.device, ndim, g.is_contiguous
    family.numel = Size.numel(family.shape)
    family.span = 1 + sum([(n - 1) * s for n, s in zip(family.shape, family.strides)])
    family.order = family.steps = family.flat = None
    made = Geometry.__new__(Geometry)
    made.shape, made.strides, made.offset = family.shape, family.strides, integers[-1]
    made.dtype, made.device, made.ndim, made.is_contiguous = g.dtype, g.device, ndim, g.is_contiguous
    made.numel, made.extent, made.family = family.numel, integers[-1] + family.span, family
    return made


def _signature(signature: Signature, taped: Callable[[Any], Any]) -> Signature:
    """A signature with other geometries."""
    made = Signature.__new__(Signature)
    made.operator, made.compute = signature.operator, signature.compute
    made.geometries = tuple(map(taped, signature.geometries))
    made.outputs = tuple(map(taped, signature.outputs))
    made.attributes = tuple(map(taped, signature.attributes))
    made.single, made.on_meta, made.form = signature.single, signature.on_meta, signature.form
    made.nbytes = sum([g.numel * g.dtype.itemsize for g in made.outputs])
    return made


class Formula:
    """A tape that ends in a plan, recorded for the numbers ``given``."""

    __slots__ = ("given", "_tape", "_plan", "_calls", "_function")

    def __init__(self, tape: Tape, plan: Plan) -> None:
        self.given = [x.value for x in tape.given]
        self._tape, self._plan = tape, plan
        self._calls: list[tuple[Any, Words]] = []   # of each its function, and its words without their values
        self._function: Callable[..., Any] | None = None

    def holds(self, given: Sequence[int]) -> bool:
        """Whether all comparisons come out for these numbers as they did."""
        return list(given) == self.given or self._numbers(given) is not None

    def is_of(self, plan: Plan) -> bool:
        """Whether this was recorded of a plan."""
        return _are_equal(self._with(_value_of), plan)

    def on(self, tape: Tape) -> Plan:
        """The plan, of which the numbers are on another tape of as many numbers."""
        return self._with(tape.include(self._tape))

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


def _value_of(x: Any) -> Any:
    """A number as it was on its tape."""
    return x.value if x.__class__ is Quantity else x


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


class Formulas:
    """The sketches of the shapes of a pattern."""

    __slots__ = ("sketches", "shapes", "_latest")

    def __init__(self, first: Sequence[Signature]) -> None:
        self.sketches: list[Sketch] = []
        self.shapes = 0     # that were planned,
        self._latest = deque([first], _SHAPES)     # and the latest of these

    def are_far(self) -> bool:
        """Whether no formula is looked for when the next shapes are planned."""
        return self.shapes + 1 < _SHAPES

    def find(self, signatures: Sequence[Signature]) -> tuple[Sketch, Sequence[int]] | None:
        """The sketch with which signatures agree, and their numbers."""
        for sketch in self.sketches:
            numbers = sketch.numbers(signatures)
            if numbers is not None:
                return sketch, numbers
        return None

    def sketch(self, stages: Sequence[list[int]], new: Sequence[Signature]) -> Sketch | None:
        """A new sketch, for a shape that agrees with none; None where there are enough, or it pays not yet.

        Stages with attributes or numbers of dimensions that vary are left out.
        """
        self.shapes += 1
        self._latest.append(new)
        if self.shapes < _SHAPES or len(self.sketches) >= _SKETCHES:
            return None
        members = [k for own in stages for k in own
                   if all(_correspond(old[k], new[k]) for old in self._latest for k in own)]
        if not members:
            return None
        made = Sketch(members, self._latest)
        if made.numbers(new) is None:
            return None
        self.sketches.insert(0, made)
        return made
