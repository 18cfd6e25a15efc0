"""Which numbers vary from shape to shape, so that plans follow from them (Note: formulas).

Shapes that a program meets differ in a few numbers: a length, and what is computed of it. Which of a graph's
extents, strides and offsets these are is seen from some of its shapes, and is called a *sketch*: what was
equal in all of them is one number. Shapes that agree with a sketch have new values of its numbers, and every
other extent as it was. For them, stages' plans are tapes, recorded for one of the shapes that the sketch was
made of: numbers that are equal by chance are compared like any others, and come out otherwise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from .....config import settings
from .....graph.geometry import Family, Geometry
from .....graph.node import Signature
from .....size import Size
from ...plan import Plan
from ...quantity import Tape
from .formulas import Record, StageFormulas, formulas_of
from .stages import Planned
from .varying import Part, alike, correspond, facts_of, geometries_of, taking, varies

_SHAPES = 4         # that were planned before formulas are looked for,
_COMPARED = 8       # and of which a sketch is made at most, the latest ones
_SKETCHES = 8       # of one pattern: shapes that agree with none of them are planned by templates

class Sketch:
    """Which numbers of some nodes' geometries vary.

    ``members``: positions of the nodes; ``which``: of the geometries of all their operands, results and
    attributes, which of the distinct ones they are. ``classes``: of all integers of these which number they
    are, of ``constants`` first and then of the numbers that vary. ``at``: of each member, where its
    geometries are among all. ``steady``: members that were the same in all shapes; ``again``: pairs of those
    that were always the same as one before; ``varied``: the others.
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
        self.steady = [k for k in members if len({*kinds[k]}) == 1]
        varied: dict[Any, int] = {}     # members that were not always the same as one before
        pairs = [(k, varied.setdefault(kinds[k], k)) for k in members if len({*kinds[k]}) > 1]
        self.again = [pair for pair in pairs if pair[0] != pair[1]]
        self._again, self._before = taking([k for k, _ in self.again]), taking([k for _, k in self.again])
        self.varied = [*varied.values()]
        self._varied = Part(self.varied, shapes)
        self._varied.number(place, self.constants)
        self._steady_of = taking(self.steady)
        self._steady_ones = list(self._steady_of(shapes[0]))
        self._stages: dict[int, Own | None] = {}
        self._starts = [*accumulate(self._lengths, initial=0)]
        self.at: dict[int, int] = {}
        count = 0
        for k in members:
            self.at[k] = count
            count += len(geometries_of([shapes[-1][k]]))

    def numbers(self, signatures: Sequence[Signature]) -> Sequence[int] | None:
        """The numbers that vary; None where signatures do not agree with the sketch."""
        if self.threads != settings.threads:
            return None
        known = list(self._steady_of(signatures)) == self._steady_ones \
            and self._again(signatures) == self._before(signatures)
        return (self._varied if known else self._whole).numbers(signatures)

    def classes_of(self, kind: int) -> Sequence[int]:
        """Which numbers the integers of one of the distinct geometries are."""
        return self.classes[self._starts[kind]:self._starts[kind + 1]]

    def of_stage(self, stage: int, planned: Planned, signatures: Sequence[Signature]) -> Own | None:
        """The formulas of a stage; None of one that has other members than the sketch."""
        if stage not in self._stages:
            self._stages[stage] = self._own(planned, signatures)
        return self._stages[stage]

    def _own(self, planned: Planned, signatures: Sequence[Signature]) -> Own | None:
        members = planned.members
        if not self.at.keys() >= {*members}:
            return None
        own = [signatures[k] for k in members]
        count, places = len(self.constants), dict[int, int]()
        met: dict[int, int] = {}
        said: list[Any] = [planned.form, self.threads, *[(s.operator, alike(s), s.form) for s in own]]
        for k, s in zip(members, own):
            for n, g in enumerate(geometries_of([s]), self.at[k]):
                kind = self.which[n]
                if kind not in met:
                    said.append((facts_of(g), *[
                        self.constants[c] if c < count else (places.setdefault(c - count, len(places)),)
                        for c in self.classes_of(kind)]))
                said.append(met.setdefault(kind, len(met)))
        own_classes = [c for kind in met for c in self.classes_of(kind)]
        constants = {self.constants[c] for c in own_classes if c < count}
        return Own(formulas_of(tuple(said)), [*places], taking([*places]),
                   None if planned.form is None else frozenset((0, 1, *constants)))

    def plan(self, stage: int, planned: Planned, signatures: Sequence[Signature],
             numbers: Sequence[int]) -> Plan | None:
        """A stage's plan; None where no formula holds."""
        own = self.of_stage(stage, planned, signatures)
        return None if own is None else own.formulas.plan(own.take(numbers))

    def learn(self, stage: int, planned: Planned, signatures: Sequence[Signature], numbers: Sequence[int],
              plan: Plan, record: Record) -> bool:
        """Find the formula of a stage that has this plan for shapes that agree with the sketch."""
        own = self.of_stage(stage, planned, signatures)
        if own is None:
            return False
        taken = own.take(numbers)
        if own.apart is not None and len(own.apart.union(taken)) < len(own.apart) + len(taken):
            return own.formulas.find(taken) is not None

        def on(tape: Tape) -> Plan | None:
            given: list[Any] = [None] * len(numbers)
            for place, number in zip(own.places, tape.given):
                given[place] = number
            return record([signatures[k] for k in planned.members],
                          self.on_tape(given, planned.members, signatures))
        return own.formulas.learn(taken, plan, on)

    def on_tape(self, given: Sequence[Any], members: list[int],
                signatures: Sequence[Signature]) -> list[Signature]:
        """Signatures of which the numbers that vary are quantities."""
        values: list[Any] = [*self.constants, *given]
        made: dict[int, Any] = {}
        found = []
        for k in members:
            each = iter(self.which[self.at[k]:])

            def taped(g: Any, each: Any = each) -> Any:
                if not varies(g):
                    return g
                n = next(each)
                if n not in made:
                    made[n] = _with_numbers(g, [values[c] for c in self.classes_of(n)])
                return made[n]
            found.append(_signature(signatures[k], taped))
        return found


