"""Segments: the stages of a program that run in one native call, and what is filled in each time."""

from __future__ import annotations

import ctypes
import sys
import time
from array import array
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from ....config import settings
from ...interpreter.run import _number
from ...measure import KernelTime, measured
from ..plan import Call
from . import runtime
from .arena import Block
from .outline import LEAF, UNHELD
from .planning import Draft, Result
from .team import team

SHARED = 40_000.0      # modelled nanoseconds from which helpers are called

_natives: dict[str, Any] = {}
_scratch = Block(1 << 16)


def _native(name: str) -> Any:
    if not _natives:
        if not runtime.layout_is_known():
            raise ImportError("this NumPy lays out its arrays in another way")
        for entry in ("bind", "run"):
            _natives[entry] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(runtime.entries()[entry])
    return _natives[name]


class _Writer:
    """Collects a segment's steps, words and what has to be patched."""

    def __init__(self, draft: Draft, first: int, after: int) -> None:
        self.draft = draft
        self.steps: list[tuple[Call, int, int]] = []    # (call, its first word, stage)
        self.words: list[Any] = []
        self.count = 0
        self.slots: dict[Any, int] = {}                 # leaf number or result: position among the arrays
        self.leaves: list[tuple[int, int]] = []
        self.earlier: list[Result] = []
        self.made: list[Result] = []
        self.patches: list[tuple[int, Any, int]] = []   # (word, slot's name, bytes)
        self.in_arena: list[tuple[int, int]] = []       # (word, offset)
        self.numbers: dict[Any, list[tuple[int, int, int]]] = {}
        self.owned: list[tuple[int, int, int, Result]] = []
        self.statuses: list[int] = []
        self.first = first
        for s in range(first, after):
            self._stage(s)

    def _stage(self, s: int) -> None:
        members, plan = self.draft.stages[s]
        assert plan is not None
        for operand, result in plan.in_place:
            kind, leaf = self.draft.sources[members[0]][operand]
            if kind == LEAF:
                self.owned.append((members[0], operand, leaf, (members[0], result)))
        for call in plan.calls:
            base = self.count
            self.steps.append((call, base, s))
            self.words.append(call.values)
            self.count += len(call.values)
            wanted = call.words
            for at, m, operand, shift in wanted.inputs:
                self._operand(base + at, members[m], operand, shift)
            for at, m, result in wanted.outputs:
                self._point(base + at, (members[m], result), 0)
            for at, dtype, m, operand in wanted.numbers:
                self.numbers.setdefault(dtype, []).append((base + at, members[m], operand))
            for at, offset in wanted.workspaces:
                self.in_arena.append((base + at, self.draft.workspaces.get(s, 0) + offset))
            if wanted.status_word is not None:
                self.statuses.append(base + wanted.status_word)

    def _operand(self, word: int, position: int, operand: int, shift: int) -> None:
        found = self.draft.source(position, operand)
        if found is not None and self.draft.is_native(found):
            self._point(word, found, shift)
            return
        # A leaf, or what the interpreter made: the operand's node has the array.
        name = "from", self.draft.sources[position][operand]
        if name not in self.slots:
            self.slots[name] = -1
            self.leaves.append((position, operand))
        self.patches.append((word, name, shift))

    def _point(self, word: int, result: Result, shift: int) -> None:
        result = self.draft.root(result)
        if result in self.draft.offsets:
            self.in_arena.append((word, self.draft.offsets[result] + shift))
            return
        if result not in self.slots:
            self.slots[result] = -1
            (self.made if self.draft.made[result] >= self.first else self.earlier).append(result)
        self.patches.append((word, result, shift))


