"""Segments: the stages of a program that run in one native call, and what is filled in each time."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Sequence
from operator import attrgetter, index
from typing import Any

import numpy as np

from .....config import settings
from .....graph.node import Signature
from ....interpreter.readers import number_of
from ....measure import KernelTime, measured
from ...plan import Call, Plan, total_nanoseconds
from ..patterns.layout import Layout
from ..patterns.outline import UNHELD
from ..patterns.pattern import Result
from ..patterns.reuse import reuses, take
from ..patterns.skeleton import Skeleton
from ..runtime import runtime
from ..runtime.arena import Block
from ..runtime.objects import check_array_layout
from ..runtime.results import NewArrays
from ..runtime.team import team

SHARED = 40_000.0      # modelled nanoseconds from which helpers are called

_natives: dict[str, Any] = {}
_scratch = Block(1 << 16)
_outgrown: list[Block] = []     # programs may still know where they lie


def _native(name: str) -> Any:
    if not _natives:
        check_array_layout()
        for entry in ("bind", "run", "start"):
            address = index(runtime.entries()[entry])
            _natives[entry] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)
    return _natives[name]


class Segment:
    """A skeleton with the plans of certain shapes: its words in memory, for the native loop to run.

    ``layout``: where in the arena the skeleton's places lie.
    """

    __slots__ = ("form", "after", "signatures", "_plans", "scratch", "nanoseconds", "memory", "address",
                 "header", "_statuses", "_arena_offsets", "_numbers", "fresh", "_arrays", "_new", "reused",
                 "_alone", "_values", "is_short", "is_shared", "words")

    def __init__(self, form: Skeleton, plans: list[Plan], signatures: Sequence[Signature],
                 layout: Layout) -> None:
        self.form = form
        self._plans: list[Plan] | None = plans
        calls = [call for plan in plans for call in plan.calls]
        self.scratch = max([call.scratch for call in calls], default=0)
        self.nanoseconds = total_nanoseconds(plans)
        shifts = form.shifts(plans)
        self.memory = self._laid_out(form, calls, shifts)
        made = [signatures[k].outputs[r] for k, r in form.made]
        self.fresh: tuple[Sequence[int], list[Any]] = [g.numel for g in made], [g.dtype.numpy for g in made]
        self._settle(layout, shifts[form.in_arena[:, 2]], signatures)

    def again(self, memory: Any, layout: Layout, shifts: Any, counts: Sequence[int],
              signatures: Sequence[Signature], scratch: int, nanoseconds: float) -> Segment:
        """The segment of other shapes, whose memory is made already (Note: joint formulas).

        ``shifts``: of each word that points into the arena; ``counts``: of elements of new arrays.
        """
        made = Segment.__new__(Segment)
        made.form, made._plans = self.form, None
        made.scratch, made.nanoseconds, made.memory = scratch, nanoseconds, memory
        made.fresh = list(counts), self.fresh[1]
        made._settle(layout, shifts, signatures)
        return made

    def become(self, places: Any, values: Sequence[int], layout: Layout, shifts: Any, counts: Sequence[int],
               signatures: Sequence[Signature], scratch: int, nanoseconds: float) -> None:
        """Be the segment of other shapes, of which these words of the memory are other ones."""
        self.memory[places] = values
        self.header[_BOUND] = 0
        self.scratch, self.nanoseconds, self._plans = scratch, nanoseconds, None
        self.fresh = counts, self.fresh[1]
        self._arrays.resize(counts)
        self._fit(layout, shifts, signatures)

    def _settle(self, layout: Layout, shifts: Any, signatures: Sequence[Signature]) -> None:
        """What follows from the memory, and from where values lie."""
        form, memory = self.form, self.memory
        self.after = form.after
        self.address = memory.__array_interface__["data"][0]
        self._statuses = slice(form.statuses_at, form.statuses_at + len(form.status_words))
        self.words: Any = _writable(memory)     # single ones
        self.header: Any = self.words[:runtime.PROGRAM_WORDS]
        self._numbers = [(_writable(memory.view(dtype)), dtype, places)
                         for dtype, places in form.number_words]
        self._alone = [UNHELD + 1] * len(form.owned)
        self._values = _NO_VALUES
        self._arrays = NewArrays(*self.fresh)
        self._new = self._arrays.make
        self._fit(layout, shifts, signatures)

    def _fit(self, layout: Layout, shifts: Any, signatures: Sequence[Signature]) -> None:
        """What depends on the shapes."""
        self.signatures = signatures
        self._arena_offsets = layout.words(self.form) + shifts
        self.reused = reuses(self.form, signatures)
        self.is_short = self.nanoseconds < SHARED
        self.is_shared = not self.is_short and self._has_large_steps()

    def _has_large_steps(self) -> bool:
        """Whether any step has tasks for several threads: without one, helpers would be woken for nothing."""
        steps = self.memory[runtime.PROGRAM_WORDS:self.form.patches_at].reshape(-1, runtime.STEP_WORDS)
        return bool((steps[:, runtime.TASKS] > steps[:, runtime.GRAIN]).any())

    @property
    def plans(self) -> list[Plan]:
        """The plans of the stages; found again where a formula filled the memory."""
        if self._plans is None:
            found = self.form.pattern.plans(self.signatures) or ()
            self._plans = [plan for plan in found[self.form.first:self.after] if plan is not None]
        return self._plans

    # --- memory ---------------------------------------------------------------------------------------------

    @staticmethod
    def _laid_out(form: Skeleton, calls: list[Call], shifts: Any) -> Any:
        """The program as the native loop reads it: header, steps, patches, words, statuses."""
        memory = form.image.copy()
        base = memory.__array_interface__["data"][0]
        memory[form.addresses] += base
        if calls:
            np.concatenate([call.values for call in calls], out=memory[form.words_at:form.statuses_at])
        for call, first in zip(calls, form.step_words):
            if call.words.functions:
                for word, address in call.words.functions:
                    memory[form.words_at + first + word] = index(address)
        memory[form.status_words] = form.status_addresses + base
        memory[form.patches_at + 2:form.words_at:3] = shifts[form.patches[:, 2]]
        steps = memory[runtime.PROGRAM_WORDS:form.patches_at].reshape(-1, runtime.STEP_WORDS)
        steps[:, runtime.FUNCTION] = [index(call.function) for call in calls]
        steps[:, runtime.TASKS] = [call.tasks for call in calls]
        steps[:, runtime.GRAIN] = [call.grain for call in calls]
        return memory

    # --- running --------------------------------------------------------------------------------------------

    def run(self, nodes: list[Any], flat: list[Any] | None, arrays: dict[Result, Any], block: Block,
            progress: list[int]) -> None:
        """Compute the segment's stages; ``progress[0]`` becomes the first stage that was not computed.

        ``flat``: the operands of all nodes in turn, where all nodes still have theirs.
        """
        form = self.form
        # First, since it looks at who refers to an array.
        private = self._private(nodes, flat) if form.owned else None
        fresh = self._new()
        if self.reused and flat is not None:
            take(self.reused, [flat[form.leaf_places[reuse.leaf]] for reuse in self.reused], fresh)
        leaves = form.leaves_of(flat) if flat is not None else [nodes[k].operands[j] for k, j in form.leaves]
        values: list[Any] = [*map(_value, leaves)]
        if form.earlier:
            values += [arrays[result] for result in form.earlier]
        values += fresh
        if private is not None:
            values += private
        header = self.header
        if header[_BOUND] != block.address:
            self.memory[form.arena_words] = self._arena_offsets + block.address
            header[_BOUND] = block.address
        if self._numbers:
            self._fill_numbers(nodes)
        header[_ARRAYS] = id(values)
        if self.scratch:
            header[_SCRATCH] = _scratch.address if _scratch.size >= self.scratch else _more(self.scratch)
        self._values = values
        if self.is_short and not settings.kernel_times:
            bound = not _start(self.address) or self._bound(_start)
        else:
            bound = self._go()
        if bound:
            self.give(nodes, arrays, progress)

    def _fill_numbers(self, nodes: Sequence[Any]) -> None:
        for view, dtype, places in self._numbers:
            for at, k, j in places:
                number = nodes[k].operands[j]
                try:
                    view[at] = number
                except (NotImplementedError, OverflowError, TypeError, ValueError):  # as NumPy converts it
                    np.asarray(view)[at] = number_of(number, dtype)

    def go_on(self, values: list[Any], nodes: list[Any], arrays: dict[Result, Any],
              progress: list[int]) -> None:
        """A kernel has failed: give what was computed before, in these arrays."""
        self._values = values
        self.give(nodes, arrays, progress)

    def give(self, nodes: list[Any], arrays: dict[Result, Any], progress: list[int]) -> None:
        """Give the nodes their values, if the native call came to its end; again after an interrupt."""
        header = self.header
        if not header[_COMPLETED]:
            return
        form, values = self.form, self._values
        failed = header[_FAILED]
        if failed or form.passes_on:
            arrays.update(zip(form.names, values[len(form.leaves):]))
        if failed:
            self._give_until(nodes, arrays, form.step_stages[failed - 1])
            progress[0] = form.step_stages[failed - 1]
            self.memory[self._statuses] = 0
        else:
            for k, at in form.node_slots:
                nodes[k].value = values[at]
            for k, places in form.tuple_slots:
                nodes[k].value = tuple([values[at] for at in places])
            for k in form.cleared:
                nodes[k].operands = ()
            progress[0] = form.after
        header[_COMPLETED] = 0
        self._values = _NO_VALUES

    def _give_until(self, nodes: list[Any], arrays: dict[Result, Any], stage: int) -> None:
        stage_of = self.form.stage_of
        for k, result in self.form.values:
            if stage_of[k] < stage:
                nodes[k].value = arrays[result]
        for k, results in self.form.tuples:
            if stage_of[k] < stage:
                nodes[k].value = tuple([arrays[result] for result in results])

    def _go(self) -> bool:
        """Bind the arrays and run, with helpers where that pays; whether they could be bound."""
        header = self.header
        if not settings.kernel_times and (settings.threads == 1 or not self.is_shared):
            return self._bound(_start)
        if not self._bound(_native("bind")):
            return False
        crew, helpers = team(), settings.threads - 1
        header[runtime.TEAM] = crew.address
        try:
            if settings.kernel_times:
                self._measure(crew, helpers)
            else:
                crew.open(self.address, helpers, self.scratch)
                _native("run")(self.address)
        finally:
            crew.close()
            header[runtime.TEAM] = 0
        return True

    def _bound(self, native: Any) -> bool:
        """Let ``native`` bind the arrays: copies of those that are to be overwritten and are not our own."""
        bound = native(self.address)
        if bound < 0:
            values = self._values
            first = len(values) - len(self.form.owned)
            values[first:] = [x if _is_own(x) else np.array(x) for x in values[first:]]
            bound = native(self.address)
        if bound:
            self._values = _NO_VALUES
        return not bound

    def _measure(self, crew: Any, helpers: int) -> None:
        """Run stage by stage, with a clock."""
        memory, stages = self.header, self.form.step_stages
        last = memory[runtime.LAST]
        step = 0
        while step < last and not memory[runtime.FAILED]:
            stage, first = stages[step], step
            while step < last and stages[step] == stage:
                step += 1
            memory[runtime.FIRST], memory[runtime.LAST] = first, step
            crew.open(self.address, helpers, self.scratch)
            crew.gather(helpers)
            began = time.perf_counter()
            _native("run")(self.address)
            seconds = time.perf_counter() - began
            crew.close()
            measured.append(self._kernel(stage, seconds))
        memory[runtime.FIRST], memory[runtime.LAST] = 0, last

    def _kernel(self, stage: int, seconds: float) -> KernelTime:
        pattern, plan = self.form.pattern, self.plans[stage - self.form.first]
        members = pattern.stages[stage]
        name = "+".join(pattern.signatures[k].operator.name for k in sorted(members, reverse=True))
        return KernelTime(name, "native", pattern.sites[members[0]], seconds, plan.nanoseconds * 1e-9,
                          plan.flops, plan.traffic)

    def _private(self, nodes: list[Any], flat: list[Any] | None) -> list[Any]:
        """The arrays of owned operands, for kernels to overwrite; copies where somebody else can see them."""
        form = self.form
        owners = list(form.owned_of(flat)) if flat is not None else \
            [nodes[k].operands[j] for k, j, _ in form.owned]
        counts = list(map(sys.getrefcount, owners))
        found = list(map(_value, owners))
        shared = list(map(sys.getrefcount, found))
        expected = form.expected if flat is None else form.expected_beside
        if counts == expected and shared == self._alone:
            return found
        return [x if count == wanted and seen == UNHELD + 1 else np.array(x)
                for x, count, wanted, seen in zip(found, counts, expected, shared)]


def _start(program: int) -> int:
    """Bind and run a program: the first time; afterwards this is the native function itself."""
    global _start
    _start = _native("start")
    return _start(program)


_value = attrgetter("value")
_ARRAYS, _SCRATCH, _FAILED, _COMPLETED, _BOUND = (runtime.ARRAYS, runtime.SCRATCH, runtime.FAILED,
                                                  runtime.COMPLETED, runtime.BOUND)
_NO_VALUES: list[Any] = []


def _writable(words: Any) -> Any:
    """Words as elements of a type; a memoryview, where it has the type, writes single ones faster."""
    try:
        return memoryview(words)
    except (BufferError, NotImplementedError, ValueError):
        return words


def _is_own(x: Any) -> bool:
    return x.base is None and bool(x.flags.writeable)


def scratch_of(size: int) -> tuple[int, int]:
    """The address of scratch memory of so many bytes at least, and how many it has."""
    if _scratch.size < size:
        _more(size)
    return _scratch.address, _scratch.size


def _more(size: int) -> int:
    """The address of more scratch memory."""
    global _scratch
    _outgrown.append(_scratch)
    _scratch = Block(max(size, 2 * _scratch.size))
    return _scratch.address
