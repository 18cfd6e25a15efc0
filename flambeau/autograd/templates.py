"""Templates: what a derivative rule recorded once, recorded again without running the rule.

Note: backward templates. What a rule records depends on the signature of its operator, on which operands
want gradients, on the Python numbers among the operands and on how the incoming gradients read their nodes:
on nothing else, least of all on values. So the first time, the rule runs as ever (``engine.gradients``) and
what it recorded is kept as a *template*: a list of signatures, each with the places its operands come from
(an incoming gradient, a saved tensor, a number, an earlier node of the list). From then on the nodes are made
from the template, at a third of the cost, and gradients travel as pairs (node, ``Reading``), not as tensors.

No template is made of a rule that looked at a value, or that used a node from elsewhere (a random state, a
tensor it made of numbers); none is used where a user may watch or interfere: hooks on the node, a Function,
``create_graph``, anomaly mode, classes with ``__torch_function__``, eager execution. There, and wherever a
saved tensor is not as it was (another version, another geometry, freed), the ordinary engine takes the step,
and raises what there is to raise. ``FLAMBEAU_BACKWARD_TEMPLATES=0`` or ``config.backward_templates(False)``
leaves everything to the ordinary engine, which is what to step through in a debugger.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any
from weakref import WeakValueDictionary

from .. import dtypes
from ..config import settings
from ..engine.look import check_budget, snapshot, values_read
from ..graph import pending
from ..graph.geometry import Geometry
from ..graph.node import Node, Signature
from ..graph.recent import Recent
from ..graph.storage import Storage
from ..operators.arithmetic import ADD
from ..tensor import Tensor, overrides, record_pair, state
from ..tensor.batching import levels
from ..tensor.record import META_NODE
from ..tensor.swapping import swapped
from ..tensor.tape import GradFn, SavedTensor
from .engine import SWAPPED, Walk, accumulate_grad, gradients, lies_as

_new = object.__new__
_nodes = pending.nodes
_append = pending.nodes.append


class Reading:
    """How a gradient on its way reads its node. Interned."""

    __slots__ = ("geometry", "stored", "__weakref__")

    def __init__(self, geometry: Geometry, stored: Geometry) -> None:
        self.geometry = geometry
        self.stored = stored  # the geometry of the whole value


Gradient = tuple[Node, Reading]  # on its way; a Tensor where the ordinary engine made it

# All that are used, and those that were used lately: a template finds the reading it was made for again,
# however many came in between.
_interned: WeakValueDictionary[tuple[Geometry, Geometry], Reading] = WeakValueDictionary()
_readings: Recent[tuple[Geometry, Geometry], Reading] = Recent(1 << 13)
_sums: Recent[tuple[Reading, Reading], tuple[Signature, Reading]] = Recent(1 << 12)


def _forget() -> None:
    """Make all templates unreachable: they are found by readings, which will be new ones."""
    _interned.clear()
    _readings.clear()
    _sums.clear()


dtypes.on_default_change.append(_forget)


def _reading(geometry: Geometry, stored: Geometry) -> Reading:
    key = geometry, stored
    found = _readings.get(key)
    if found is None:
        found = _readings.recall(key) or _readings.keep(key, _intern(key))
    return found


def _intern(key: tuple[Geometry, Geometry]) -> Reading:
    found = _interned.get(key)
    if found is None:
        found = _interned[key] = Reading(*key)
    return found


def _travelling(x: Tensor) -> Gradient | None:
    """A tensor as a gradient on its way, None if it is more than its value."""
    if x._sparse:
        return None
    storage = x._storage
    if storage.exposed or x._overrides or storage.node is META_NODE:
        return None
    return storage.node, _reading(x._geometry, storage.geometry)


def _travelling_all(grads: list[Any]) -> list[Any] | None:
    """Gradients as gradients on their way, absent ones as None; None if one cannot be."""
    for grad in grads:
        if grad.__class__ is not tuple and grad is not None:
            break
    else:
        return grads
    found = [_travelling(x) if isinstance(x, Tensor) else x for x in grads]
    return None if any(new is None and old is not None for new, old in zip(found, grads)) else found


def _tensor(grad: Any) -> Any:
    """A gradient on its way as a tensor."""
    if grad.__class__ is not tuple:
        return grad
    x = _new(Tensor)
    x._storage = Storage(grad[0], grad[1].stored)
    x._geometry = grad[1].geometry
    return x


class Template:
    """The nodes of one derivative. Places count gradients coming in, what is kept, ``constants``, nodes.

    ``kept``: index in ``saved``, geometry and storage's geometry of saved tensors. ``aliases``: pairs of
    places that were one node, so that it is not known which was meant; they have to be one node again.
    ``steps``: signature and operands of each node. ``results``: number of the edge, place, reading.
    """

    __slots__ = ("kept", "aliases", "constants", "steps", "results")

    def __init__(self, kept: Sequence[tuple[int, Geometry | None, Geometry]],
                 aliases: Sequence[tuple[int, int]], constants: tuple[Any, ...],
                 steps: Sequence[tuple[Any, Any]], results: Sequence[tuple[int, int, Reading]]) -> None:
        # Most of these are empty or short, and many templates are kept: empty tuples are one object.
        self.kept = tuple(kept)
        self.aliases = aliases
        self.constants = constants
        self.steps = tuple(steps)
        self.results = tuple(results)


# --- making a template --------------------------------------------------------------------------------------

class Tracing:
    """The places of a derivative that is about to run, and afterwards the template of what it recorded."""

    def __init__(self, fn: GradFn, sources: list[Gradient | None]) -> None:
        self.fn = fn
        self.places: list[Any] = [None if g is None else g[0] for g in sources]
        self.kept: list[tuple[int, Geometry | None, Geometry]] = []
        self.possible = self._keep(fn.saved)
        self.start = len(_nodes)
        self.read = values_read[0]

    def _keep(self, saved: tuple[Any, ...]) -> bool:
        """Give saved tensors their places; false where one is not simply a value."""
        for at in range(0, len(saved), 2):
            found = saved[at]
            if found is None:
                continue    # a number or nothing
            if found.__class__ is Storage:
                storage, geometry = found, None
            elif found.__class__ is SavedTensor or found._overrides:
                return False
            else:
                storage, geometry = found._storage, found._geometry
            if storage.exposed or storage.node is META_NODE:
                return False
            self.places.append(storage.node)
            self.kept.append((at, geometry, storage.geometry))
        return True

    def template(self, results: Sequence[Any]) -> Template | None:
        """What was recorded since, as a template; None where that would not say everything."""
        if not self.possible or self.read != values_read[0]:
            return None
        wanted = self._wanted(results)
        if wanted is None:
            return None
        place: dict[int, int] = {}
        aliases: Any = ()
        for i, node in enumerate(self.places):
            first = place.setdefault(id(node), i)
            if first != i and node is not None:
                aliases = (*aliases, (first, i))
        made = {id(node) for _, (node, _) in wanted if id(node) not in place}
        recorded = self._recorded(made, place) if made else []      # a view's gradient is but another view
        constants = None if recorded is None else _constants(recorded)
        if recorded is None or constants is None:
            return None
        base = len(self.places)
        number = {key: base + i for i, key in enumerate(constants)}
        base += len(constants)
        for i, (node, _) in enumerate(recorded):
            place[id(node)] = base + i
        steps = [(node.signature, _pick([place[id(x)] if x.__class__ is Node else number[_exact(x)]
                                         for x in operands])) for node, operands in recorded]
        found = [(i, place[id(node)], reading) for i, (node, reading) in wanted]
        return Template(self.kept, aliases, tuple(constants.values()), steps, found)

    def _wanted(self, results: Sequence[Any]) -> list[tuple[int, Gradient]] | None:
        """The gradients that are wanted, by number, on their way; None if one is more than its value."""
        found = []
        for i, need in enumerate(self.fn.needs):
            x = results[i] if need else None
            if x is not None:
                gradient = _travelling(x) if x.__class__ is Tensor else None
                if gradient is None:
                    return None
                found.append((i, gradient))
        return found

    def _recorded(self, needed: set[int], place: dict[int, int]) -> list[tuple[Node, Any]] | None:
        """The nodes that are needed (by id) and what they need, in the order of recording, with operands.

        None if one comes from elsewhere, or was computed (perhaps by another thread, perhaps just now).
        """
        recorded: list[tuple[Node, Any]] = []
        for node in reversed(_nodes[self.start:]):
            if id(node) not in needed:
                continue
            operands = node.operands    # which go when the value comes
            if node.value is not None or node.signature is None \
                    or len(operands) != len(node.signature.geometries):
                return None
            recorded.append((node, operands))
            needed.update([id(x) for x in operands if x.__class__ is Node and id(x) not in place])
        recorded.reverse()
        return recorded if len(recorded) == len(needed) else None


_CONSTANTS = (int, float, bool, complex, type(None))


def _exact(x: Any) -> Any:
    """A key that tells numbers apart that compare equal: 1 and 1.0, 0.0 and -0.0."""
    return x.__class__, repr(x)


def _constants(recorded: list[tuple[Node, Any]]) -> dict[Any, Any] | None:
    """What the nodes' operands are beside nodes; None if there is more than numbers among them."""
    found: dict[Any, Any] = {}
    for _, operands in recorded:
        for x in operands:
            if x.__class__ is not Node:
                if x.__class__ not in _CONSTANTS:
                    return None
                found[_exact(x)] = x
    return found


