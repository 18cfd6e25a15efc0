"""Templates: what a derivative rule recorded once, recorded again without running the rule.

Note: backward templates. What a rule records depends on the signature of its operator, on which operands
want gradients, on the Python numbers among the operands and on how the incoming gradients read their nodes:
on nothing else, least of all on values. So in the second backward pass that comes by (shapes that never come
back pay for nothing), or after a few of the same in the first one (steps of a loop, layers that are alike;
where other shapes follow, at once), the rule runs as ever (``engine.gradients``) and what it recorded is kept
as a *template*: a list of signatures, each with the places its operands come from (an incoming gradient, a
saved tensor, a number, an earlier node of the list).
From then on the nodes are made from the template, at a third of the cost, and gradients travel as pairs
(node, ``Reading``), not as tensors.

No template is made of a rule that looked at a value, or that used a node from elsewhere (a random state, a
tensor it made of numbers); none is used where a user may watch or interfere: hooks on the node, a Function,
``create_graph``, anomaly mode, classes with ``__torch_function__``, eager execution. There, and wherever a
saved tensor is not as it was (another version, another geometry, freed), the ordinary engine takes the step,
and raises what there is to raise. ``FLAMBEAU_BACKWARD_TEMPLATES=0`` or ``config.backward_templates(False)``
leaves everything to the ordinary engine, which is what to step through in a debugger.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any

from ..config import settings
from ..engine.look import check_budget
from ..executors import native
from ..graph import pending
from ..graph.node import Node
from ..tensor import Tensor, overrides, state
from ..tensor.batching import levels
from ..tensor.swapping import swapped
from ..tensor.tape import PATIENCE, GradFn
from .accumulating import accumulate_grad, lies_as
from .engine import SWAPPED, Walk, gradients, sum_of
from .readings import Gradient, Reading, copies, reading, sums, tensor, travelling, travelling_all, turns
from .routes import Pass, Start, Stop, numbers_of, start_at
from .tracing import Template, Tracing, take_kept

_nodes = pending.nodes
_append = pending.nodes.append
_number = count(1).__next__     # of backward passes
_FOR_WHOLES = 16    # of the templates that a plan has room for are not made for parts of larger gradients


def _key(fn: GradFn, sources: list[Gradient | None]) -> Any:
    """What a template is found by, beside the plan: numbers, and how the gradients read their nodes."""
    if len(sources) == 1 and sources[0] is not None:
        readings: Any = sources[0][1]
    else:
        readings = tuple([None if source is None else source[1] for source in sources])
    return readings if fn.numbers is None else (readings, numbers_of(fn))


def _is_part(read: Reading) -> bool:
    """Whether a gradient is some adjacent elements of a larger one."""
    return read.geometry.is_contiguous and 0 < read.geometry.numel < read.stored.numel


def may_replay(create_graph: bool) -> bool:
    """Whether templates may be used in a backward pass (Note: backward templates)."""
    return settings.backward_templates and not (
        create_graph or settings.eager or (state.watched and state.anomaly) or state.inference
        or overrides.modes or levels)


def start_of_route(starts: Sequence[Any], grads: Sequence[Tensor]) -> tuple[Start, GradFn, Node] | None:
    """What is known of passes that start so, and where this one does; None where it starts in several places.

    Templates may be used in it (Note: routes).
    """
    if len(starts) != 1 or swapped or not settings.check_at:
        return None
    fn = starts[0]
    if not isinstance(fn, GradFn) or fn.plan is None:
        return None
    gradient = travelling(grads[0])
    return None if gradient is None else (start_at(fn.plan, gradient[1]), fn, gradient[0])


def along_route(start: Start, fn: GradFn, node: Node, asked: Pass) -> list[tuple[Tensor, Gradient]] | None:
    """Leaves with their gradients, of a whole pass that a route has recorded; None if there is none."""
    reached = start.follow(fn, node, asked) if start.routes else None
    if reached is not None and len(_nodes) > settings.check_at:
        check_budget()
    return reached


class TemplateWalk(Walk):
    """A backward pass by templates (Note: backward templates)."""

    __slots__ = ("site", "unusual", "start", "stops", "by_templates")

    def __init__(self, retain: bool, start: Start | None) -> None:
        super().__init__(retain, False)
        self.site: Any = None
        # whether a saved tensor may be of a class that overrides, or a tensor have got another's contents
        self.unusual = overrides.active() or bool(swapped)
        self.start = start      # (Note: routes)
        # those passed, if the pass is to be kept
        self.stops: list[Stop] | None = [] if start is not None and start.wants_stops() else None
        self.by_templates = True                # whether all were

    def run(self) -> None:
        """Run until nothing waits, GradFn by GradFn."""
        self.site = state.site
        first = -min(self.heap, default=0)
        self._run()
        if self.start is not None:
            self.start.passed(first - self.at, self.by_templates, self.stops)

    def _run(self) -> None:
        """``run``, all of it (Note: hot functions, in ``recording/record.py``)."""
        heap, waiting, leaves, retain = self.heap, self.waiting, self.leaf_results, self.retain
        site, stops = self.site, self.stops
        number = _number()
        selective = self.wanted is not None or bool(self.capture)
        while heap:
            fn, grads = waiting.pop(heappop(heap))
            if selective and not self.is_wanted(fn, grads):
                continue
            plan, saved = fn.plan, fn.saved
            self.at = fn.sequence
            if plan is None or fn.hooks is not None or saved is None or site is None:
                self.step(fn, grads)
                continue
            if not plan.met or plan.met == number:
                plan.met = number
                if plan.times < plan.kind.patience:
                    plan.times += 1
                    self.by_templates = False
                    self.pass_on(fn, gradients(fn, [tensor(grad) for grad in grads]))
                    continue
                if plan.kind.patience == PATIENCE:  # other shapes will come as often
                    plan.kind.patience = 0
            if len(grads) == 1 and fn.numbers is None and grads[0].__class__ is tuple:
                sources = grads
                node, key = grads[0]
                values = [node]
            else:
                found = travelling_all(grads)
                if found is None:
                    self.step(fn, grads)
                    continue
                sources, key = found, _key(fn, found)
                values = [None if source is None else source[0] for source in sources]
            template = plan.templates.get(key)
            if template is None or (template.checked and not self._keep(template, saved, values)):
                self._trace(fn, grads, sources, key)
                continue
            if stops is not None:
                stops.append((fn, sources, template))
            values += template.constants
            for signature, pick in template.steps:
                node = Node(signature, (values[pick],) if pick.__class__ is int else pick(values), site)
                _append(node)
                values.append(node)
            if plan.frees and not retain:
                fn.saved = None
            edges = fn.edges
            for i, place, read in template.results:
                target = edges[i]
                if isinstance(target, GradFn):
                    at = -target.sequence
                    if at not in waiting and target.plan is not None and target.plan.single:
                        waiting[at] = target, [(values[place], read)]
                        heappush(heap, at)
                        continue
                elif target is None:
                    continue
                elif target.__class__ is not tuple:
                    at = id(target)
                    if self.unusual and target._swapped > self.at:
                        raise RuntimeError(SWAPPED)
                    if at not in leaves:
                        leaves[at] = target, (values[place], read)
                        continue
                self.give(target, (values[place], read))
            if len(_nodes) > settings.check_at:
                check_budget()

    def _keep(self, template: Template, saved: tuple[Any, ...], values: list[Any]) -> bool:
        """Add the nodes of what fn kept to ``values``; false if one is not as the template has it."""
        if not take_kept(template.kept, saved, values, self.unusual):
            return False
        for first, second in template.aliases:
            if values[first] is not values[second]:
                return False
        return True

    def _trace(self, fn: GradFn, grads: list[Any], sources: list[Gradient | None], key: Any) -> None:
        """Let the rule run, and make a template of what it records."""
        self.by_templates = False
        plan = fn.plan
        if plan.room <= _FOR_WHOLES and (wholes := self._wholes(sources)) is not None:
            at = -fn.sequence
            self.waiting[at] = fn, wholes
            heappush(self.heap, at)
            return
        if plan.room <= 0:
            if plan.turn == turns():
                self.step(fn, grads)
                return
            plan.forget_templates(turns())       # some belong to readings that are forgotten
        plan.room -= 1
        tracing = Tracing(fn, sources)
        results = gradients(fn, [tensor(grad) for grad in grads])
        template = tracing.template(results)
        if template is not None:
            plan.keep_template(key, template)
        self.pass_on(fn, results)

    def _wholes(self, sources: list[Gradient | None]) -> list[Gradient | None] | None:
        """Gradients that are parts of larger ones, copied; None if none is.

        Steps of a loop get such of what was stacked, each from another place, and loops that end earlier or
        later of others: there would be a template for each of them, and none for the next.
        """
        if not any(source is not None and _is_part(source[1]) for source in sources):
            return None
        return [self._whole(*source) if source is not None and _is_part(source[1]) else source
                for source in sources]

    def _whole(self, node: Node, read: Reading) -> Gradient:
        known = copies.get(read) or copies.recall(read)
        if known is None:
            made = tensor((node, read)).clone()
            copy, whole = made._storage.node, reading(made._geometry, made._storage.geometry)
            copies.keep(read, (copy.signature, whole))
            return copy, whole
        copy = Node(known[0], (node,), self.site)
        _append(copy)
        return copy, known[1]

    def step(self, fn: GradFn, grads: list[Any]) -> None:
        """The ordinary engine's step, for what templates are not made for."""
        self.by_templates = False
        super().step(fn, [tensor(grad) for grad in grads])

    def add(self, have: Any, grad: Any) -> Any:
        """The sum of two gradients for the same place."""
        if have.__class__ is not tuple or grad.__class__ is not tuple:
            return super().add(tensor(have), tensor(grad))
        key = have[1], grad[1]
        known = sums.get(key) or sums.recall(key)
        if known is not None:
            node = Node(known[0], (have[0], grad[0]), self.site)
            _append(node)
            return node, known[1]
        total = sum_of(tensor(have), tensor(grad))
        signature = total._storage.node.signature
        if signature is not None:
            sums.keep(key, (signature, reading(total._geometry, total._storage.geometry)))
        return total

    def is_wanted(self, fn: GradFn, grads: list[Any]) -> bool:
        """Whether fn has to run; what is asked for is a tensor."""
        if self.capture:
            return super().is_wanted(fn, [tensor(grad) for grad in grads])
        return self.wanted is None or fn in self.wanted

    def leaf_gradient(self, leaf: Tensor) -> Any:
        """What reached a leaf; None where nothing did."""
        return tensor(super().leaf_gradient(leaf))

    def finish(self) -> None:
        """Accumulate what reached leaves into their ``.grad``."""
        accumulate_all(self.leaf_results.values())


def accumulate_all(reached: Collection[tuple[Tensor, Any]]) -> None:
    """Accumulate gradients, on their way or tensors, into the ``.grad`` of leaves."""
    if _natively is None or reached.__class__ is not list:
        for leaf, grad in reached:
            _accumulate(leaf, grad)
        return
    at = _natively(reached, 0)
    while at < len(reached):
        _accumulate(*reached[at])
        at = _natively(reached, at + 1)


def _accumulate(leaf: Tensor, grad: Any) -> None:
    if leaf._requires_grad:  # not detached since
        if grad.__class__ is tuple and leaf._grad is None and leaf._hooks is None \
                and lies_as(grad[1].geometry, leaf._geometry):
            leaf._grad = tensor(grad)  # nobody else has this storage
        else:
            accumulate_grad(leaf, tensor(grad), False)


def _accumulate_natively() -> None:
    global _natively
    from ..tensor.recording.native.accumulating import accumulator  # when llvmlite has been imported
    _natively = accumulator(Reading)


_natively: Any = None
native.on_return.append(_accumulate_natively)
