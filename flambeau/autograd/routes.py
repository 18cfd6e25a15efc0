"""Routes: a whole backward pass, recorded again at once.

Note: routes. Most programs walk the same tape in every step: the same operators, connected in the same way.
When a pass that went by templates alone (Note: backward templates) comes again, what its templates recorded
is kept as a *route*: one template of the whole pass. A later pass that starts alike is first compared with
it, GradFn by GradFn, before anything is recorded or let go of. If every one is of the same plan, has the same
numbers, leads to the same others and kept what it kept then, the nodes are made in one loop, in the order in
which the templates would have made them; nothing is queued, looked up or added up on the way. A pass that
differs anywhere walks as ever, and so does one that is to leave leaves out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..executors import native
from ..graph import pending
from ..graph.node import Node, Signature
from ..graph.recent import Recent
from ..tensor import Tensor
from ..tensor.tape import GradFn, TapePlan
from .readings import Gradient, Reading, sums
from .tracing import Template, exact, take_kept

_nodes = pending.nodes
_ROUTES = 4         # from one start: models may have their loss in common
_TRIES = 8          # to find one that is followed, after which passes that start so are left alone
_MISSES = 8         # in a row, after which routes are given up
_ROOM = 50_000      # stops of all routes
_LONGEST = 15_000   # GradFns of a forward that may have one

# A stop that was passed: the GradFn, the gradients that came, the template.
Stop = tuple[GradFn, Sequence[Gradient | None], Template]


# What a route has to know of the pass that is asked for: its site, whether it retains what was kept, whether
# a saved tensor may be of a class that overrides, and which leaves it may reach (by id; None: any).
Pass = tuple[Any, bool, bool, set[Any] | None]


def numbers_of(fn: GradFn) -> Any:
    """Its numbers, to compare: by their text where equal ones may differ, 0.0 and -0.0."""
    numbers = fn.numbers
    if numbers is not None and (0 in numbers or complex in fn.signature.geometries):
        return repr(numbers)
    return numbers


class Route:
    """What a pass recorded. Places count the first gradient, what is kept, ``constants``, and nodes.

    ``stops``: of each GradFn which of those found so far it is, its class, plan and numbers, where its edges
    lead (number of the edge, of the output, and which of those found; -1 for nowhere) and what it kept.
    ``ends``: which of those found are the leaves, and ``gradients``: place and reading of each one's.
    ``steps``: signature and operands of each node. The rest is as in ``Template``. ``comparer`` and
    ``recorder``: native code that does what ``_compare`` and ``_record`` do, for a route that was followed
    once.
    """

    __slots__ = ("stops", "aliases", "constants", "steps", "ends", "gradients", "comparer", "recorder")

    def __init__(self, stops: list[Any], aliases: list[tuple[int, int]], constants: list[Any],
                 steps: list[tuple[Signature, list[int]]], leaves: list[tuple[int, int, Reading]]) -> None:
        self.stops = stops
        self.aliases = aliases
        self.constants = constants
        self.steps = steps
        self.ends = [at for at, _, _ in leaves]
        self.gradients = [(place, reading) for _, place, reading in leaves]
        self.comparer: Any = None
        self.recorder: Any = None

    def follow(self, fn: GradFn, node: Node, asked: Pass) -> list[tuple[Tensor, Gradient]] | None:
        """Record a pass from ``fn``; leaves with their gradients. None, and nothing done, if it differs.

        So it does if it reaches a leaf that is not wanted.
        """
        site, retain, unusual, wanted = asked
        flow: list[Any] = [node]
        if self.comparer is None or unusual:
            found = self._compare(fn, flow, unusual)
            if found is None:
                return None
        else:
            compared = self.comparer(fn)
            if compared is None:
                return None
            found, kept = compared
            flow += kept
        leaves = [found[at] for at in self.ends]
        ids = {*map(id, leaves)}
        if len(ids) != len(leaves) or (wanted is not None and not ids <= wanted) \
                or (wanted is None and not all([isinstance(x, Tensor) for x in leaves])):  # noqa: C419
            return None
        for a, b in self.aliases:
            if flow[a] is not flow[b]:
                return None
        flow += self.constants
        if self.recorder is None:
            self._record(flow, site)
        else:
            flow.append(site)
            flow[-1:] = self.recorder(flow)
        if not retain:
            for stop in self.stops:
                if stop[2].frees:
                    found[stop[0]].saved = None
        return [(leaf, (flow[place], read)) for leaf, (place, read) in zip(leaves, self.gradients)]

    def _record(self, flow: list[Any], site: Any) -> None:
        """Make the nodes, here; where there is native code for that, next time there."""
        first = len(flow)
        append = flow.append
        for signature, places in self.steps:
            append(Node(signature, tuple([flow[k] for k in places]), site))
        _nodes.extend(flow[first:])
        self.recorder = native.recorder(self.steps, first)
        if self.recorder is not None:
            from .comparing import comparer  # the native executor has imported llvmlite
            found = 1 + max([where for *_, edges, _ in self.stops for _, _, where in edges], default=0)
            self.comparer = comparer(self.stops, found)

    def _compare(self, fn: GradFn, flow: list[Any], unusual: bool) -> list[Any] | None:
        """GradFns and leaves in the order in which they were found; adds to ``flow`` what is kept."""
        found: list[Any] = [fn]
        last = sys.maxsize
        for at, kind, plan, numbers, edges, kept in self.stops:
            fn = found[at]
            if fn.__class__ is not kind or fn.plan is not plan or fn.hooks is not None \
                    or fn.sequence >= last or fn.saved is None:
                return None
            last = fn.sequence
            if (numbers is not None or fn.numbers is not None) and numbers_of(fn) != numbers:
                return None
            own = fn.edges
            for i, output, where in edges:
                target = own[i]
                if output:
                    if target.__class__ is not tuple or target[1] != output:
                        return None
                    target = target[0]
                if where == len(found):
                    found.append(target)
                elif (target is not found[where]) if where >= 0 else (target is not None):
                    return None
            if kept and not take_kept(kept, fn.saved, flow, unusual):
                return None
        return found


class Start:
    """What is known of passes that start at GradFns of one plan, with gradients that are read alike."""

    __slots__ = ("routes", "tries", "misses", "length", "comes_again")

    def __init__(self) -> None:
        self.routes: list[Route] = []
        self.tries = _TRIES
        self.misses = 0
        self.length = 0             # how many GradFns were made during the last pass's forward
        self.comes_again = False    # whether the last pass was as long as the one before, and by templates

    def follow(self, fn: GradFn, node: Node, asked: Pass) -> list[tuple[Tensor, Gradient]] | None:
        """Record a pass by one of the routes; None if it follows none."""
        for route in self.routes:
            reached = route.follow(fn, node, asked)
            if reached is not None:
                self.misses, self.tries = 0, _TRIES
                return reached
        if self.routes:
            self.misses += 1
            if self.misses > _MISSES:
                self.routes.clear()
        return None

    def wants_stops(self) -> bool:
        """Whether the pass that begins is to be kept as a route."""
        return self.comes_again and self.tries > 0

    def passed(self, length: int, by_templates: bool, stops: list[Stop] | None) -> None:
        """A pass is over that followed no route."""
        if stops is not None:
            self.tries -= 1
            route = _route(stops) if by_templates else None
            if route is not None:
                _make_room(len(stops))
                self.routes.insert(0, route)
                del self.routes[_ROUTES:]
        self.comes_again = by_templates and length == self.length and length <= _LONGEST
        self.length = length


_starts: Recent[tuple[TapePlan, Reading], Start] = Recent(1 << 9)
dtypes.on_default_change.append(_starts.clear)
_used = 0


def start_at(plan: TapePlan, reading: Reading) -> Start:
    """What is known of passes that start here."""
    key = plan, reading
    return _starts.get(key) or _starts.recall(key) or _starts.keep(key, Start())


def _make_room(stops: int) -> None:
    """Forget all routes when there are too many."""
    global _used
    _used += stops
    if _used > _ROOM:
        _starts.clear()
        _used = stops


class _Builder:
    """A route under construction."""

    def __init__(self, stops: list[Stop]) -> None:
        self.constants: dict[Any, Any] = {}
        for _, _, template in stops:
            for x in template.constants:
                self.constants.setdefault(exact(x), x)
        self.kept = 1                                               # where what is kept next goes
        self.first_constant = 1 + sum([len(template.kept) for _, _, template in stops])
        self.places = {key: self.first_constant + k for k, key in enumerate(self.constants)}
        self.first_step = self.first_constant + len(self.constants)
        fn, gradients, _ = stops[0]
        self.found = {id(fn): 0}
        # Of (which of those found, number of the output): place and reading of the gradient.
        self.waiting: dict[tuple[int, int], tuple[int, Reading]] = {}
        if gradients[0] is not None:
            self.waiting[0, 0] = 0, gradients[0][1]
        self.leaves: set[int] = set()
        self.stops: list[Any] = []
        self.aliases: list[tuple[int, int]] = []
        self.steps: list[tuple[Signature, list[int]]] = []

    def add(self, fn: GradFn, gradients: Sequence[Gradient | None], template: Template) -> bool:
        """Another stop; false where that cannot be said."""
        at = self.found.get(id(fn))
        if at is None:
            return False
        places: list[Any] = []
        for output, gradient in enumerate(gradients):
            came = self.waiting.pop((at, output), None)
            if (None if came is None else came[1]) is not (None if gradient is None else gradient[1]):
                return False
            places.append(None if came is None else came[0])
        places += range(self.kept, self.kept + len(template.kept))
        self.kept += len(template.kept)
        places += [self.places[exact(x)] for x in template.constants]
        for signature, pick in template.steps:
            chosen = [places[pick]] if pick.__class__ is int else [*pick(places)]
            places.append(self._step(signature, chosen))
        for first, second in template.aliases:
            pair = places[first], places[second]
            if pair[0] != pair[1]:
                if max(pair) >= self.first_step:
                    return False
                self.aliases.append(pair)
        edges: list[tuple[int, int, int]] = []
        for i, place, reading in template.results:
            if not self._give(fn.edges[i], i, places[place], reading, edges):
                return False
        self.stops.append((at, fn.__class__, fn.plan, numbers_of(fn), tuple(edges), template.kept))
        return True

    def _step(self, signature: Signature, chosen: list[int]) -> int:
        self.steps.append((signature, chosen))
        return self.first_step + len(self.steps) - 1

    def _give(self, target: Any, i: int, place: int, reading: Reading,
              edges: list[tuple[int, int, int]]) -> bool:
        """A gradient goes along edge ``i``; false if it is added to another in an unknown way."""
        output = 0
        if target.__class__ is tuple:
            target, output = target
        if target is None:
            edges.append((i, 0, -1))
            return True
        at = self.found.setdefault(id(target), len(self.found))
        edges.append((i, output, at))
        if not isinstance(target, GradFn):
            self.leaves.add(at)
        have = self.waiting.get((at, output))
        if have is None:
            self.waiting[at, output] = place, reading
            return True
        known = sums.get((have[1], reading))
        if known is None:
            return False
        self.waiting[at, output] = self._step(known[0], [have[0], place]), known[1]
        return True

    def route(self) -> Route | None:
        """What was built; None if a gradient was left anywhere but at a leaf."""
        if not self.leaves.issuperset([at for at, _ in self.waiting]):
            return None
        leaves = [(at, place, reading) for (at, _), (place, reading) in self.waiting.items()]
        return Route(self.stops, self.aliases, [*self.constants.values()], self.steps, leaves)


def _route(stops: list[Stop]) -> Route | None:
    """The route of a pass; None where it cannot be said."""
    if not stops:
        return None
    builder = _Builder(stops)
    if not all(builder.add(*stop) for stop in stops):
        return None
    return builder.route()
