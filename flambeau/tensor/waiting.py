"""Operators on samples that wait until a batch is made of them.

Note: joint computing. Most of what is done to a sample is done to all samples of a batch, each of which is
small: a call of NumPy costs as much as all of its elements. So while samples are made (Note: computing at
once) an operator that treats elements alike, such as a pointwise one, waits. Where samples are stacked and
the same operator waits for all of them, or for many, it is computed once, on the stacks of its operands; of
them the same is true.

What waits is no node and is recorded nowhere: the storage of its result has it in place of a node. Whoever
asks that storage for its node has the value computed alone, then and there. What nobody asks for, and nobody
stacks, is never computed. A loader that turns out to be of that kind (it looks at its samples, or makes no
batches) waits no more.
"""

from __future__ import annotations

from typing import Any

from ..executors import interpreter
from ..executors.interpreter.arrays import reinterpret
from ..graph import pending
from ..graph.geometry import Geometry
from ..graph.node import Node, constant
from ..graph.storage import Storage
from .tape import state

# An operator that waits: its signature, and for each operand what it reads (a node with a value, another one
# that waits, a Python number or None) and the geometry by which it reads that. Once there is a value: None,
# and the node that has it.
Application = list[Any]


class Waits(Storage):
    """The storage of a result that waits, as its ``owner`` says; an ordinary one as soon as it is asked."""

    __slots__ = ()

    def __init__(self, geometry: Geometry, application: Application) -> None:
        self.version = 0
        self.exposed = False
        self.geometry = geometry
        self.owner = application

    @property   # type: ignore[override]
    def node(self) -> Node:
        """A node with the value, which is computed now."""
        with pending.lock:
            if self.__class__ is Waits:
                self.node = settle(self.owner)
        return self.node

    @node.setter
    def node(self, node: Node) -> None:
        self.__class__ = Storage    # type: ignore[assignment]
        self.owner = None
        self.node = node


class Habit:
    """What is known of a loader's samples: whether it is worth while to wait for their batch."""

    __slots__ = ("waits",)

    def __init__(self) -> None:
        self.waits = True


def settle(application: Application) -> Node:
    """The value of what waits: it is computed alone, and before it what it reads."""
    todo = [application]
    with pending.lock:
        while todo:
            one = todo[-1]
            missing = [x for x in one[1::2] if x.__class__ is list and x[0] is not None]
            if one[0] is None or not missing:
                if one[0] is not None:
                    _compute(one)
                todo.pop()
            todo += missing
    node: Node = application[1]
    return node


def _compute(one: Application) -> None:
    operands = [x if g is None else part(x[1] if x.__class__ is list else x, g)
                for x, g in zip(one[1::2], one[2::2])]
    node = Node(one[0], tuple(operands), None)
    interpreter.run([node])
    one[:] = None, node
    if state.at_once is not None:
        state.at_once.alone += 1


def part(node: Node, g: Geometry) -> Node:
    """A known value from where it is read by a geometry: it is read there as by the family's first one."""
    if not g.offset:
        return node
    value, numpy_type = node.value, g.dtype.numpy
    if value.dtype is not numpy_type and value.dtype != numpy_type:
        value = reinterpret(value, numpy_type)
    return constant(value[g.offset:g.extent])
