"""Tapes as they lie in memory, for native code to play (``playing.py``)."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...quantity import LEAST, MOST, Quantity, Step, Tape
from ..runtime.objects import address_of
from . import playing as at

_OPERATIONS = {operator.add: (at.ADD, at.ADD_REAL), operator.sub: (at.SUBTRACT, at.SUBTRACT_REAL),
               operator.mul: (at.MULTIPLY, at.MULTIPLY_REAL)}
_DIVISIONS = {operator.floordiv: at.QUOTIENT, operator.mod: at.REMAINDER}
# Comparisons: as what they are made, whether with their operands exchanged, and whether it is the contrary.
_COMPARISONS = {operator.eq: (at.EQUAL, False, False), operator.ne: (at.EQUAL, False, True),
                operator.lt: (at.LESS, False, False), operator.le: (at.LESS_EQUAL, False, False),
                operator.gt: (at.LESS, True, False), operator.ge: (at.LESS_EQUAL, True, False)}
_REAL_OF = {at.EQUAL: at.EQUAL_REAL, at.LESS: at.LESS_REAL, at.LESS_EQUAL: at.LESS_EQUAL_REAL}
_CHOICES = {LEAST: (at.LEAST, at.LEAST_REAL), MOST: (at.MOST, at.MOST_REAL)}
_SINGLE = -1


class Unplayable(Exception):
    """A tape has a step that native code has no counterpart of."""


class Played:
    """A tape's registers and the steps that ``wanted`` needs. Raises ``Unplayable``.

    ``kept``: what native code refers to by its address.
    """

    def __init__(self, tape: Tape, wanted: Any) -> None:
        self._tape = tape
        self.kept: list[Any] = []
        given = [x.value for x in tape.given]
        self._numbers: list[Any] = [*given, *[0] * (len(tape.values) - len(given))]
        self._constants: dict[tuple[type, Any], int] = {}
        self._reals: dict[int, int] = {}        # of registers of integers, those with the same as a real
        self._rows: list[tuple[int, int, int, int, int]] = []
        for step, result in tape.steps(wanted):
            self._step(step, result)

    def place_of(self, x: Any) -> int:
        """The register of a quantity or a number, in bytes."""
        if x.__class__ is Quantity:
            return 8 * int(x.place)
        key = x.__class__, x
        if key not in self._constants:
            self._constants[key] = 8 * self._new(x)
        return self._constants[key]

    def real_of(self, x: Any) -> int:
        """The register of a quantity or a number as a real, in bytes."""
        if x.__class__ is not Quantity:
            return self.place_of(float(x))
        return self._real(int(x.place)) if x.value.__class__ is int else self.place_of(x)

    def memory(self) -> tuple[Any, list[tuple[int, int, int, int, int]]]:
        """The registers, and the steps."""
        registers: Any = np.zeros(len(self._numbers), np.int64)
        for k, x in enumerate(self._numbers):
            (registers.view(np.float64) if x.__class__ is float else registers)[k] = x
        return registers, self._rows

    def _new(self, x: Any) -> int:
        if x.__class__ is int and not -1 << 63 <= x < 1 << 63:
            raise Unplayable
        self._numbers.append(x)
        return len(self._numbers) - 1

    def _value(self, place: int) -> Any:
        return self._tape.values[place] if place >= 0 else self._tape.constants[-1 - place]

    def _is_real(self, place: int) -> bool:
        kind = self._value(place).__class__
        if kind is float or kind is int or (kind is bool and place < 0):
            return kind is float
        raise Unplayable

    def _whole(self, place: int) -> int:
        """The register of an integer."""
        return 8 * place if place >= 0 else self.place_of(int(self._value(place)))

    def _real(self, place: int) -> int:
        """The register of a number as a real."""
        if self._is_real(place):
            return 8 * place if place >= 0 else self.place_of(self._value(place))
        if place < 0:
            return self.place_of(float(self._value(place)))
        if place not in self._reals:
            self._reals[place] = found = 8 * self._new(0.0)
            self._rows.append((at.TO_REAL, 8 * place, 8 * place, found, 0))
        return self._reals[place]

    def _step(self, step: Step, result: int) -> None:
        function, a, b, outcome = step
        if a.__class__ is tuple:
            if function in _CHOICES:
                x, y = a
                if self._is_real(x) != self._is_real(y) or self._value(result).__class__ is bool:
                    raise Unplayable
                self._push(_CHOICES[function], x, y, result)
            else:
                self._call(function, a, result, outcome)
        elif function in _COMPARISONS:
            self._compare(_COMPARISONS[function], a, b, outcome)
        elif function in _DIVISIONS:
            if self._is_real(a) or self._is_real(b):
                raise Unplayable
            self._rows.append((_DIVISIONS[function], self._whole(a), self._whole(b), 8 * result, 0))
        elif function is operator.truediv:
            self._rows.append((at.DIVIDE_REAL, self._real(a), self._real(b), 8 * result, 0))
        elif function in _OPERATIONS:
            self._push(_OPERATIONS[function], a, b, result)
        else:
            raise Unplayable

    def _push(self, kinds: tuple[int, int], a: int, b: int, result: int) -> None:
        if self._is_real(a) or self._is_real(b):
            self._rows.append((kinds[1], self._real(a), self._real(b), 8 * result, 0))
        else:
            self._rows.append((kinds[0], self._whole(a), self._whole(b), 8 * result, 0))

    def _compare(self, how: tuple[int, bool, bool], a: int, b: int, outcome: Any) -> None:
        if a >= 0 and self._value(a).__class__ not in (int, float):
            return      # a call's result, which is compared where it is taken
        kind, exchanged, contrary = how
        register = self._whole
        if self._is_real(a) or self._is_real(b):
            kind, register = _REAL_OF[kind], self._real
        x, y = (b, a) if exchanged else (a, b)
        self._rows.append((kind, register(x), register(y), 0, bool(outcome) != contrary))

    def _call(self, function: Any, arguments: Sequence[int], result: int, several: int | None) -> None:
        if len(arguments) > at.ARGUMENTS:
            raise Unplayable
        words = [id(function), len(arguments)]
        for place in arguments:
            value = self._value(place)
            if place < 0:
                self.kept.append(value)
                words += at.OBJECT, id(value)
            else:
                words += at.REAL if self._is_real(place) else at.WHOLE, 8 * place
        words.append(_SINGLE if several is None else several)
        for place in [result] if several is None else range(result + 1, result + 1 + several):
            value = self._value(place)
            if value.__class__ in (int, float):
                words += at.REAL if self._is_real(place) else at.WHOLE, 8 * place
            else:
                self.kept.append(value)
                words += at.OBJECT, id(value)
        record: Any = np.array(words, np.int64)
        self.kept += function, record
        self._rows.append((at.CALLED, address_of(record), 0, 0, 0))
