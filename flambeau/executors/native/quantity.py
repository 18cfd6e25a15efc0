"""Numbers that remember how they were computed.

Note: formulas. A template is a Python function of extents and strides. Run once on *quantities* in their
place, it leaves a tape: what was added to and multiplied with what, and how each comparison came out. The
tape, written as a function, gives for the numbers of another shape what the template would give, as long as
every comparison comes out as it did; else it gives nothing, and the template is asked. That takes a fraction
of the template's time: between two steps the caches have forgotten a template's code, and there is little of
this one.

A quantity is no ``int`` and cannot be made one, so nothing can be lost on the way: what would need the number
itself (``range``, a key of a dictionary, an array) raises ``TypeError``, and the template has no tape.
Decisions that come out differently for every other shape (how many tasks) are functions decorated as
``whole``: they are one step of the tape, and are called anew.
"""

from __future__ import annotations

import functools
import marshal
import operator
import sys
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, ParamSpec, TypeVar

from .llvm.compiling import disk

_SIGNS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.floordiv: "//", operator.mod: "%",
          operator.truediv: "/", operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=",
          operator.gt: ">", operator.ge: ">="}

P = ParamSpec("P")
R = TypeVar("R")

Step = tuple[Callable[..., Any], Any, int, Any]
_LONG = 1000        # characters of a formula that takes longer to be compiled than to be read from disk
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

    Places: those of the numbers come first, then results; constants are counted down from -1. A step is a
    function, the places of both operands, or of all in a tuple, and how a comparison came out, or how many
    results a call has.
    """

    def __init__(self, numbers: Sequence[int]) -> None:
        self.given = [Quantity(self, k, number) for k, number in enumerate(numbers)]
        self.constants: list[Any] = []
        self.values: list[Any] = [*numbers]     # of each place, what it was
        self._steps: list[Step] = []
        self._results: list[int] = []       # of each step its place, or that of no result: -1
        self._known: dict[Any, Any] = {}
        self._names: dict[int, tuple[str, Any]] = {}

    def compute(self, function: Callable[..., Any], a: Any, b: Any) -> Any:
        """A step whose result is a quantity."""
        if not _is_number(a) or not _is_number(b):
            return NotImplemented
        plain = _PLAIN.get(function)
        if plain is not None and (found := plain(a, b)) is not None:
            return found
        key = function, self.place_of(a), self.place_of(b)
        if key not in self._known:
            self._known[key] = self._push((*key, None), function(value_of(a), value_of(b)))
        return self._known[key]

    def decide(self, function: Callable[..., Any], a: Any, b: Any) -> Any:
        """A comparison, which must come out as it does now."""
        if not _is_number(a) or not _is_number(b):
            return NotImplemented
        key = function, self.place_of(a), self.place_of(b)
        if key not in self._known:
            self._known[key] = found = function(value_of(a), value_of(b))
            self._steps.append((*key, found))
            self._results.append(-1)
        return self._known[key]

    def call(self, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """A step that is a function of numbers; results that are not numbers must be the same again."""
        places = tuple(map(self.place_of, arguments))
        key = function, places
        if key not in self._known:
            value = function(*map(value_of, arguments))
            several = len(value) if isinstance(value, tuple) else None
            whole = self._push((function, places, _CALL, several), value)
            if isinstance(value, tuple):    # its parts have the places after its own
                parts = [self._push((operator.getitem, whole.place, whole.place, None), x) for x in value]
                self._known[key] = tuple(map(self._settled, parts))
            else:
                self._known[key] = self._settled(whole)
        return self._known[key]

    def include(self, other: Tape, given: Sequence[Quantity]) -> Callable[[Any], Any]:
        """Compute here what another tape did of its numbers of these; what finds its numbers here."""
        known: dict[int, Any] = dict(enumerate(given))

        def own(place: int) -> Any:
            return known[place] if place >= 0 else other.constants[-1 - place]
        for (function, a, b, outcome), result in zip(other._steps, other._results):
            if a.__class__ is tuple:
                known[result] = found = self.call(function, [*map(own, a)])
                if outcome is not None:     # its parts have the places after its own
                    known.update(enumerate(found, result + 1))
            elif function is not operator.getitem:
                found = function(own(a), own(b))    # a decision is one here, too
                if result >= 0:
                    known[result] = found
        return lambda x: own(x.place) if x.__class__ is Quantity else x

    def _settled(self, x: Quantity) -> Any:
        if type(x.value) in (int, float):
            return x
        self._steps.append((operator.eq, x.place, self.place_of(x.value), True))
        self._results.append(-1)
        return x.value

    def _push(self, step: Step, value: Any) -> Quantity:
        made = Quantity(self, len(self.values), value)
        self._steps.append(step)
        self._results.append(made.place)
        self.values.append(value)
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

    def function(self, wanted: Any) -> Callable[..., Any]:
        """What gives ``wanted`` (numbers, quantities and tuples of such) for other numbers than those given.

        It gives None where a comparison comes out otherwise.
        """
        lines = [self._line(step, result) for step, result in self.steps(wanted)]
        given = ", ".join([f"x{k}" for k in range(len(self.given))])
        text = "\n".join([f"def formula({given}):", *lines, f" return {self._text(wanted)}"])
        namespace = dict(self._names.values())
        exec(_compiled(text), namespace)
        found: Callable[..., Any] = namespace["formula"]
        return found

    def steps(self, wanted: Any) -> list[tuple[Step, int]]:
        """The steps that ``wanted`` needs, and the place of each one's result (-1: a decision has none).

        What takes a part of a call's results is none: they have the places after the call's own.
        """
        needed = set(self._places_in(wanted))
        found: list[tuple[Step, int]] = []
        for step, result in zip(reversed(self._steps), reversed(self._results)):
            if result < 0 or result in needed:
                needed.update(step[1] if step[1].__class__ is tuple else step[1:3])
                if step[0] is not operator.getitem:     # the call before has named all of its results
                    found.append((step, result))
        found.reverse()
        return found

    def _places_in(self, wanted: Any) -> list[int]:
        if wanted.__class__ is tuple:
            return [place for x in wanted for place in self._places_in(x)]
        return [wanted.place] if wanted.__class__ is Quantity else []

    def _line(self, step: Step, result: int) -> str:
        function, a, b, outcome = step
        if function is LEAST or function is MOST:     # mostly: a call takes longer
            x, y = map(self._register, a)
            said = f"{x} if {x} {'<' if function is LEAST else '>'} {y} else {y}"
        elif a.__class__ is tuple:
            said = f"{self._named(function)}({', '.join(map(self._register, a))})"
            if outcome is not None:
                return f" {', '.join([f'x{result + k}' for k in range(1, outcome + 1)])}, = {said}"
        else:
            said = f"{self._register(a)} {_SIGNS[function]} {self._register(b)}"
        if result >= 0:
            return f" x{result} = {said}"
        return f" if {'not ' if outcome else ''}({said}): return None"

    def _register(self, place: int) -> str:
        return f"x{place}" if place >= 0 else self._text(self.constants[-1 - place])

    def _text(self, x: Any) -> str:
        if x.__class__ is Quantity:
            return self._register(x.place)
        if x.__class__ is tuple:
            return f"({''.join([self._text(y) + ',' for y in x])})"
        return str(x) if x.__class__ is int else self._named(x)

    def _named(self, x: Any) -> str:
        """What cannot be written down has a name."""
        return self._names.setdefault(id(x), (f"c{len(self._names)}", x))[0]


def _compiled(text: str) -> CodeType:
    """What Python makes of a text; that of a long one, which takes milliseconds, is kept on disk."""
    if len(text) < _LONG:
        return compile(text, "<formula>", "exec")
    key = disk.key_of("formula", text, sys.version)
    kept = disk.load(key)
    code: CodeType = compile(text, "<formula>", "exec") if kept is None else marshal.loads(kept)
    if kept is None:
        disk.store(key, marshal.dumps(code))
    return code


def _is_number(x: Any) -> bool:
    return x.__class__ is Quantity or x.__class__ in _NUMBERS


def _sum(a: Any, b: Any) -> Any:
    return b if _is(a, 0) else a if _is(b, 0) else None


def _difference(a: Any, b: Any) -> Any:
    return a if _is(b, 0) else None


def _product(a: Any, b: Any) -> Any:
    if _is(a, 1) or _is(b, 1):
        return b if _is(a, 1) else a
    whole = value_of(a).__class__ is int and value_of(b).__class__ is int
    return 0 if whole and (_is(a, 0) or _is(b, 0)) else None


def _quotient(a: Any, b: Any) -> Any:
    return a if _is(b, 1) and value_of(a).__class__ is int else None


def _is(x: Any, number: int) -> bool:
    return x.__class__ is int and x == number


# What is known of a result without a step: None if nothing is.
_PLAIN: dict[Any, Callable[[Any, Any], Any]] = {
    operator.add: _sum, operator.sub: _difference, operator.mul: _product, operator.floordiv: _quotient}


def value_of(x: Any) -> Any:
    """A number as it was on its tape."""
    return x.value if x.__class__ is Quantity else x


def held(x: Any) -> int:
    """A number on which code depends, as it was on its tape, which is held to it."""
    if x.__class__ is Quantity:
        x.tape.decide(operator.eq, x, x.value)
    return int(value_of(x))


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


@whole
def at_once(enough: float, each: float) -> int:
    """How many of something make enough, once at least."""
    return max(1, int(enough / each))


LEAST: Any = least.__wrapped__  # type: ignore[attr-defined]   # as tapes know them
MOST: Any = most.__wrapped__    # type: ignore[attr-defined]
