"""What varies in some signatures, and whether others differ from them in that alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

from .....graph.geometry import Geometry
from .....graph.node import Signature
from .....size import Size

_attributes = attrgetter("attributes", "compute")
_compute, _ends, _said = attrgetter("compute"), attrgetter("geometries", "outputs"), attrgetter("attributes")
# What varies with the shapes, wherever it is in a signature: of attributes numbers, too (how many of the
# largest), and tuples of them.
_VARYING = frozenset((Geometry, Size, int))
_INTEGERS = {int}, {int, type(None)}    # (0, None, 5, 1): what a slice is said to be


def varies(x: Any) -> bool:
    """Whether this is something that varies with the shapes."""
    return x.__class__ in _VARYING or (x.__class__ is tuple and {*map(type, x)} in _INTEGERS)


class Part:
    """Some of a sketch's members, from whose integers its numbers are read.

    Those alone that vary, mostly: the others are the same signatures as ever. ``which``: of all their
    geometries, which of the distinct ones they are; ``lengths``: how many integers these have; ``values``: of
    each of these what it is in all shapes.

    Geometries are interned: which of them are the same is seen without reading them, and most are.
    """

    __slots__ = ("which", "lengths", "values", "_of", "_plain_of", "_plain", "_others_of", "_others",
                 "_fixed_of", "_fixed", "_facts_of", "_facts", "_again", "_before", "_distinct", "_constants",
                 "_values", "_classes", "_count")

    def __init__(self, members: list[int], shapes: Sequence[Sequence[Signature]]) -> None:
        self._of = taking(members)
        own = [*map(self._of, shapes)]
        latest = own[-1]
        others = [k for k, s in enumerate(latest) if any(map(varies, s.attributes))]
        self._plain_of = taking([k for k in range(len(latest)) if k not in others])
        self._others_of = taking(others)
        self._plain = [*map(_attributes, self._plain_of(latest))]
        geometries = [*map(geometries_of, own)]
        known: dict[Any, int] = {}
        self.which = [known.setdefault(each, len(known)) for each in zip(*geometries)]
        firsts = [self.which.index(k) for k in range(len(known))]
        first = taking(firsts)
        self.lengths = [len(_integers([g])) for g in first(geometries[-1])]
        self.values = list(zip(*[_integers(first(each)) for each in geometries]))
        at = self._places(latest)
        again = [(at[n], at[firsts[kind]]) for n, kind in enumerate(self.which) if firsts[kind] != n]
        self._again, self._before = taking([n for n, _ in again]), taking([n for _, n in again])
        self._distinct = taking([at[n] for n in firsts])
        self._see_attributes(latest, dict(zip(at, self.which)))

    def _see_attributes(self, own: Sequence[Signature], which: dict[int, int]) -> None:
        """What is the same of signatures with attributes that vary.

        ``which``: by their places among all, of all that varies. What is always as something before is of
        the same kind, if it may be as much.
        """
        every, said = self._all(own)
        self._others = self._kinds_of(self._others_of(own), said)
        first = len(every) - len(said)
        self._fixed_of = taking([k for k in range(first, len(every)) if k not in which])
        self._fixed = self._fixed_of(every)
        is_any = [may_be_any(s, x) for s in self._others_of(own) for x in s.attributes]
        distinct = {(which[k], is_any[k - first]): k for k in range(len(every) - 1, first - 1, -1)
                    if k in which}
        self._facts_of = [(taking([k for (_, any_of), k in distinct.items() if any_of is wanted]), facts)
                          for wanted, facts in ((True, _facts_of_any), (False, facts_of))]
        self._facts = self._facts_in(every)

    def _facts_in(self, every: list[Any]) -> list[Any]:
        """What does not vary of the attributes that do."""
        return [[*map(facts, taken(every))] for taken, facts in self._facts_of]

    @staticmethod
    def _kinds_of(others: Sequence[Signature], said: list[Any]) -> tuple[list[Any], ...]:
        """In what types signatures compute, how many attributes they have, and of which types these are."""
        return [*map(_compute, others)], [len(s.attributes) for s in others], [*map(type, said)]

    def number(self, place: dict[tuple[int, ...], int], constants: list[int]) -> list[int]:
        """Of the distinct geometries' integers which number they are, by their places, constants first."""
        classes = [place[values] for values in self.values]
        self._constants = constants
        self._values = taking([classes.index(k) for k in range(len(constants), len(place))])
        self._classes, self._count = taking(classes), len(classes)
        return classes

    def _all(self, own: Sequence[Signature]) -> tuple[list[Any], list[Any]]:
        """All operands and results of signatures, then the attributes of those of which some vary; these."""
        said = [*chain.from_iterable(map(_said, self._others_of(own)))]
        return [*chain.from_iterable(chain.from_iterable(map(_ends, own))), *said], said

    def _places(self, own: Sequence[Signature]) -> list[int]:
        """Where among all these the geometries are, in the order of ``geometries_of``."""
        found: list[int] = []
        attribute = sum([len(s.geometries) + len(s.outputs) for s in own])
        end = 0
        for s in own:
            ends = *s.geometries, *s.outputs
            found += [k for k, g in enumerate(ends, end) if g.__class__ is Geometry]
            end += len(ends)
            varying = [*map(varies, s.attributes)]
            if any(varying):
                found += [k for k, is_one in enumerate(varying, attribute) if is_one]
                attribute += len(varying)
        return found

    def numbers(self, signatures: Sequence[Signature]) -> Sequence[int] | None:
        """The numbers that vary; None where these signatures are not as the sketch has them."""
        own = self._of(signatures)
        # Of operands and results, forms tell what kind they are (Note: known graphs).
        if [*map(_attributes, self._plain_of(own))] != self._plain:
            return None
        every, said = self._all(own)
        if said and (self._kinds_of(self._others_of(own), said) != self._others
                     or self._fixed_of(every) != self._fixed or self._facts_in(every) != self._facts):
            return None
        if self._again(every) != self._before(every):
            return None
        integers = _integers(self._distinct(every))
        if len(integers) != self._count:
            return None
        found = self._values(integers)
        return found if [*self._classes([*self._constants, *found])] == integers else None


