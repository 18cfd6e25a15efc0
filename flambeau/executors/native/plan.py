"""Plans: what a signature, or a fused kernel, is computed by in native code.

A plan is a list of calls that run one after the other. A call is a function ``f(begin, end, words, scratch)``
over ``tasks`` that may run in any order and on any thread: the result must not depend on how they are shared.
``words`` is a block of 64-bit arguments: extents and strides as they are, and places for what is only known
when the plan runs (pointers, numbers). Operands are named (member, operand): of a template the one member
is its node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from ...graph.node import Signature
from ...graph.recent import Recent
from .quantity import most

_places: Recent[Any, Any] = Recent(1 << 12)


class Words:
    """The arguments of a call under construction: each method returns the position, for ``Function.word``.

    ``input(operand)``: pointer to the first element that the operand's geometry reads (None: ``again`` will
    say). ``output(result)``: pointer to a result. ``number(operand, dtype)``: a Python number.
    ``workspace(offset)``: pointer into memory that the plan's calls share. ``function(address)``: a function
    that the call calls. ``status()``: pointer to an i64 that a kernel sets to 1 where an operand's values are
    not allowed (an index out of range): it must then still write only inside its results; the program stops
    there, and the interpreter computes the node again to report the error.
    """

    __slots__ = ("values", "inputs", "shifts", "outputs", "numbers", "workspaces", "rooms", "functions",
                 "status_word", "places")

    def __init__(self) -> None:
        self.values: Any = []
        self.inputs: Any = []       # (word, member, operand)
        self.shifts: Any = []       # of each input: bytes to its first element
        self.outputs: Any = []      # (word, member, result)
        self.numbers: Any = []      # (word, dtype, member, operand)
        self.workspaces: Any = []
        self.rooms: Any = []        # of each workspace: its offset
        self.functions: Any = ()    # (word, address), as ``Call.function``
        self.status_word: int | None = None
        self.places: Any = None     # how many words there are, and what is in which, once there are no more

    def again(self, constants: Sequence[int], shifts: Sequence[int], rooms: Sequence[int] = ()) -> Words:
        """The same words with other values: the first ones are known now, the others when the plan runs."""
        return self.filled(_words([*constants, *[0] * (self.places[0] - len(constants))]), tuple(shifts),
                           tuple(rooms))

    def filled(self, values: Any, shifts: tuple[int, ...], rooms: tuple[int, ...]) -> Words:
        """The same words with these values, as they are."""
        made = Words.__new__(Words)
        made.values, made.shifts, made.rooms = values, shifts, rooms
        made.inputs, made.outputs, made.numbers = self.inputs, self.outputs, self.numbers
        made.workspaces, made.functions, made.status_word = self.workspaces, self.functions, self.status_word
        made.places = self.places
        return made

    def close(self) -> None:
        """No more words. Many plans are kept: they share what does not depend on shapes.

        So the garbage collector, which goes through all that is kept, has little to go through.
        """
        if self.places is not None:
            return
        places = (len(self.values), tuple(self.inputs), tuple(self.outputs), tuple(self.numbers),
                  tuple(self.workspaces), self.status_word)
        self.places = _places.get(places) or _places.recall(places) or _places.keep(places, places)
        _, self.inputs, self.outputs, self.numbers, self.workspaces, _ = self.places
        self.shifts, self.rooms = tuple(self.shifts), tuple(self.rooms)
        self.values = _words(self.values)

    def to_workspace(self, room: int, *, operand: int | None = None, result: int | None = None) -> None:
        """Once closed: let what stands for an operand that begins there, or a result, point to ``room``."""
        taken = [word for word, _, i in self.inputs if i == operand] \
            + [word for word, _, k in self.outputs if k == result]
        kept = [k for k, (_, _, i) in enumerate(self.inputs) if i != operand]
        self.inputs, self.shifts = [self.inputs[k] for k in kept], [self.shifts[k] for k in kept]
        self.outputs = [x for x in self.outputs if x[2] != result]
        self.workspaces, self.rooms = [*self.workspaces, *taken], [*self.rooms, *[room] * len(taken)]
        self.places = None
        self.close()

    def _place(self, value: int = 0) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def constant(self, *values: SupportsIndex) -> int:
        """Integers known now; the position of the first."""
        first = len(self.values)
        self.values += values
        return first

    def real(self, value: float, dtype: Any = np.float64) -> int:
        """A floating number known now, in the type in which the kernel reads it."""
        word = np.zeros(1, np.int64)
        word.view(dtype)[0] = value
        return self._place(int(word[0]))

    def input(self, operand: int, geometry: Any, member: int = 0, skipped: int = 0) -> int:
        """A pointer to an operand, behind so many of its elements."""
        word = len(self.values)
        self.inputs.append((word, member, operand))
        self.shifts.append(0 if geometry is None else (geometry.offset + skipped) * geometry.dtype.itemsize)
        self.values.append(0)
        return word

    def output(self, result: int = 0, member: int = 0) -> int:
        word = len(self.values)
        self.outputs.append((word, member, result))
        self.values.append(0)
        return word

    def number(self, operand: int, dtype: Any, member: int = 0) -> int:
        self.numbers.append((len(self.values), np.dtype(dtype), member, operand))
        return self._place()

    def workspace(self, offset: int = 0) -> int:
        self.workspaces.append(len(self.values))
        self.rooms.append(offset)
        return self._place()

    def function(self, address: SupportsIndex) -> int:
        self.functions = (*self.functions, (len(self.values), address))
        return self._place()

    def status(self) -> int:
        self.status_word = len(self.values)
        return self._place()


def _words(values: Any) -> Any:
    """Integers as the kernel reads them; quantities (Note: formulas) stay what they are."""
    try:
        return np.asarray(values, np.int64)
    except TypeError:
        return values


class Call:
    """One function and its arguments. ``grain``: how many tasks a thread takes at a time."""

    __slots__ = ("function", "words", "tasks", "grain", "scratch", "values")

    def __init__(self, function: SupportsIndex, words: Words, tasks: int, grain: int = 1,
                 scratch: int = 0) -> None:
        self.function = function    # its address, an integer when one is wanted
        self.words = words
        self.tasks = tasks
        self.grain = most(grain, 1)
        self.scratch = scratch      # bytes that each thread has for itself, aligned to 64
        words.close()
        self.values = words.values


class Plan:
    """Calls in order.

    ``in_place``: (operand, result) pairs, result in the operand's memory; the operator must own the operand.
    ``reuses``: pairs of which the result may lie there, if nobody needs the operand afterwards.
    ``workspace``: bytes that the calls share, aligned to 64, of undefined content. ``flops`` and ``traffic``
    (bytes read and written) are the model from which ``nanoseconds``, the modelled time on one thread, is
    estimated where the template does not give it.
    """

    __slots__ = ("calls", "workspace", "in_place", "reuses", "flops", "traffic", "nanoseconds")

    def __init__(self, calls: Sequence[Call], *, workspace: int = 0,
                 in_place: Sequence[tuple[int, int]] = (), reuses: Sequence[tuple[int, int]] = (),
                 flops: float = 0.0, traffic: float = 0.0, nanoseconds: float = 0.0) -> None:
        self.calls = tuple(calls)
        self.workspace = workspace
        self.in_place = tuple(in_place)
        self.reuses = tuple(reuses)
        self.flops = flops
        self.traffic = traffic
        self.nanoseconds = nanoseconds or flops / 100.0 + traffic / 10.0


def total_nanoseconds(plans: Sequence[Plan]) -> Any:
    """Modelled time of all, added one by one as formulas add: ``sum`` rounds otherwise since Python 3.12."""
    total: Any = 0
    for plan in plans:
        total = total + plan.nanoseconds
    return total


# What makes the plan of an operator's signatures; None where it has no native form for one.
Template = Callable[[Signature], Plan | None]