class Segment:
    """Stages ``first`` to ``after`` of a program."""

    def __init__(self, draft: Draft, first: int, after: int) -> None:
        self.first, self.after = first, after
        written = _Writer(draft, first, after)
        self.members = [k for s in range(first, after) for k in draft.stages[s].members]
        self.leaves = written.leaves
        self.earlier = written.earlier
        owners = {result for _, _, _, result in written.owned}
        self.made = [result for result in written.made if result not in owners]
        self.owned = [(position, operand, result) for position, operand, _, result in written.owned]
        self.scratch = max((call.scratch for call, _, _ in written.steps), default=0)
        self.nanoseconds = sum(plan.nanoseconds for _, plan in draft.stages[first:after] if plan is not None)
        self.step_stages = [s for _, _, s in written.steps]
        self.kernels = [_kernel(draft, s) for s in range(first, after)]
        self._lay_out(written)
        self._owning(draft, written)
        self._results(draft)
        self._fresh = [(g.numel, g.dtype.numpy) for g in
                       (draft.signature(k).outputs[r] for k, r in self.made)]
        self._names = [*self.earlier, *self.made, *[result for _, _, result in self.owned]]
        slot = {result: len(self.leaves) + i for i, result in enumerate(self._names)}
        self._slots = [(k, slot[result]) for k, result in self.values]
        self._tuple_slots = [(k, [slot[result] for result in results]) for k, results in self.tuples]
        self._values: list[Any] = []
        self._alone = [UNHELD + 1] * len(self.owned)
        self.passes_on = first > 0 or after < len(draft.stages)
        self.cleared = [*self.members, *[k for k, _ in self.values if k in draft.projections]]
        self._bound_to = 0

    # --- memory ---------------------------------------------------------------------------------------------

    def _lay_out(self, written: _Writer) -> None:
        names: list[Any] = [("from", written.draft.sources[k][j]) for k, j in self.leaves]
        names += [*self.earlier, *self.made, *[result for _, _, result in self.owned]]
        slots = {name: i for i, name in enumerate(names)}
        steps_at = runtime.PROGRAM_WORDS
        patches_at = steps_at + runtime.STEP_WORDS * len(written.steps)
        words_at = patches_at + 3 * len(written.patches)
        statuses_at = words_at + written.count
        memory = self.memory = np.zeros(statuses_at + len(written.statuses) + 1, np.int64)
        base = self.address = memory.ctypes.data
        if written.words:
            memory[words_at:statuses_at] = np.concatenate(written.words)
        for i, (word, name, shift) in enumerate(written.patches):
            at = patches_at + 3 * i
            memory[at:at + 3] = base + 8 * (words_at + word), slots[name], shift
        self.statuses = slice(statuses_at, statuses_at + len(written.statuses))
        status_of: dict[int, int] = {}
        for i, word in enumerate(written.statuses):
            memory[words_at + word] = status_of[word] = base + 8 * (statuses_at + i)
        for i, (call, first, _) in enumerate(written.steps):
            at = steps_at + runtime.STEP_WORDS * i
            wanted = call.words.status_word
            memory[at:at + runtime.STEP_WORDS] = (
                call.function, base + 8 * (words_at + first), call.tasks, max(call.grain, 1), 0, 0,
                0 if wanted is None else status_of[first + wanted], 0)
        self._header: Any = _writable(memory)[:runtime.PROGRAM_WORDS]
        memory[[runtime.PATCHES, runtime.PATCH_TABLE, runtime.STEPS, runtime.FIRST, runtime.LAST,
                runtime.ARRAY_TYPE, runtime.OWNED, runtime.COUNT]] = (
            len(written.patches), base + 8 * patches_at, base + 8 * steps_at, 0, len(written.steps),
            id(np.ndarray), len(names) - len(self.owned), len(names))
        self._arena_words = np.array([words_at + word for word, _ in written.in_arena], np.int64)
        self._arena_offsets = np.array([offset for _, offset in written.in_arena], np.int64)
        self._numbers = [(_writable(memory.view(dtype)), dtype,
                          [((words_at + word) * 8 // dtype.itemsize, k, j) for word, k, j in own])
                         for dtype, own in written.numbers.items()]

    def _owning(self, draft: Draft, written: _Writer) -> None:
        """What the reference counts of owned operands are if nobody else can see them.

        Nodes of earlier parts have let go of their operands by then. What somebody reads afterwards must not
        be overwritten.
        """
        uses: dict[int, int] = {}
        last: dict[int, int] = {}
        for s in range(self.first, len(draft.stages)):
            for k in draft.stages[s].members:
                for kind, leaf in draft.sources[k]:
                    if kind == LEAF:
                        uses[leaf] = uses.get(leaf, 0) + 1
                        last[leaf] = s
        mine = [uses[leaf] if last[leaf] <= draft.made[result] else -1 for _, _, leaf,
                result in written.owned]
        self._expected = [UNHELD + count if count > 0 else -1 for count in mine]
        # The flat list of operands refers to each as often as they do.
        self._expected_beside = [UNHELD + 2 * count if count > 0 else -1 for count in mine]
        starts = [0]
        for own in draft.sources:
            starts.append(starts[-1] + len(own))
        self._leaves_of = _getter([starts[k] + j for k, j in self.leaves])
        self._owned_of = _getter([starts[k] + j for k, j, _ in self.owned])

    def _results(self, draft: Draft) -> None:
        """Which node gets which array."""
        self.values: list[tuple[int, Result]] = []
        self.tuples: list[tuple[int, list[Result]]] = []
        arrays = {*self.earlier, *self.made, *[result for _, _, result in self.owned]}
        for k in self.members:
            count = len(draft.signature(k).outputs)
            if draft.signature(k).single:
                if draft.root((k, 0)) in arrays:
                    self.values.append((k, draft.root((k, 0))))
            elif all(draft.root((k, r)) in arrays for r in range(count)) and k in draft.seen:
                self.tuples.append((k, [draft.root((k, r)) for r in range(count)]))
        own = set(self.members)
        for k, result in draft.projections.items():
            if result[0] in own and draft.root(result) in arrays:
                self.values.append((k, draft.root(result)))
        self.stage_of = {k: draft.made[draft.projections.get(k, (k, 0))] for k in
                         [*[k for k, _ in self.values], *[k for k, _ in self.tuples]]}

    # --- running --------------------------------------------------------------------------------------------

    def run(self, nodes: list[Any], flat: list[Any] | None, arrays: dict[Result, Any], block: Block,
            progress: list[int]) -> None:
        """Compute the segment's stages; ``progress[0]`` becomes the first stage that was not computed.

        ``flat``: the operands of all nodes in turn, where all nodes still have theirs.
        """
        memory = self.memory
        # First, since it looks at who refers to an array.
        private = self._private(nodes, flat) if self.owned else []
        values: list[Any] = list(map(_value, self._leaf_nodes(nodes, flat)))
        if self.earlier:
            values += [arrays[result] for result in self.earlier]
        empty = np.empty
        values += [empty(size, dtype) for size, dtype in self._fresh]
        values += private
        if self._bound_to != block.address:
            memory[self._arena_words] = self._arena_offsets + block.address
            self._bound_to = block.address
        bound = self._bind(values)
        if bound < 0:
            first = len(values) - len(self.owned)
            values[first:] = [x if _is_own(x) else np.array(x) for x in values[first:]]
            bound = self._bind(values)
        if bound:
            return
        self._fill_numbers(nodes)
        self._values = values
        self._go()
        self.give(nodes, arrays, progress)

    def _bind(self, values: list[Any]) -> int:
        ids = array("q", map(id, values))
        self._header[runtime.ARRAYS] = ids.buffer_info()[0]
        self._header[runtime.FAILED] = self._header[runtime.COMPLETED] = 0
        found: int = _native("bind")(self.address)
        return found

    def _fill_numbers(self, nodes: list[Any]) -> None:
        for view, dtype, places in self._numbers:
            for at, k, j in places:
                number = nodes[k].operands[j]
                try:
                    view[at] = number
                except (NotImplementedError, OverflowError, TypeError, ValueError):  # as NumPy converts it
                    np.asarray(view)[at] = _number(number, dtype)

    def give(self, nodes: list[Any], arrays: dict[Result, Any], progress: list[int]) -> None:
        """Give the nodes their values, if the native call came to its end; again after an interrupt."""
        header = self._header
        if not header[runtime.COMPLETED]:
            return
        values = self._values
        failed = header[runtime.FAILED]
        if failed or self.passes_on:
            arrays.update(zip(self._names, values[len(self.leaves):]))
        if failed:
            self._give_until(nodes, arrays, self.step_stages[failed - 1])
            progress[0] = self.step_stages[failed - 1]
            self.memory[self.statuses] = 0
        else:
            for k, at in self._slots:
                nodes[k].value = values[at]
            for k, places in self._tuple_slots:
                nodes[k].value = tuple([values[at] for at in places])
            for k in self.cleared:
                nodes[k].operands = ()
            progress[0] = self.after
        header[runtime.COMPLETED] = 0
        self._values = []

    def _give_until(self, nodes: list[Any], arrays: dict[Result, Any], stage: int) -> None:
        for k, result in self.values:
            if self.stage_of[k] < stage:
                nodes[k].value = arrays[result]
        for k, results in self.tuples:
            if self.stage_of[k] < stage:
                nodes[k].value = tuple([arrays[result] for result in results])

    def _go(self) -> None:
        helpers = settings.threads - 1 if self.nanoseconds >= SHARED or settings.kernel_times else 0
        memory = self._header
        memory[runtime.SCRATCH] = _scratch_of(self.scratch)
        if not helpers and not settings.kernel_times:
            memory[runtime.TEAM] = 0
            _native("run")(self.address)
            return
        crew = team()
        memory[runtime.TEAM] = crew.address
        if settings.kernel_times:
            self._measure(crew, helpers)
            return
        try:
            crew.open(self.address, helpers, self.scratch)
            _native("run")(self.address)
        finally:
            crew.close()

    def _measure(self, crew: Any, helpers: int) -> None:
        """Run stage by stage, with a clock."""
        memory = self._header
        last = memory[runtime.LAST]
        step = 0
        while step < last and not memory[runtime.FAILED]:
            stage, first = self.step_stages[step], step
            while step < last and self.step_stages[step] == stage:
                step += 1
            memory[runtime.FIRST], memory[runtime.LAST] = first, step
            crew.open(self.address, helpers, self.scratch)
            began = time.perf_counter()
            _native("run")(self.address)
            seconds = time.perf_counter() - began
            crew.close()
            measured.append(self.kernels[stage - self.first]._replace(seconds=seconds))
        memory[runtime.FIRST], memory[runtime.LAST] = 0, last

    def _leaf_nodes(self, nodes: list[Any], flat: list[Any] | None) -> Any:
        if flat is not None:
            return self._leaves_of(flat)
        return [nodes[k].operands[j] for k, j in self.leaves]

    def _private(self, nodes: list[Any], flat: list[Any] | None) -> list[Any]:
        """The arrays of owned operands, for kernels to overwrite; copies where somebody else can see them."""
        owners = [nodes[k].operands[j] for k, j,
                  _ in self.owned] if flat is None else list(self._owned_of(flat))
        counts = list(map(sys.getrefcount, owners))
        found = list(map(_value, owners))
        shared = list(map(sys.getrefcount, found))
        expected = self._expected if flat is None else self._expected_beside
        if counts == expected and shared == self._alone:
            return found
        return [x if count == wanted and seen == UNHELD + 1 else np.array(x)
                for x, count, wanted, seen in zip(found, counts, expected, shared)]


_value = attrgetter("value")


def _getter(positions: list[int]) -> Callable[[list[Any]], Any]:
    """What takes the elements at some positions."""
    if len(positions) > 1:
        return itemgetter(*positions)
    return lambda flat: [flat[at] for at in positions]


def _writable(words: Any) -> Any:
    """Words as elements of a type; a memoryview, where it has the type, writes single ones faster."""
    try:
        return memoryview(words)
    except (BufferError, NotImplementedError, ValueError):
        return words


def _is_own(x: Any) -> bool:
    return x.base is None and bool(x.flags.writeable)


def _scratch_of(size: int) -> int:
    global _scratch
    if _scratch.size < size:
        _scratch = Block(size)
    return _scratch.address


def _kernel(draft: Draft, stage: int) -> KernelTime:
    """What there is to say of a stage before it runs."""
    members, plan = draft.stages[stage]
    assert plan is not None
    name = "+".join(draft.signature(k).operator.name for k in sorted(members, reverse=True))
    return KernelTime(name, "native", draft.nodes[members[0]].site, 0.0, plan.nanoseconds * 1e-9,
                      plan.flops, plan.traffic)