class Own(NamedTuple):
    """A stage's formulas, and which of a sketch's numbers they are given.

    ``apart``: what the numbers of a fused kernel must differ from, and from each other, where its formula is
    recorded: of what kind it is is not asked of the numbers on the tape (Note: kinds).
    """

    formulas: StageFormulas
    places: list[int]
    take: Callable[[Any], Any]
    apart: frozenset[int] | None


def _with_numbers(g: Any, integers: list[Any]) -> Any:
    """A geometry, a shape or a number with other numbers."""
    if g.__class__ is Geometry:
        return _geometry(g, integers)
    if g.__class__ is int:
        return integers[0]
    each = iter(integers)
    return g.__class__([n if n is None else next(each) for n in g])


def _geometry(g: Geometry, integers: list[Any]) -> Geometry:
    """A geometry with other numbers; what is known of them without looking stays."""
    ndim = g.ndim
    family = Family.__new__(Family)
    family.shape, family.strides = Size(integers[:ndim]), tuple(integers[ndim:2 * ndim])
    family.dtype, family.device, family.ndim, family.is_contiguous = g.dtype, g.device, ndim, g.is_contiguous
    family.numel = Size.numel(family.shape)
    family.span = 1 + sum([(n - 1) * s for n, s in zip(family.shape, family.strides)])
    family.order = family.steps = family.flat = family.gapless = None
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


class Sketches:
    """The sketches of the shapes of a pattern."""

    __slots__ = ("sketches", "shapes", "_latest")

    def __init__(self, first: Sequence[Signature]) -> None:
        self.sketches: list[Sketch] = []
        self.shapes = 0     # that were planned,
        self._latest = deque([first], _COMPARED)     # and the latest of these

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

    def sketch(self, stages: Sequence[list[int]],
               new: Sequence[Signature]) -> tuple[Sketch, Sequence[int]] | None:
        """A new sketch, and the numbers, of a shape that agrees with none.

        None where there are enough, or it pays not yet.

        Stages with attributes or numbers of dimensions that vary are left out.
        """
        self.shapes += 1
        self._latest.append(new)
        if self.shapes < _SHAPES or len(self.sketches) >= _SKETCHES:
            return None
        members = [k for own in stages
                   if all(correspond(old[k], new[k]) for old in self._latest for k in own) for k in own]
        if not members:
            return None
        made = Sketch(members, self._latest)
        numbers = made.numbers(new)
        if numbers is None:
            return None
        self.sketches.insert(0, made)
        return made, numbers
