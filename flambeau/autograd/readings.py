"""Gradients on their way: a node and how it is read, in place of a tensor (Note: backward templates)."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

from .. import dtypes
from ..graph.geometry import Geometry
from ..graph.node import Node, Signature
from ..graph.recent import Recent
from ..graph.storage import Storage
from ..tensor import Tensor
from ..tensor.recording.record import META_NODE

_new = object.__new__


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
sums: Recent[tuple[Reading, Reading], tuple[Signature, Reading]] = Recent(1 << 12)  # of two gradients
copies: Recent[Reading, tuple[Signature, Reading]] = Recent(1 << 10)    # of parts of larger gradients


def _forget() -> None:
    """Make all templates unreachable: they are found by readings, which will be new ones."""
    _interned.clear()
    _readings.clear()
    sums.clear()
    copies.clear()


dtypes.on_default_change.append(_forget)


def turns() -> int:
    """How often readings that nobody used were forgotten."""
    return _readings.turns


def reading(geometry: Geometry, stored: Geometry) -> Reading:
    """How a gradient of this geometry reads a value."""
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


def travelling(x: Tensor) -> Gradient | None:
    """A tensor as a gradient on its way, None if it is more than its value."""
    if x._sparse:
        return None
    storage = x._storage
    if storage.exposed or x._overrides or storage.node is META_NODE:
        return None
    return storage.node, reading(x._geometry, storage.geometry)


def travelling_all(grads: list[Any]) -> list[Any] | None:
    """Gradients as gradients on their way, absent ones as None; None if one cannot be."""
    for grad in grads:
        if grad.__class__ is not tuple and grad is not None:
            break
    else:
        return grads
    found = [travelling(x) if isinstance(x, Tensor) else x for x in grads]
    return None if any(new is None and old is not None for new, old in zip(found, grads)) else found


def tensor(grad: Any) -> Any:
    """A gradient on its way as a tensor."""
    if grad.__class__ is not tuple:
        return grad
    x = _new(Tensor)
    x._storage = Storage(grad[0], grad[1].stored)
    x._geometry = grad[1].geometry
    x._requires_grad = False
    x._grad_fn = x._counter = x._base = None
    return x
