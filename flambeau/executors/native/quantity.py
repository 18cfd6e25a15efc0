"""Numbers that remember how they were computed.

Note: formulas. A template is a Python function of extents and strides. Run once on *quantities* in their
place, it leaves a tape: what was added to and multiplied with what, and how each comparison came out. The
tape, played with the numbers of another shape, gives what the template would give, as long as every
comparison comes out as it did; else it gives nothing, and the template is asked. Played in one small loop, a
tape takes a fraction of the template's time: between two steps the caches have forgotten a template's code.

A quantity is no ``int`` and cannot be made one, so nothing can be lost on the way: what would need the number
itself (``range``, a key of a dictionary, an array) raises ``TypeError``, and the template has no tape.
Decisions that come out differently for every other shape (how many tasks) are functions decorated as
``whole``: they are one step of the tape, and are called anew.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

Step = tuple[Callable[..., Any], Any, int, Any]
_OPEN = object()    # of a step that computes: it may come out as it likes
_CALL = -1          # instead of a second operand: the first names all of them


class Quantity:
    """A number on a tape: ``value`` is what it was there, ``place`` the register that holds it."""

    __slots__ = ("tape", "place", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tape: Tape, place: int, value: Any) -> None:
        self.tape = tape
        self.place = place
        self.value = value

    def __repr__(self) -> str:
        return f"Quantity({self.value})"

    def __format__(self, spec: str) -> str:
        raise TypeError("a quantity is no text")

    def __str__(self) -> str:
        raise TypeError("a quantity is no text")

    def __bool__(self) -> bool:
        return self.tape.decide(operator.ne, self, 0)

    def __neg__(self) -> Any:
        return self.tape.compute(operator.sub, 0, self)

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __add__(self, other: Any) -> Any:
        return self.tape.compute(operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return self.tape.compute(operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return self.tape.compute(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.tape.compute(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return self.tape.compute(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.tape.compute(operator.mul, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self.tape.compute(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self.tape.compute(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return self.tape.compute(operator.mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return self.tape.compute(operator.mod, other, self)

    def __truediv__(self, other: Any) -> Any:
        return self.tape.compute(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.tape.compute(operator.truediv, other, self)

    def __eq__(self, other: object) -> bool:
        return self.tape.decide(operator.eq, self, other)

    def __ne__(self, other: object) -> bool:
        return self.tape.decide(operator.ne, self, other)

    def __lt__(self, other: Any) -> bool:
        return self.tape.decide(operator.lt, self, other)

    def __le__(self, other: Any) -> bool:
        return self.tape.decide(operator.le, self, other)

    def __gt__(self, other: Any) -> bool:
        return self.tape.decide(operator.gt, self, other)

    def __ge__(self, other: Any) -> bool:
        return self.tape.decide(operator.ge, self, other)


_NUMBERS = (int, float, bool)


class Tape:
    """What was computed of some numbers.

    Places: those of the numbers come first, constants are counted down from -1, results up from there on.
    """

    def __init__(self, numbers: Sequence[int]) -> None:
        self.given = [Quantity(self, k, number) for k, number in enumerate(numbers)]
        self.constants: list[Any] = []
        self._steps: list[Step] = []
        self._results: list[int] = []       # of each step its place, or that of no result: -1
        self._places = len(numbers)
        self._known: dict[Any, Any] = {}

    def compute(self, function: Callable[..., Any], a: Any, b: Any) -> Any:
        """A step whose result is a quantity."""
        if not _is_number(a) or not _is_number(b):
            return NotImplemented
        key = function, self.place_of(a), self.place_of(b)
        if key not in self._known:
            self._known[key] = self._push((*key, _OPEN), function(_value(a), _value(b)))
        return self._known[key]

    def decide(self, function: Callable[..., Any], a: Any, b: Any) -> Any:
        """A comparison, which must come out as it does now."""
        if not _is_number(a) or not _is_number(b):
            return NotImplemented
        key = function, self.place_of(a), self.place_of(b)
        if key not in self._known:
            self._known[key] = found = function(_value(a), _value(b))
            self._steps.append((*key, found))
            self._results.append(-1)
        return self._known[key]

    def call(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """A step that is a function of numbers; what of its results is no number must come out as now."""
        places = tuple(map(self.place_of, arguments))
        key = function, places
        if key not in self._known:
            value = function(*map(_value, arguments))
            whole = self._push((function, places, _CALL, _OPEN), value)
            if isinstance(value, tuple):
                self._known[key] = tuple([self._part(whole, k) for k in range(len(value))])
            else:
                self._known[key] = self._settled(whole)
        return self._known[key]

    def _part(self, whole: Quantity, k: int) -> Any:
        step = operator.getitem, whole.place, self.place_of(k), _OPEN
        return self._settled(self._push(step, whole.value[k]))

    def _settled(self, x: Quantity) -> Any:
        if type(x.value) in (int, float):
            return x
        self._steps.append((operator.eq, x.place, self.place_of(x.value), True))
        self._results.append(-1)
        return x.value

    def _push(self, step: Step, value: Any) -> Quantity:
        made = Quantity(self, self._places, value)
        self._steps.append(step)
        self._results.append(self._places)
        self._places += 1
        return made

    def place_of(self, x: Any) -> int:
        """The register of a quantity, or of a constant."""
        if x.__class__ is Quantity:
            assert x.tape is self
            return int(x.place)
        key = "constant", type(x), x
        if key not in self._known:
            self.constants.append(x)
            self._known[key] = -len(self.constants)
        return int(self._known[key])

    def finish(self, wanted: Sequence[Any]) -> tuple[list[Step], list[int]]:
        """The steps that are needed, and where what is wanted is found.

        Registers then begin with the numbers, then the constants, then results, in order.
        """
        places = [self.place_of(x) for x in wanted]
        needed = set(places)
        kept: list[tuple[Step, int]] = []
        for step, result in zip(reversed(self._steps), reversed(self._results)):
            if result < 0 or result in needed:
                needed.update(step[1] if step[2] == _CALL and step[1].__class__ is tuple else step[1:3])
                kept.append((step, result))
        kept.reverse()
        first = len(self.given)
        at = {k: k for k in range(first)}
        at.update((-1 - k, first + k) for k in range(len(self.constants)))
        made = first + len(self.constants)
        steps: list[Step] = []
        for (function, a, b, outcome), result in kept:
            steps.append((function, tuple([at[k] for k in a]), _CALL, outcome) if a.__class__ is tuple else
                         (function, at[a], at[b], outcome))
            if result >= 0:
                at[result] = made
                made += 1
        return steps, [at[k] for k in places]


def _is_number(x: Any) -> bool:
    return x.__class__ is Quantity or x.__class__ in _NUMBERS


def _value(x: Any) -> Any:
    return x.value if x.__class__ is Quantity else x


def play(steps: Sequence[Step], registers: list[Any]) -> bool:
    """Play a tape: append its results to the registers; false where a comparison comes out otherwise."""
    push = registers.append
    for function, a, b, outcome in steps:
        found = function(registers[a], registers[b]) if b >= 0 else function(*[registers[k] for k in a])
        if outcome is _OPEN:
            push(found)
        elif found != outcome:
            return False
    return True


def whole(function: Callable[P, R]) -> Callable[P, R]:
    """Decorates a function of numbers (no keywords) that is one step of a tape (Note: formulas)."""
    @functools.wraps(function)
    def stepped(*arguments: P.args, **named: P.kwargs) -> R:
        for x in arguments:
            if x.__class__ is Quantity:
                return x.tape.call(function, arguments)
        return function(*arguments, **named)
    return stepped


@whole
def least(a: int, b: int) -> int:
    """The lesser of two numbers, where which of them it is decides nothing else."""
    return a if a < b else b


@whole
def most(a: int, b: int) -> int:
    """The greater of two numbers."""
    return a if a > b else b