def geometries_of(signatures: Sequence[Signature]) -> list[Any]:
    """All that varies in signatures: geometries, and attributes like them."""
    found = []
    for s in signatures:
        found += [g for g in (*s.geometries, *s.outputs) if g.__class__ is Geometry]
        if s.attributes:
            found += filter(varies, s.attributes)
    return found


def may_be_any(signature: Signature, attribute: Any) -> bool:
    """Whether an attribute's numbers may be any, 0 and 1 being nothing special.

    So it is where a part begins that is cut out or written: its template compares what it asks of.
    """
    return attribute.__class__ is tuple and signature.operator.kind == "move"


def facts_of(g: Any) -> Any:
    """What does not vary: of a shape alone, too, which extents are 0 and 1."""
    if g.__class__ is Geometry:
        return g.family.kind
    if g.__class__ is int:
        return int
    return tuple([n if n is None else min(n, 2) for n in g]) if varies(g) else None


def _facts_of_any(g: Any) -> Any:
    """The same of numbers of which 0 and 1 are nothing special."""
    return tuple([n is None for n in g]) if varies(g) else None


def alike(signature: Signature) -> Any:
    """What signatures that differ in their geometries have in common; a part written to is an attribute."""
    attributes = signature.attributes
    if attributes:
        attributes = tuple([(x.__class__, _rank(x)) if varies(x) else x for x in attributes])
    return attributes, signature.compute


def _rank(x: Any) -> Any:
    return 0 if x.__class__ is int else x.ndim if x.__class__ is Geometry else tuple([n is None for n in x])


def correspond(old: Signature, new: Signature) -> bool:
    """Whether each integer of one's geometries has its like in the other's."""
    return old is new or (old.form == new.form and alike(old) == alike(new))


def taking(places: list[int]) -> Callable[[Any], Any]:
    """What takes the elements at some places, as a sequence."""
    return itemgetter(*places) if len(places) > 1 else lambda all_of: [all_of[k] for k in places]


def _integers(geometries: Sequence[Any]) -> list[int]:
    """Of each geometry shape, strides and offset."""
    return [*chain.from_iterable([(*g.shape, *g.strides, g.offset) if g.__class__ is Geometry else
                                  (g,) if g.__class__ is int else
                                  g if g.__class__ is Size else [n for n in g if n is not None]
                                  for g in geometries])]
