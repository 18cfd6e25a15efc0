"""Plans on disk: what planning found for a graph, for later processes.

Note: kept plans. Planning is a function of a graph's outline and signatures, of the CPU, the number of
threads and the package's own files: these are the key of a note (Note: notes), which names the plans' kernels
by their objects on disk. A process that finds it imports nothing that plans, or writes kernels. So what is on
disk decides how long a first step takes, and never what is computed. Plans of other shapes follow from those
of the shapes that came first: they are kept for the first few (a last batch, some lengths), under the key of
both. A note that does not read as it should counts as absent.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from operator import index
from typing import Any

from ..... import dtypes
from .....config import settings
from .....graph.node import Signature
from ....interpreter import lapack
from ...llvm.compiling import code, notes
from ...plan import Call, Plan, Words
from .outline import Outline
from .stages import Planned

_MOST = 256     # notes that a process writes: more are of graphs that never come back
_DTYPES = {dtype.numpy.name: dtype.numpy for dtype in dtypes.ALL}
_written = 0


def key_of(outline: Outline, signatures: Sequence[Signature], first: str = "") -> str | None:
    """The entry of the note on a graph; None where there can be none.

    ``first``: the entry of the graph of other shapes that it takes its stages from.
    """
    kinds = {signature: k for k, signature in enumerate(dict.fromkeys(signatures))}
    graph = repr((outline.sources, outline.counts, [kinds[signature] for signature in signatures]))
    return notes.key_of(Planned, (graph, settings.threads, sys.version, tuple(kinds), first))


def find(key: str | None) -> list[Planned] | None:
    """What computes a graph, if that is noted and the code is there."""
    note = None if key is None else notes.find(key)
    if note is None:
        return None
    try:
        objects = [code.functions_of(entry, names) for entry, names in note["objects"]]
        plans = [_plan(said, objects) for said in note["plans"]]
        forms = [_tuples(form) for form in note["forms"]]
        return [Planned(members, None if plan is None else plans[plan], None if form is None else forms[form])
                for members, plan, form in note["stages"]]
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def keep(key: str, planned: Sequence[Planned]) -> None:
    """Note what computes a graph, if that can be said."""
    global _written
    if _written >= _MOST:
        return
    said = _Said()
    try:
        stages = [[stage.members,
                   None if stage.plan is None else said.plans.number(stage.plan),
                   None if stage.form is None else said.forms.number(stage.form)] for stage in planned]
        plans = [said.plan(plan) for plan in said.plans.all()]
    except KeyError:    # a function of another origin, an element type that has no name
        return
    _written += 1
    notes.keep(key, {"stages": stages, "forms": said.forms.all(), "plans": plans,
                     "objects": [[entry, list(names)] for entry, names in said.objects.all()]})


class _Table(dict[Hashable, int]):
    """What is said once and then named by its number."""

    def number(self, value: Hashable) -> int:
        return self.setdefault(value, len(self))

    def all(self) -> list[Any]:
        return list(self)


class _Said:
    """The tables of a note under construction."""

    def __init__(self) -> None:
        self.plans = _Table()
        self.forms = _Table()
        self.objects = _Table()

    def plan(self, plan: Plan) -> list[Any]:
        """A plan as lists of numbers and texts."""
        return [[self.call(call) for call in plan.calls], plan.workspace, _lists(plan.in_place),
                _lists(plan.reuses), plan.flops, plan.traffic, plan.nanoseconds]

    def call(self, call: Call) -> list[Any]:
        words = call.words
        return [self.function(call.function), list(map(index, words.values)), _lists(words.inputs),
                list(map(index, words.shifts)), _lists(words.outputs),
                [[at, _name(dtype), m, operand] for at, dtype, m, operand in words.numbers],
                list(words.workspaces), list(map(index, words.rooms)),
                [[at, self.function(function)] for at, function in words.functions], words.status_word,
                index(call.tasks), index(call.grain), index(call.scratch)]

    def function(self, function: Any) -> list[Any]:
        if isinstance(function, lapack.Address):
            return [None, function.name]
        origin = code.origin_of(function)
        if origin is None:
            raise KeyError(function)
        entry, names, name = origin
        return [self.objects.number((entry, tuple(names))), name]


def _name(dtype: Any) -> str:
    if _DTYPES.get(dtype.name) != dtype:
        raise KeyError(dtype)
    return str(dtype.name)


def _lists(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    return [list(row) for row in rows]


def _tuples(values: list[Any]) -> tuple[Any, ...]:
    """Lists as the tuples that they were."""
    return tuple([_tuples(value) if value.__class__ is list else value for value in values])


def _rows(lists: list[list[int]]) -> Any:
    """``_tuples`` of lists of numbers."""
    return tuple(map(tuple, lists))


def _plan(said: list[Any], objects: list[Any]) -> Plan:
    calls, workspace, in_place, reuses, flops, traffic, nanoseconds = said
    return Plan([_call(call, objects) for call in calls], workspace=workspace, in_place=_rows(in_place),
                reuses=_rows(reuses), flops=flops, traffic=traffic, nanoseconds=nanoseconds)


def _library(name: str) -> lapack.Address:
    """A function of the library for linear algebra."""
    found = lapack.address(name)
    if found is None:
        raise KeyError(name)
    return found


def _call(said: list[Any], objects: list[Any]) -> Call:
    function, values, inputs, shifts, outputs, numbers, workspaces, rooms, functions, status, *amounts = said
    words = Words()
    words.values, words.shifts, words.workspaces, words.rooms = values, shifts, workspaces, rooms
    words.inputs, words.outputs = _rows(inputs), _rows(outputs)
    words.numbers = [(at, _DTYPES[name], m, operand) for at, name, m, operand in numbers]
    words.functions = tuple([(at, _library(name) if entry is None else objects[entry][name])
                             for at, (entry, name) in functions])
    words.status_word = status
    entry, name = function
    return Call(objects[entry][name], words, *amounts)
