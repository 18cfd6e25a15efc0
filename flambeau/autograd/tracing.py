"""Making templates: watching what a derivative rule records (Note: backward templates)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from ..engine.look import snapshot, values_read
from ..graph import pending
from ..graph.geometry import Geometry
from ..graph.node import Node
from ..graph.storage import Storage
from ..tensor import Tensor
from ..tensor.aliasing.turned import is_steady
from ..tensor.recording.record import META_NODE
from ..tensor.tape import GradFn, SavedTensor
from .readings import Gradient, Reading, travelling

_nodes = pending.nodes


class Template:
    """The nodes of one derivative. Places count gradients coming in, what is kept, ``constants``, nodes.

    ``kept``: index in ``saved``, geometry and storage's geometry of saved tensors. ``aliases``: pairs of
    places that were one node, so that it is not known which was meant; they have to be one node again.
    ``checked``: whether there is any of these, which a use of the template has to look at.
    ``steps``: signature and operands of each node. ``results``: number of the edge, place, reading.
    """

    __slots__ = ("kept", "aliases", "checked", "constants", "steps", "results")

    def __init__(self, kept: Sequence[tuple[int, Geometry | None, Geometry]],
                 aliases: Sequence[tuple[int, int]], constants: tuple[Any, ...],
                 steps: Sequence[tuple[Any, Any]], results: Sequence[tuple[int, int, Reading]]) -> None:
        # Most of these are empty or short, and many templates are kept: empty tuples are one object.
        self.kept = tuple(kept)
        self.aliases = aliases
        self.checked = bool(kept or aliases)
        self.constants = constants
        self.steps = tuple(steps)
        self.results = tuple(results)


def take_kept(kept: Sequence[tuple[int, Geometry | None, Geometry]], saved: tuple[Any, ...],
              values: list[Any], unusual: bool) -> bool:
    """Add the nodes of what a GradFn kept to ``values``; false if one is not as the template has it.

    ``unusual``: whether one may be of a class that overrides, or have got another tensor's contents.
    """
    for at, geometry, stored in kept:
        found = saved[at]
        if found.__class__ is Storage:
            storage = found
            now = storage.version
        elif found.__class__ is SavedTensor:
            return False
        else:
            storage, counter = found._storage, found._counter
            now = storage.version if counter is None else counter.version
            if found._geometry is not geometry or (unusual and (found._overrides or found._swapped)):
                return False
        if now != saved[at + 1] or storage.geometry is not stored:
            return False
        values.append(snapshot(storage) if storage.exposed else storage.node)
    return True


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
            if not is_steady(storage) or storage.node is META_NODE:
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
        steps = [(node.signature, pick_of([place[id(x)] if x.__class__ is Node else number[exact(x)]
                                         for x in operands])) for node, operands in recorded]
        found = [(i, place[id(node)], reading) for i, (node, reading) in wanted]
        return Template(self.kept, aliases, tuple(constants.values()), steps, found)

    def _wanted(self, results: Sequence[Any]) -> list[tuple[int, Gradient]] | None:
        """The gradients that are wanted, by number, on their way; None if one is more than its value."""
        found = []
        for i, need in enumerate(self.fn.needs):
            x = results[i] if need else None
            if x is not None:
                gradient = travelling(x) if x.__class__ is Tensor else None
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


def exact(x: Any) -> Any:
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
                found[exact(x)] = x
    return found


def pick_of(places: list[int]) -> Any:
    """What takes the operands out of the list of places; the place alone, for one operand."""
    if len(places) > 1:
        return itemgetter(*places)
    return places[0] if places else lambda values: ()
