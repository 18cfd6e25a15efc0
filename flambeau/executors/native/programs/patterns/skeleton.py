"""What all shapes of a segment have in common: which word is filled from where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from ...plan import Plan, Words
from ..runtime import runtime
from .outline import LEAF, UNHELD
from .pattern import Pattern, Result

_FACTS = [runtime.PATCHES, runtime.PATCH_TABLE, runtime.STEPS, runtime.FIRST, runtime.LAST,
          runtime.ARRAY_TYPE, runtime.OWNED, runtime.COUNT]


class Skeleton:
    """Stages ``first`` to ``after`` of an arrangement, which run in one native call.

    Words are numbered through all calls of the segment. ``leaves``: operands (node, operand) whose arrays the
    kernels read; ``earlier``: results of earlier parts; ``made``: results that are arrays of their own;
    ``owned``: (node, operand, result) of arrays that are overwritten. These, in this order, are the *slots*.
    ``patches``: (word, slot, number of the shift), pointers to arrays; ``in_arena``: (word, place, number of
    the shift), where a place is a result or the stage whose working memory it is. A shift of -1 is none.
    ``numbers``: (word, node, operand) by element type.
    """

    def __init__(self, pattern: Pattern, plans: Sequence[Plan | None], arena: set[Any], first: int,
                 after: int) -> None:
        self.pattern = pattern
        self.first, self.after = first, after
        self.passes_on = first > 0 or after < len(pattern.stages)
        self.members = [k for s in range(first, after) for k in pattern.stages[s]]
        self.count = 0
        self.step_words: list[int] = []     # of each call, its first word
        self.step_stages: list[int] = []
        self.checked: list[tuple[int, int]] = []    # calls that have a status word, and its number
        self.statuses: list[int] = []
        self.leaves: list[tuple[int, int]] = []
        self.earlier: list[Result] = []
        self.made: list[Result] = []
        self.owned: list[tuple[int, int, Result]] = []
        self.numbers: dict[Any, list[tuple[int, int, int]]] = {}
        self._patches: list[tuple[int, Any, int]] = []      # with the slot's name
        self._in_arena: list[tuple[int, Any, int]] = []
        self._known: set[Any] = set()
        self._arena = arena
        self._shifts = self._rooms = 0
        for s in range(first, after):
            plan = plans[s]
            assert plan is not None
            self._stage(s, plan)
        self._settle()
        self._find_owners()
        self._find_results()
        self._draw()

    # --- words ----------------------------------------------------------------------------------------------

    def _stage(self, s: int, plan: Plan) -> None:
        members = self.pattern.stages[s]
        for operand, result in plan.in_place:
            if self.pattern.sources[members[0]][operand][0] == LEAF:
                self.owned.append((members[0], operand, (members[0], result)))
        for call in plan.calls:
            self.step_words.append(self.count)
            self.step_stages.append(s)
            self._call(s, members, call.words)
            self.count += len(call.values)

    def _call(self, s: int, members: list[int], words: Words) -> None:
        base = self.count
        for at, m, operand in words.inputs:
            self._operand(base + at, members[m], operand)
            self._shifts += 1
        for at, m, result in words.outputs:
            self._point(base + at, (members[m], result), -1)
        for at, dtype, m, operand in words.numbers:
            self.numbers.setdefault(dtype, []).append((base + at, members[m], operand))
        for at in words.workspaces:
            # Numbered after the inputs of all calls: ``_settle`` adds their count.
            self._in_arena.append((base + at, s, self._rooms))
            self._rooms += 1
        if words.status_word is not None:
            self.checked.append((len(self.step_words) - 1, len(self.statuses)))
            self.statuses.append(base + words.status_word)

    def _operand(self, word: int, position: int, operand: int) -> None:
        found = self.pattern.source(position, operand)
        if found is not None and self.pattern.is_native(found):
            self._point(word, found, self._shifts)
            return
        # A leaf, or what the interpreter made: the operand's node has the array.
        name = "from", self.pattern.sources[position][operand]
        if name not in self._known:
            self._known.add(name)
            self.leaves.append((position, operand))
        self._patches.append((word, name, self._shifts))

    def _point(self, word: int, result: Result, shift: int) -> None:
        result = self.pattern.root(result)
        if result in self._arena:
            self._in_arena.append((word, result, shift))
            return
        if result not in self._known:
            self._known.add(result)
            (self.made if self.pattern.made[result] >= self.first else self.earlier).append(result)
        self._patches.append((word, result, shift))

    def _settle(self) -> None:
        """Number slots and places."""
        owners = {result for _, _, result in self.owned}
        self.made = [result for result in self.made if result not in owners]
        self.names: list[Result] = [*self.earlier, *self.made, *[result for _, _, result in self.owned]]
        slots: dict[Any, int] = {("from", self.pattern.sources[k][j]): i
                                 for i, (k, j) in enumerate(self.leaves)}
        slots.update({result: len(self.leaves) + i for i, result in enumerate(self.names)})
        self.slots = len(slots)
        self.patches = np.array([(word, slots[name], shift) for word, name, shift in self._patches],
                                np.int64).reshape(-1, 3)
        self.places: list[Any] = list(dict.fromkeys(place for _, place, _ in self._in_arena))
        number = {place: i for i, place in enumerate(self.places)}
        self.in_arena = np.array(
            [(word, number[place], shift + self._shifts if place.__class__ is int else shift)
             for word, place, shift in self._in_arena], np.int64).reshape(-1, 3)
        self.value_slots = {result: len(self.leaves) + i for i, result in enumerate(self.names)}
        del self._patches, self._in_arena, self._known, self._arena

    def _draw(self) -> None:
        """A segment's memory, except for what depends on shapes: header, steps, patches, words, statuses.

        ``image``: with addresses relative to itself, which are at the positions ``addresses``.
        """
        steps = len(self.step_words)
        self.patches_at = runtime.PROGRAM_WORDS + runtime.STEP_WORDS * steps
        self.words_at = self.patches_at + 3 * len(self.patches)
        self.statuses_at = self.words_at + self.count
        image = self.image = np.zeros(self.statuses_at + len(self.statuses) + 1, np.int64)
        image[_FACTS] = (len(self.patches), 8 * self.patches_at, 8 * runtime.PROGRAM_WORDS, 0, steps,
                         id(np.ndarray), self.slots - len(self.owned), self.slots)
        table = image[runtime.PROGRAM_WORDS:self.patches_at].reshape(-1, runtime.STEP_WORDS)
        table[:, runtime.WORDS] = 8 * (self.words_at + np.array(self.step_words, np.int64))
        for step, status in self.checked:
            table[step, runtime.STATUS] = 8 * (self.statuses_at + status)
        patches = image[self.patches_at:self.words_at].reshape(-1, 3)
        patches[:, 0] = 8 * (self.words_at + self.patches[:, 0])
        patches[:, 1] = self.patches[:, 1]
        words = range(runtime.PROGRAM_WORDS + runtime.WORDS, self.patches_at, runtime.STEP_WORDS)
        statuses = [runtime.PROGRAM_WORDS + runtime.STEP_WORDS * step + runtime.STATUS
                    for step, _ in self.checked]
        self.addresses = np.array([runtime.PATCH_TABLE, runtime.STEPS, *words, *statuses,
                                   *range(self.patches_at, self.words_at, 3)], np.int64)
        self.status_words = self.words_at + np.array(self.statuses, np.int64)
        self.status_addresses = 8 * (self.statuses_at + np.arange(len(self.statuses)))
        self.arena_words = self.words_at + self.in_arena[:, 0]
        self.number_words = [
            (dtype, [((self.words_at + word) * 8 // dtype.itemsize, k, j) for word, k, j in own])
            for dtype, own in self.numbers.items()]

    # --- arrays ---------------------------------------------------------------------------------------------

    def _find_owners(self) -> None:
        """What the reference counts of owned operands are if nobody else can see them.

        Nodes of earlier parts have let go of their operands by then. What somebody reads afterwards must not
        be overwritten.
        """
        pattern = self.pattern
        uses: dict[int, int] = {}
        last: dict[int, int] = {}
        for s in range(self.first, len(pattern.stages)):
            for k in pattern.stages[s]:
                for kind, leaf in pattern.sources[k]:
                    if kind == LEAF:
                        uses[leaf] = uses.get(leaf, 0) + 1
                        last[leaf] = s
        counts: list[int] = []
        for k, j, result in self.owned:
            leaf = pattern.sources[k][j][1]
            counts.append(uses[leaf] if last[leaf] <= pattern.made[result] else -1)
        self.expected = [UNHELD + count if count > 0 else -1 for count in counts]
        # The flat list of operands refers to each as often as they do.
        self.expected_beside = [UNHELD + 2 * count if count > 0 else -1 for count in counts]
        starts = [0]
        for own in pattern.sources:
            starts.append(starts[-1] + len(own))
        self.leaf_places = [starts[k] + j for k, j in self.leaves]
        self.leaves_of = _getter(self.leaf_places)
        self.owned_of = _getter([starts[k] + j for k, j, _ in self.owned])

    def _find_results(self) -> None:
        """Which node gets which array."""
        pattern, arrays = self.pattern, set(self.names)
        self.values: list[tuple[int, Result]] = []
        self.tuples: list[tuple[int, list[Result]]] = []
        for k in self.members:
            if pattern.single[k]:
                if pattern.root((k, 0)) in arrays:
                    self.values.append((k, pattern.root((k, 0))))
            elif k in pattern.seen and all(pattern.root(result) in arrays for result in pattern.results(k)):
                self.tuples.append((k, [pattern.root(result) for result in pattern.results(k)]))
        own = set(self.members)
        for k, result in pattern.projections.items():
            if result[0] in own and pattern.root(result) in arrays:
                self.values.append((k, pattern.root(result)))
        self.stage_of = {k: pattern.made[pattern.projections.get(k, (k, 0))] for k in
                         [*[k for k, _ in self.values], *[k for k, _ in self.tuples]]}
        self.node_slots = [(k, self.value_slots[result]) for k, result in self.values]
        self.tuple_slots = [(k, [self.value_slots[result] for result in results])
                            for k, results in self.tuples]
        self.cleared = [*self.members, *[k for k, _ in self.values if k in pattern.projections]]

    def shifts(self, plans: list[Plan]) -> Any:
        """The shifts of a segment's plans, as they are numbered; the last one is 0."""
        return np.array(self.listed_shifts(plans), np.int64)

    def listed_shifts(self, plans: list[Plan]) -> list[int]:
        """The same as a list."""
        inputs: list[int] = []
        rooms: list[int] = []
        for plan in plans:
            for call in plan.calls:
                inputs += call.words.shifts
                rooms += call.words.rooms
        return [*inputs, *rooms, 0]


def _getter(positions: list[int]) -> Callable[[list[Any]], Any]:
    """What takes the elements at some positions."""
    if len(positions) > 1:
        return itemgetter(*positions)
    if positions:
        at = positions[0]
        return lambda flat: (flat[at],)
    return lambda flat: ()
