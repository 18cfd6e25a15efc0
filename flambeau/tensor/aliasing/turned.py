"""Conjugate and negative views: a storage that others have too, read with its elements turned.

Note: turned storages. ``x.conj()`` computes nothing: its result is a view of x whose storage is a ``Turned``
one. That has no value of its own. Who asks it for its node gets one that is computed from the source's, an
ordinary operation of the graph that fuses with what reads it; who gives it another node writes the source,
turned back. Versions are the source's. Geometries, and with them all views, are the same for both.

So nobody else has to know of them but those who hand out memory. Native code that records reads the node that
was made last where the source still has the one of which it was made; other native code takes storages of
this class, whose other fields are empty, for unusual, and leaves them to Python.
"""

from __future__ import annotations

from functools import partial
from sys import _getframe
from typing import Any

from ...engine.look import snapshot, write_through
from ...graph import pending
from ...graph.geometry import Geometry, contiguous
from ...graph.node import Node
from ...graph.operator import Operator
from ...graph.site import user_frame
from ...graph.storage import Derived, Storage
from ..batching import BatchedTensor, batched
from ..recording.record import META_NODE, derived
from ..recording.signing import sign, signatures
from ..tape import state
from ..tensor import Tensor
from .inplace import WRITE
from .views import turned_views, view, view_operator


def _turn_part_kernel(m: Any, part: Any, conjugates: bool, negates: bool, window: Geometry,
                      whole: Geometry) -> Any:
    flat = m.empty(whole.numel, part.dtype)
    goal = m.strided(flat, window.shape, window.strides, window.offset)
    if negates:
        m.negative(m.conjugate(part) if conjugates else part, out=goal)
    else:
        m.conjugate(part, out=goal)
    return flat


# A storage of which only some elements are known, those of a view. Nobody reads the others.
TURN_PART = Operator("turn_part", _turn_part_kernel, lambda geometries, attributes: attributes[3], ("input",))
CONJ_VIEW = view_operator("conj_view", lambda g: g, grad_name="ConjBackward0")
NEG_VIEW = view_operator("neg_view", lambda g: g, grad_name="NegViewBackward0")
_turns = {CONJ_VIEW: (True, False), NEG_VIEW: (False, True)}


there_are: list[bool] = []      # not empty once there was one


