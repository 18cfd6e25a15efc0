"""Where what lies: the places of a pattern's values, and the words of its plans.

Plans of one stage may have other calls for other shapes (large sums are made in parts, and these added up in
a second call); all whose calls take the same operands in the same words share an arrangement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...plan import Plan
from .layout import Layout
from .pattern import Pattern, Plans, Result
from .skeleton import Skeleton

_SMALL = 24     # bits of a number of bytes that is no matter


class Batch:
    """Stage ``first``, which the interpreter computes."""

    __slots__ = ("members", "first")

    def __init__(self, members: list[int], first: int) -> None:
        self.members = sorted(members)      # last one first
        self.first = first


class Arrangement:
    """``places``: of each stage, for what it needs room in the arena, and whose room ends with it.

    A place is a result, or the stage (its number) whose working memory it is. ``parts``: runs of native
    stages, and what the interpreter computes in between. ``_layouts``: of earlier programs, by
    how many bits the number of bytes has that their places take.
    """

    __slots__ = ("pattern", "plans", "form", "places", "parts", "_layouts")

    def __init__(self, pattern: Pattern, plans: Plans) -> None:
        self.pattern = pattern
        self.plans = plans
        self.form = form_of(plans)
        self.places = self._places()
        self.parts = self._parts()
        self._layouts: dict[int, Layout] = {}

    def layout(self, sizes: Sequence[int]) -> Layout:
        """Where places of these sizes lie.

        That of an earlier program will do if its places were at least as large, and not twice as large
        together. Where some were smaller, the new ones are as large as either. Of many places few are as
        large as they can be at a time: together, small ones may be twice as large again.
        """
        bits = sum(sizes).bit_length()
        found = self._layouts.get(bits)
        if found is None or not found.holds(sizes):
            larger = sizes if found is None else [*map(max, sizes, found.sizes)]
            if sum(larger).bit_length() > bits + (bits <= _SMALL):
                larger = sizes
            found = self._layouts[bits] = Layout(self.places, larger)
        return found

    def _places(self) -> list[tuple[list[Any], list[Any]]]:
        pattern = self.pattern
        until: dict[Result, int] = {}
        for result, made in pattern.made.items():
            root = pattern.root(result)
            until[root] = max(until.get(root, 0), made, pattern.last.get(result, made))
        ending: dict[int, list[Any]] = {}
        found: list[tuple[list[Any], list[Any]]] = []
        for s, (members, plan) in enumerate(zip(pattern.stages, self.plans)):
            if plan is None:
                found.append(([], []))
                continue
            written = _written(plan, members)
            needed: list[Any] = [
                result for k in members for result in pattern.results(k)
                if result in written and pattern.root(result) == result and result not in pattern.held]
            for result in needed:
                ending.setdefault(until[result], []).append(result)
            if any(call.words.workspaces for call in plan.calls):
                needed.append(s)
                ending.setdefault(s, []).append(s)
            found.append((needed, ending.pop(s, [])))
        return found

    def _parts(self) -> list[Skeleton | Batch]:
        arena = {place for needed, _ in self.places for place in needed}
        parts: list[Skeleton | Batch] = []
        first = 0
        while first < len(self.plans):
            after = first + 1
            if self.plans[first] is None:
                parts.append(Batch(self.pattern.stages[first], first))
            else:
                while after < len(self.plans) and self.plans[after] is not None:
                    after += 1
                parts.append(Skeleton(self.pattern, self.plans, arena, first, after))
            first = after
        return parts


def form_of(plans: Plans) -> list[Any]:
    """What plans of a pattern's stages that are arranged alike have in common."""
    return [None if plan is None else [call.words.places for call in plan.calls] for plan in plans]


def _written(plan: Plan, members: list[int]) -> set[Result]:
    """What a plan writes: what stays inside a fused kernel is never in memory."""
    return {(members[m], k) for call in plan.calls for _, m, k in call.words.outputs}
