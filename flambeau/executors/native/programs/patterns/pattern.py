"""What programs of graphs that differ in shapes alone have in common.

The positions in this folder are those of the list of nodes, last one first, which a run gets. A result is
named (position of its node, number of the result).

Note: another shape. Which nodes are one kernel, in what order kernels run, who reads what and which word of
memory means what are found out once. Graphs of the same structure whose shapes differ check what depends on
shapes, have their own plans made, and take the rest from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from .....graph.node import Signature
from .....graph.site import Site
from ...plan import Plan
from ...templates import make, plan_of
from . import kept
from .outline import INNER, UNHELD, Outline
from .sketches import Sketch, Sketches
from .stages import Planned, Replan

Result = tuple[int, int]
Plans = list["Plan | None"]

# Nodes of a graph from which on plans of more than one other shape are kept on disk: to read them takes
# longer than to make those of a small one.
_NOTED = 64
_BY_TEMPLATE = Replan(lambda signatures: plan_of(signatures[0]), lambda known, given: make(given[0]))


class Pattern:
    """A graph's stages and who reads what.

    ``stages``: in the order of the run, the members of each; one plan computes them, or the interpreter.
    ``planned``: as planning had them.
    ``made`` and ``last``: the stages that make a result and that read it last; ``held``: results that need an
    array of their own; ``projections``: nodes that stand for one of several results of a natively computed
    node, and get no stage; ``shared``: results that lie where the operand lay that they overwrite; ``first``:
    the plans for the shapes that came first; ``key``: that of the note on them (Note: kept plans);
    ``by_formula``: the sketch and the numbers of which all plans followed that were made last, if they did.
    """

    def __init__(self, outline: Outline, signatures: Sequence[Signature], sites: list[Site | None],
                 planned: list[Planned], key: str | None = None) -> None:
        self._key = key
        self.outline = outline
        self.sources = outline.sources
        self.seen = self._seen_from_outside()
        self.signatures = signatures
        self.sites = sites
        self.single = [signature.single for signature in self.signatures]
        self.outputs = [len(signature.outputs) for signature in self.signatures]
        self.stages: list[list[int]] = []
        self.first: Plans = []
        self.planned: list[Planned] = []
        self._fits: dict[int, Replan] = {}
        self._sketches = Sketches(signatures)
        self.by_formula: tuple[Sketch, Sequence[int]] | None = None
        self._twin: list[int | None] = []
        self.projections: dict[int, Result] = {}
        self._stage(planned)
        self._latest = list(signatures), self.first     # what was planned last
        self.made: dict[Result, int] = {}
        self.last: dict[Result, int] = {}
        self.shared: dict[Result, Result] = {}
        self._trace()
        self._share()
        self.held = self._held()
        self.stage_of = {k: s for s, members in enumerate(self.stages) for k in members}

    def plans(self, signatures: Sequence[Signature]) -> Plans | None:
        """The stages' plans for other shapes; None where they do not follow this pattern."""
        sketches = self._sketches
        if self._key is None or not sketches.are_far() or (sketches.shapes and len(signatures) < _NOTED):
            return self._plans(signatures, None)
        key = kept.key_of(self.outline, signatures, self._key)
        noted = kept.find(key)
        if noted is not None and len(noted) == len(self.stages):
            return self._plans(signatures, noted)
        found = self._plans(signatures, None)
        if found is not None and key is not None and found != self.first:
            kept.keep(key, [*map(Planned, self.stages, found, repeat(None))])
        return found

    def _plans(self, signatures: Sequence[Signature], noted: list[Planned] | None) -> Plans | None:
        """The same; ``noted``: the stages' plans for these shapes, if an earlier process made them."""
        found: Plans = []
        latest, plans = self._latest
        stages = self.stages
        changed = {k for k, (new, old) in enumerate(zip(signatures, latest)) if new is not old}
        sketch, numbers = self._sketches.find(signatures) or (None, ())
        made: list[int] = []        # stages that no formula planned
        for s, (members, old, known, twin) in enumerate(zip(stages, self.first, plans, self._twins())):
            if changed.isdisjoint(members):
                found.append(known)
                continue
            if old is None:
                if any(plan_of(signatures[k]) and not plan_of(self.signatures[k]) for k in members):
                    return None     # what the interpreter computed so far has a native form by now
                found.append(known)
                continue
            own = [signatures[k] for k in members]
            if twin is not None and own == [signatures[k] for k in stages[twin]]:
                found.append(found[twin])
                continue
            plan = sketch.plan(s, self.planned[s], signatures, numbers) if sketch is not None else None
            if plan is None:
                plan = (noted[s].plan if noted is not None else None) or self._fit(s).plan(own)
                made.append(s)
            if plan is None or (plan.in_place, plan.reuses) != (old.in_place, old.reuses):
                return None
            found.append(plan)
        self._latest = list(signatures), found
        self.by_formula = None if sketch is None else (sketch, numbers)
        if made:
            self.by_formula = self._learn(made, signatures, found)
        return found

    def _fit(self, s: int) -> Replan:
        """How a stage is planned for other shapes."""
        found = self._fits.get(s)
        if found is None:
            stage = self.planned[s]
            if stage.form is None:
                found = _BY_TEMPLATE
            else:
                from . import planning  # what is one node, or keeps its shapes, needs none of it
                found = planning.replan(stage, [self.signatures[k] for k in stage.members])
            self._fits[s] = found
        return found

    def _learn(self, made: list[int], new: Sequence[Signature],
               plans: Plans) -> tuple[Sketch, Sequence[int]] | None:
        """Find formulas for stages that were planned without; the sketch if they all have one now."""
        found = self.by_formula
        if found is None:
            native = [members for members, plan in zip(self.stages, plans) if plan is not None]
            found = self._sketches.sketch(native, new)
        if found is None:
            return None
        learned = [self.learn(*found, s, new, plan) for s in made for plan in [plans[s]] if plan is not None]
        return found if all(learned) else None

    def learn(self, sketch: Sketch, numbers: Sequence[int], s: int, signatures: Sequence[Signature],
              plan: Plan) -> bool:
        """Find the formula of a stage that has this plan; whether there is one."""
        return sketch.learn(s, self.planned[s], signatures, numbers, plan, self._fit(s).record)

    def twin_of(self, s: int) -> int | None:
        """An earlier stage that had the same plan."""
        return self._twins()[s]

    def _twins(self) -> list[int | None]:
        """Of each stage, an earlier one that had the same plan: layers that are alike have most of them."""
        if len(self._twin) != len(self.first):
            met: dict[int, int] = {}
            first = [met.setdefault(id(plan), s) for s, plan in enumerate(self.first)]
            self._twin = [s if s < k else None for k, s in enumerate(first)]
        return self._twin

    def results(self, position: int) -> list[Result]:
        return [(position, r) for r in range(self.outputs[position])]

    def source(self, position: int, operand: int) -> Result | None:
        """The result of this graph that an operand is; None if it is a leaf, a number or absent."""
        kind, at = self.sources[position][operand]
        if kind != INNER:
            return None
        return self.projections.get(at, (at, 0))

    def root(self, result: Result) -> Result:
        """The first of the results that lie in one place."""
        return self.shared.get(result, result)

    def is_native(self, result: Result) -> bool:
        """Whether a plan computes a result."""
        return self.first[self.made[result]] is not None

    # --- stages ---------------------------------------------------------------------------------------------

    def _stage(self, planned: list[Planned]) -> None:
        native = {k for stage in planned if stage.plan is not None for k in stage.members}
        for stage in planned:
            members = stage.members
            if stage.plan is None:
                members = [k for k in members if not self._projects(k, native)]
                if members and self.stages and self.first[-1] is None:
                    self.stages[-1].extend(members)
                    continue
            if members:
                self.stages.append(list(members))
                self.first.append(stage.plan)
                self.planned.append(stage)

    def _projects(self, position: int, native: set[int]) -> bool:
        signature = self.signatures[position]
        if signature.operator.kind != "project":
            return False
        kind, source = self.sources[position][0]
        if kind != INNER or source not in native:
            return False
        self.projections[position] = (source, signature.attributes[0])
        return True

    # --- who reads what -------------------------------------------------------------------------------------

    def _seen_from_outside(self) -> set[int]:
        """The nodes that somebody beside the graph itself holds."""
        readers = [0] * len(self.sources)
        for own in self.sources:
            for kind, at in own:
                if kind == INNER:
                    readers[at] += 1
        return {k for k, count in enumerate(self.outline.counts) if count > UNHELD + readers[k]}

    def _trace(self) -> None:
        self.made.clear()
        self.last.clear()
        for s, members in enumerate(self.stages):
            for k in members:
                self.made.update(dict.fromkeys(self.results(k), s))
        for s, members in enumerate(self.stages):
            for k in members:
                for operand in range(len(self.sources[k])):
                    found = self.source(k, operand)
                    if found is not None:
                        self.last[found] = s

    def _share(self) -> None:
        """Let results lie where an operand lies that they overwrite, or that nobody needs afterwards.

        What should overwrite an operand and cannot, the interpreter computes.
        """
        seen = {self.projections.get(k, (k, 0)) for k in self.seen}
        for s, (members, plan) in enumerate(zip(self.stages, self.first)):
            if plan is None:
                continue
            first = members[0]
            for operand, result in (*plan.in_place, *plan.reuses):
                found = self.source(first, operand)
                if found is None:
                    continue
                owned = (operand, result) in plan.in_place
                alone = sum(self.source(first, j) == found for j in range(len(self.sources[first]))) == 1
                if alone and self.is_native(found) and found not in seen and self.last[found] == s \
                        and (owned or self._is_whole(found, (first, result))):
                    self.shared[first, result] = self.root(found)
                elif owned:
                    self._interpret(s)
                    break

    def _is_whole(self, operand: Result, result: Result) -> bool:
        """Whether a result takes just the room in which an operand lies."""
        room, needed = [self.signatures[k].outputs[r] for k, r in (self.root(operand), result)]
        return room.numel == needed.numel and room.dtype is needed.dtype

    def _interpret(self, s: int) -> None:
        members = self.stages[s]
        back = [k for k, (source, _) in self.projections.items() if source in members]
        for k in back:
            del self.projections[k]
        self.shared = {result: root for result, root in self.shared.items() if result[0] not in members}
        self.stages[s] = [*members, *back]
        self.first[s] = None
        self._trace()

    def _held(self) -> set[Result]:
        held: set[Result] = set()
        for members, plan in zip(self.stages, self.first):
            for k in members if plan is None else ():
                held.update(self.results(k))
                found = [self.source(k, operand) for operand in range(len(self.sources[k]))]
                held.update([result for result in found if result is not None])
            # What overwrites a value from outside lies where a private array of it lies.
            for operand, result in plan.in_place if plan is not None else ():
                if self.source(members[0], operand) is None:
                    held.add((members[0], result))
        for k in self.seen:
            held.update([self.projections[k]] if k in self.projections else self.results(k))
        return {self.root(result) for result in held}