class Turned(Derived):
    """The elements of ``source``, conjugated or negated or both (Note: turned storages).

    ``window``: the part that is read, if it is a small one.
    """

    __slots__ = ("conjugates", "negates", "dtype", "window")

    def __init__(self, source: Storage, g: Geometry, conjugates: bool, negates: bool) -> None:
        there_are[:] = (True,)
        self.source = source
        self.conjugates = conjugates
        self.negates = negates
        self.dtype = g.dtype
        held = source.geometry
        part = g.nbytes < held.nbytes
        self.window = g if part else None
        self.read = None
        if not (part or source.exposed or state.at_once):
            self._look_through()

    def _all(self) -> Geometry:
        """The source as a dense tensor of the type in which its elements are turned."""
        held = self.source.geometry
        if held.dtype is self.dtype:
            return held
        return contiguous((held.nbytes // self.dtype.itemsize,), self.dtype, held.device)

    def _look_through(self) -> Any:
        source = self.source
        node = snapshot(source) if source.exposed else source.node
        if self.read is node:
            return _made.__get__(self)
        if node is META_NODE:
            return node
        if self.window is not None:     # kept, the source's value would be copied when a part is written
            kinds = self.conjugates, self.negates, self.window, self._all().flat
            return _recorded(TURN_PART, kinds, (self.window,), (node,))[0]
        made = self._turn(node, self._all())[0]
        self._keep(node, made)
        return made

    def _keep(self, read: Any, made: Any) -> None:
        _made.__set__(self, made)
        self.read = read

    def _write(self, node: Any) -> None:
        source, g = self.source, self._all()
        self._keep(None, None)
        if node is META_NODE:
            return
        turned, given = self._turn(node, self.window or g)
        if self.window is not None or source.geometry is not g:
            held = snapshot(source) if source.exposed else source.node
            turned, _ = _recorded(WRITE, (self.window or g,), (source.flat, given), (held, turned))
        if source.exposed:
            write_through(source, turned)
        else:
            source.node = turned
            if self.window is None:
                self._keep(turned, node)

    def _turn(self, node: Any, g: Geometry) -> tuple[Any, Geometry]:
        """The elements that a geometry reads, turned, and how they lie."""
        if self.conjugates:
            node, g = _recorded(_makers[0], (), (g,), (node,))
        if self.negates:
            node, g = _recorded(_makers[1], (), (g,), (node,))
        return node, g


def _recorded(operator: Operator, attributes: tuple[Any, ...], geometries: tuple[Geometry, ...],
              operands: tuple[Any, ...]) -> tuple[Any, Geometry]:
    """A pending node and its geometry, without a tensor, which nobody is asked about."""
    key = (operator, attributes, *geometries)
    signature = signatures.get(key) or sign(operator, key, attributes)
    node = Node(signature, operands, state.site or user_frame(_getframe(3)))
    pending.nodes.append(node)
    return node, signature.outputs[0]


def _version(storage: Turned) -> int:
    return storage.source.version


def _set_version(storage: Turned, version: int) -> None:
    storage.source.version = version


# The slots of an ordinary storage stay empty, but for the node that was made.
_made: Any = vars(Storage)["node"]
_fields: Any = Turned
_fields.node = property(Turned._look_through, Turned._write)
_fields.version = property(_version, _set_version)
_fields.geometry = property(Turned._all)
_fields.exposed = property(lambda storage: False)
_fields.owner = property(lambda storage: None)
_makers: list[Operator] = []
derived.append(Turned)


def turns_with(conj: Operator, neg: Operator) -> None:
    """Let these operators conjugate and negate elements."""
    _makers[:] = conj, neg


def root(storage: Storage) -> Storage:
    """Where the memory of a storage is."""
    return storage.source if storage.__class__ is Turned else storage


def is_steady(storage: Storage) -> bool:
    """Whether the storage gives the same node each time, until it is written."""
    if storage.__class__ is Turned:
        return storage.window is None and not storage.source.exposed
    return not storage.exposed


def shares_memory(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors read one storage, turned or not."""
    return root(x._storage) is root(y._storage)


def is_turned(x: Tensor) -> tuple[bool, bool]:
    """Whether the elements are read conjugated, and negated."""
    while isinstance(x, BatchedTensor):
        x = x.physical
    storage: Any = x._storage
    return (storage.conjugates, storage.negates) if storage.__class__ is Turned else (False, False)


def turned_view(operator: Operator, x: Tensor) -> Tensor:
    """The view of x with its elements conjugated (``CONJ_VIEW``) or negated (``NEG_VIEW``)."""
    if isinstance(x, BatchedTensor):
        example: Tensor = batched(turned_view(operator, x.physical), x.level)
        return example
    out = view(operator, x)
    storage, (conjugates, negates) = x._storage, _turns[operator]
    if storage.__class__ is Turned:
        turn(out, conjugates, negates)
    else:
        out._storage = Turned(storage, x._geometry, conjugates, negates)
    return out


turned_views.update({operator: partial(turned_view, operator) for operator in _turns})


def turn(x: Tensor, conjugates: bool, negates: bool) -> None:
    """Let x read its elements turned once more."""
    now = is_turned(x)
    conjugates, negates = conjugates is not now[0], negates is not now[1]
    source = root(x._storage)
    x._storage = Turned(source, x._geometry, conjugates, negates) if conjugates or negates else source


def untie(storage: Storage) -> None:
    """Prepare a storage for views of more than what it was made for."""
    if storage.__class__ is Turned:
        storage.window = None


__all__ = ["CONJ_VIEW", "NEG_VIEW", "Turned", "is_steady", "is_turned", "root", "shares_memory", "turn",
           "there_are", "turned_view", "turns_with", "untie"]