def _pick(places: list[int]) -> Any:
    """What takes the operands out of the list of places; the place alone, for one operand."""
    if len(places) > 1:
        return itemgetter(*places)
    return places[0] if places else lambda values: ()


def _key(fn: GradFn, sources: list[Gradient | None]) -> Any:
    """What a template is found by, beside the plan: numbers, and how the gradients read their nodes."""
    if len(sources) == 1 and sources[0] is not None:
        readings: Any = sources[0][1]
    else:
        readings = tuple([None if source is None else source[1] for source in sources])
    numbers = fn.numbers
    if numbers is None:
        return readings
    # Numbers are compared by their text where equal ones may differ: 0.0 and -0.0.
    if 0 in numbers or complex in fn.signature.geometries:
        return readings, repr(numbers)
    return readings, numbers


# --- walking ------------------------------------------------------------------------------------------------

def may_replay(create_graph: bool) -> bool:
    """Whether templates may be used in a backward pass (Note: backward templates)."""
    return settings.backward_templates and not (
        create_graph or settings.eager or state.anomaly or state.inference or overrides.modes or levels)


class TemplateWalk(Walk):
    """A backward pass by templates (Note: backward templates)."""

    __slots__ = ("site", "unusual")

    def __init__(self, retain: bool) -> None:
        super().__init__(retain, False)
        self.site: Any = None
        # whether a saved tensor may be of a class that overrides, or a tensor have got another's contents
        self.unusual = overrides.active() or bool(swapped)

    def run(self) -> None:
        """Run until nothing waits."""
        heap, waiting, leaves, retain = self.heap, self.waiting, self.leaf_results, self.retain
        site = self.site = state.site
        selective = self.wanted is not None or bool(self.capture)
        while heap:
            fn, grads = waiting.pop(heappop(heap))
            if selective and not self._is_wanted(fn, grads):
                continue
            plan, saved = fn.plan, fn.saved
            if plan is None or fn.hooks is not None or saved is None or site is None:
                self.step(fn, grads)
                continue
            if len(grads) == 1 and fn.numbers is None and grads[0].__class__ is tuple:
                sources = grads
                node, key = grads[0]
                values = [node]
            else:
                found = _travelling_all(grads)
                if found is None:
                    self.step(fn, grads)
                    continue
                sources, key = found, _key(fn, found)
                values = [None if source is None else source[0] for source in sources]
            template = plan.templates.get(key)
            if template is None or (saved and not self._keep(template, saved, values)):
                self._trace(fn, grads, sources, key)
                continue
            values += template.constants
            for signature, pick in template.steps:
                node = Node(signature, (values[pick],) if pick.__class__ is int else pick(values), site)
                _append(node)
                values.append(node)
            if saved and not retain:
                fn.saved = None
            edges = fn.edges
            for i, place, reading in template.results:
                target = edges[i]
                if isinstance(target, GradFn):
                    at = -target.sequence
                    if at not in waiting and target.plan is not None and target.plan.single:
                        waiting[at] = target, [(values[place], reading)]
                        heappush(heap, at)
                        continue
                elif target is None:
                    continue
                elif target.__class__ is not tuple:
                    at = id(target)
                    if self.unusual and target._swapped > fn.sequence:
                        raise RuntimeError(SWAPPED)
                    if at not in leaves:
                        leaves[at] = target, (values[place], reading)
                        continue
                self.give(target, (values[place], reading))
            if len(_nodes) > settings.check_at:
                check_budget()

    def _keep(self, template: Template, saved: tuple[Any, ...], values: list[Any]) -> bool:
        """Add the nodes of what fn kept to ``values``; false if one is not as the template has it."""
        for at, geometry, stored in template.kept:
            found = saved[at]
            if found.__class__ is Storage:
                storage = found
                now = storage.version
            elif found.__class__ is SavedTensor:
                return False
            else:
                storage, counter = found._storage, found._counter
                now = storage.version if counter is None else counter.version
                if found._geometry is not geometry or (self.unusual and (found._overrides or found._swapped)):
                    return False
            if now != saved[at + 1] or storage.geometry is not stored:
                return False
            values.append(snapshot(storage) if storage.exposed else storage.node)
        for first, second in template.aliases:
            if values[first] is not values[second]:
                return False
        return True

    def _trace(self, fn: GradFn, grads: list[Any], sources: list[Gradient | None], key: Any) -> None:
        """Let the rule run, and make a template of what it records."""
        plan = fn.plan
        if plan.room <= 0:
            if plan.turn == _readings.turns:
                self.step(fn, grads)
                return
            plan.forget_templates(_readings.turns)      # some belong to readings that are forgotten
        plan.room -= 1
        tracing = Tracing(fn, sources)
        results = gradients(fn, [_tensor(grad) for grad in grads])
        template = tracing.template(results)
        if template is not None:
            plan.templates[key] = template
        self.pass_on(fn, results)

    def step(self, fn: GradFn, grads: list[Any]) -> None:
        """The ordinary engine's step, for what templates are not made for."""
        super().step(fn, [_tensor(grad) for grad in grads])

    def add(self, have: Any, grad: Any) -> Any:
        """The sum of two gradients for the same place."""
        if have.__class__ is not tuple or grad.__class__ is not tuple:
            return super().add(_tensor(have), _tensor(grad))
        key = have[1], grad[1]
        known = _sums.get(key) or _sums.recall(key)
        if known is not None:
            node = Node(known[0], (have[0], grad[0]), self.site)
            _append(node)
            return node, known[1]
        total = record_pair(ADD, _tensor(have), _tensor(grad))
        signature = total._storage.node.signature
        if signature is not None:
            _sums.keep(key, (signature, _reading(total._geometry, total._storage.geometry)))
        return total

    def _is_wanted(self, fn: GradFn, grads: list[Any]) -> bool:
        if self.capture:
            self.note(fn, [_tensor(grad) for grad in grads])
        return self.wanted is None or fn in self.wanted

    def leaf_gradient(self, leaf: Tensor) -> Any:
        """What reached a leaf; None where nothing did."""
        return _tensor(super().leaf_gradient(leaf))

    def finish(self) -> None:
        """Accumulate what reached leaves into their ``.grad``."""
        for leaf, grad in self.leaf_results.values():
            if leaf._requires_grad:
                if grad.__class__ is tuple and leaf._grad is None and leaf._hooks is None \
                        and lies_as(grad[1].geometry, leaf._geometry):
                    leaf._grad = _tensor(grad)  # nobody else has this storage
                else:
                    accumulate_grad(leaf, _tensor(grad), False)
