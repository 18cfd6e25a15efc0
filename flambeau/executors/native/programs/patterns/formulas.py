"""Plans of a pattern's stages by formula (Note: formulas): for shapes that come after several others.

Shapes that a program meets differ in a few numbers: a length, and what is computed of it. Which of a graph's
extents, strides and offsets these are is seen from two of its shapes, and is called a *sketch*. Shapes that
agree with a sketch have new values of its numbers, every other extent as it was, and nothing in common that
the former had not. For them, stages' plans are tapes, recorded for the shapes that the sketch was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from .....config import settings
from .....graph.geometry import Family, Geometry
from .....graph.node import Signature
from .....graph.recent import Recent
from .....size import Size
from ...plan import Call, Plan
from ...quantity import Tape

# The plan of members on a tape, given those that it was recorded of.
Record = Callable[[Sequence[Signature], Sequence[Signature]], "Plan | None"]

_SHAPES = 6         # that were planned before formulas are looked for: it takes as long as to plan two dozen
_SKETCHES = 4       # of one pattern: shapes that agree with none of them are planned by templates
_FORMULAS = 4       # of one stage
_HOPELESS = 12      # shapes without a sketch after which stages are looked at one by one

_geometry_facts = attrgetter("dtype", "ndim", "is_contiguous")
_attributes = attrgetter("attributes", "compute")
_VARYING = frozenset((Geometry, Size))  # what varies with the shapes, wherever it is in a signature


class Sketch:
    """Which numbers of some nodes' geometries vary.

    ``members``: positions of the nodes; ``which``: of the geometries of all their operands, results and
    attributes, which of the distinct ones they are. ``classes``: of all integers of these which number they
    are, of ``constants`` first and then of the numbers that vary.
    """

    def __init__(self, members: list[int], old: Sequence[Signature], new: Sequence[Signature]) -> None:
        self.members = members
        self.threads = settings.threads
        whole = Part(members, old, new)
        numbers = dict.fromkeys(pair for pair in whole.pairs if pair[0] == pair[1])
        self.constants = [b for _, b in numbers]
        numbers.update(dict.fromkeys(whole.pairs))
        place = {pair: k for k, pair in enumerate(numbers)}
        self.which, self._facts = whole.which, whole.facts
        self.classes = whole.number(place, self.constants)
        self._whole = whole
        self._varied = Part([k for k in members if old[k] is not new[k]], old, new)
        self._varied.number(place, self.constants)
        steady = [k for k in members if old[k] is new[k]]
        self._steady_of = taking(steady)
        self._steady_ones = list(self._steady_of(new))
        self._apart = {0, 1, *self.constants}
        self.formulas: dict[int, list[Formula]] = {}
        self._tries: dict[int, int] = {}
        self._members = set(members)

    def numbers(self, signatures: Sequence[Signature]) -> Sequence[int] | None:
        """The numbers that vary; None where signatures do not agree with the sketch."""
        if self.threads != settings.threads:
            return None
        known = list(self._steady_of(signatures)) == self._steady_ones
        found = (self._varied if known else self._whole).numbers(signatures)
        if found is None or len(self._apart.union(found)) != len(self._apart) + len(found):
            return None
        return found

    def plan(self, stage: int, numbers: Sequence[int]) -> Plan | None:
        """A stage's plan; None where no formula holds."""
        for formula in self.formulas.get(stage, ()):
            plan = formula.plan(numbers)
            if plan is not None:
                return plan
        return None

    def formula(self, stage: int, numbers: Sequence[int]) -> Formula | None:
        """The formula of a stage that holds for these numbers."""
        return next((x for x in self.formulas.get(stage, ()) if x.numbers(*numbers) is not None), None)

    def learn(self, stage: int, members: list[int], signatures: Sequence[Signature], plan: Plan,
              record: Record) -> None:
        """Find the formula of a stage that has this plan for shapes that agree with the sketch."""
        tries = self._tries.get(stage, 0)
        if tries >= _FORMULAS or not self._members.issuperset(members):
            return
        numbers = self.numbers(signatures)
        assert numbers is not None
        self._tries[stage] = tries + 1
        tape = Tape(numbers)
        try:
            found = record([signatures[k] for k in members], self.on_tape(tape, members, signatures))
            formula = None if found is None else Formula(tape, found)
        except Exception:   # a template that needs the numbers themselves; which error it gets, who knows
            formula = None
        if formula is None or not _are_equal(formula.plan(numbers), plan):
            self._tries[stage] = _FORMULAS
            return
        self.formulas.setdefault(stage, []).insert(0, formula)

    def on_tape(self, tape: Tape, members: list[int], signatures: Sequence[Signature]) -> list[Signature]:
        """Signatures of which the numbers that vary are on a tape."""
        values: list[Any] = [*self.constants, *tape.given]
        made: dict[int, Any] = {}
        integers = [values[k] for k in self.classes]
        starts = [0]
        for _, ndim, is_contiguous in self._facts:
            starts.append(starts[-1] + (ndim if is_contiguous is None else 2 * ndim + 1))
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
    geometries, which of the distinct ones they are; ``facts``: of these; ``pairs``: their integers, as they
    were and as they are.
    """

    __slots__ = ("which", "facts", "pairs", "_of", "_alike", "_plainly", "_first", "_which", "_constants",
                 "_values", "_classes")

    def __init__(self, members: list[int], old: Sequence[Signature], new: Sequence[Signature]) -> None:
        self._of = taking(members)
        before, after = _geometries(self._of(old)), _geometries(self._of(new))
        self._plainly = _VARYING.isdisjoint([type(x) for s in self._of(new) for x in s.attributes])
        self._alike = self._common(self._of(new))
        known: dict[Any, int] = {}
        self.which = [known.setdefault(pair, len(known)) for pair in zip(before, after)]
        self._first = taking([self.which.index(k) for k in range(len(known))])
        self._which = taking(self.which)
        self.facts = [*map(_facts, self._first(after))]
        self.pairs = list(zip(_integers(self._first(before)), _integers(self._first(after))))

    def number(self, place: dict[tuple[int, int], int], constants: list[int]) -> list[int]:
        """Of all integers which number they are, by their places: the constants come first."""
        classes = [place[pair] for pair in self.pairs]
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
        if list(self._which(distinct)) != geometries or [*map(_facts, distinct)] != self.facts:
            return None
        integers = _integers(distinct)
        found = self._values(integers)
        return found if list(self._classes([*self._constants, *found])) == integers else None


def _geometries(signatures: Sequence[Signature]) -> list[Any]:
    return [g for s in signatures for g in (*s.geometries, *s.outputs, *s.attributes)
            if g.__class__ in _VARYING]


def _facts(g: Any) -> tuple[Any, int, bool | None]:
    """What does not vary; a shape alone is None of contiguous or not."""
    return _geometry_facts(g) if g.__class__ is Geometry else (None, len(g), None)


def _alike(signature: Signature) -> Any:
    """What signatures that differ in their geometries have in common; a part written to is an attribute."""
    attributes = signature.attributes
    if not _VARYING.isdisjoint(map(type, attributes)):
        attributes = tuple([x.__class__ if x.__class__ in _VARYING else x for x in attributes])
    return attributes, signature.compute


def _correspond(old: Signature, new: Signature) -> bool:
    """Whether each integer of one's geometries has its like in the other's."""
    return _alike(old) == _alike(new) and _ranks(old) == _ranks(new)


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
    """A tape that ends in a plan.

    ``calls``: of each its function, and its words without their values; ``numbers``: the tape, as a function.
    """

    __slots__ = ("calls", "in_place", "reuses", "numbers", "_tape", "_plan")

    def __init__(self, tape: Tape, plan: Plan) -> None:
        self._tape, self._plan = tape, plan
        self.calls = [(call.function, call.words.filled(None, (), ())) for call in plan.calls]
        self.in_place, self.reuses = plan.in_place, plan.reuses
        calls = tuple([(tuple(_plain(call.words.values)), call.words.shifts, call.words.rooms, call.tasks,
                        call.grain, call.scratch) for call in plan.calls])
        self.numbers = tape.function((calls, plan.workspace, plan.flops, plan.traffic, plan.nanoseconds))

    def on(self, tape: Tape) -> Plan:
        """The plan, of which the numbers are on another tape of as many numbers."""
        own, plan = tape.include(self._tape), self._plan
        calls = [Call(call.function, call.words.filled([*map(own, _plain(call.words.values))],
                                                       tuple(map(own, call.words.shifts)),
                                                       tuple(map(own, call.words.rooms))),
                      *map(own, (call.tasks, call.grain, call.scratch))) for call in plan.calls]
        return Plan(calls, workspace=own(plan.workspace), in_place=plan.in_place, reuses=plan.reuses,
                    flops=own(plan.flops), traffic=own(plan.traffic), nanoseconds=own(plan.nanoseconds))

    def plan(self, given: Sequence[int]) -> Plan | None:
        """The plan for these numbers; None where a comparison comes out otherwise."""
        found = self.numbers(*given)
        if found is None:
            return None
        numbers, workspace, flops, traffic, nanoseconds = found
        calls = [Call(function, words.filled(np.array(values, np.int64), shifts, rooms), *amounts)
                 for (function, words), (values, shifts, rooms, *amounts) in zip(self.calls, numbers)]
        return Plan(calls, workspace=workspace, in_place=self.in_place, reuses=self.reuses, flops=flops,
                    traffic=traffic, nanoseconds=nanoseconds)


def _plain(values: Any) -> list[Any]:
    """A call's words as Python's integers, or quantities."""
    plain: list[Any] = values if values.__class__ is list else values.tolist()
    return plain


def _are_equal(a: Plan | None, b: Plan) -> bool:
    """Whether two plans are the same."""
    return a is not None and len(a.calls) == len(b.calls) \
        and (a.in_place, a.reuses) == (b.in_place, b.reuses) \
        and (a.workspace, a.flops, a.traffic) == (b.workspace, b.flops, b.traffic) \
        and a.nanoseconds == b.nanoseconds \
        and all(x.function is y.function and x.words.places == y.words.places
                and list(x.words.values) == list(y.words.values) and x.words.shifts == y.words.shifts
                and x.words.rooms == y.words.rooms and x.words.functions == y.words.functions
                and (x.tasks, x.grain, x.scratch) == (y.tasks, y.grain, y.scratch)
                for x, y in zip(a.calls, b.calls))


class Formulas:
    """The sketches of the shapes of a pattern, or of a stage."""

    __slots__ = ("sketches", "latest", "shapes")

    def __init__(self) -> None:
        self.sketches: list[Sketch] = []
        self.shapes = 0     # that were planned

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

    def sketch(self, stages: Sequence[list[int]], old: Sequence[Signature],
               new: Sequence[Signature]) -> Sketch | None:
        """A new sketch, of two shapes that agree with none; None where there are enough, or it pays not yet.

        Stages with attributes or numbers of dimensions that vary are left out.
        """
        self.shapes += 1
        if self.shapes < _SHAPES or len(self.sketches) >= _SKETCHES:
            return None
        members = [k for own in stages for k in own if all(_correspond(old[k], new[k]) for k in own)]
        made = Sketch(members, old, new)
        if not members or made.numbers(new) is None:    # where some coincide, they are not told apart
            return None
        self.sketches.insert(0, made)
        return made

    def have_failed(self) -> bool:
        """Whether so many shapes agreed with no sketch that there is little hope for others."""
        return self.shapes >= _HOPELESS


class StageFormulas:
    """The formulas of a stage by itself.

    Where lengths come by chance, as numbers of tokens for each of many experts, two of a graph's numbers are
    often equal, and then no sketch of them all agrees; a stage has a few of them alone.
    """

    __slots__ = ("_formulas", "_latest")

    def __init__(self, signatures: list[Signature]) -> None:
        self._formulas = Formulas()
        self._latest = signatures

    def plan(self, signatures: list[Signature]) -> Plan | None:
        """The plan for these members; None where no formula holds."""
        found = self._formulas.find(signatures)
        return None if found is None else found[0].plan(0, found[1])

    def learn(self, signatures: list[Signature], plan: Plan, record: Record) -> None:
        """Find the formula that these members have this plan by."""
        members = [*range(len(signatures))]
        found = self._formulas.find(signatures)
        sketch = self._formulas.sketch([members], self._latest, signatures) if found is None else found[0]
        if sketch is not None:
            sketch.learn(0, members, signatures, plan, record)
        self._latest = signatures


_of_operators: Recent[Any, StageFormulas] = Recent(1 << 10)


def of_operator(signature: Signature) -> StageFormulas:
    """The formulas of one operator, whichever graph it is in."""
    key = (signature.operator, _alike(signature), *[_facts(g) for g in _geometries([signature])])
    return _of_operators.get(key) or _of_operators.keep(key, StageFormulas([signature]))
