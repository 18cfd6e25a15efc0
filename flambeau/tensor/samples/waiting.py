"""Operators on samples that wait until a batch is made of them.

Note: joint computing. Most of what is done to a sample is done to all samples of a batch, each of which is
small: a call of NumPy costs as much as all of its elements. So while samples are made (Note: computing at
once) an operator that treats elements alike, such as a pointwise one, waits. Where samples are stacked and
the same operator waits for all of them, or for many, it is computed once, on the stacks of its operands; of
them the same is true.

What waits is no node and is recorded nowhere: the storage of its result has it in place of a node. Whoever
asks that storage for its node has the value computed alone, then and there. What nobody asks for, and nobody
stacks, is never computed. A loader that turns out to be of that kind (it looks at its samples, or makes no
batches) waits no more. Where samples are not compared natively, or not yet, none waits: in Python that takes
as long as what it saves.
"""

from __future__ import annotations

from typing import Any

from ...executors import interpreter
from ...executors.interpreter.arrays import reinterpret
from ...graph import pending
from ...graph.geometry import Geometry
from ...graph.node import Node, constant
from ...graph.storage import Storage
from ..tape import state

# An operator that waits: its signature, and for each operand what it reads (a node with a value, another one
# that waits, a Python number or None) and the geometry by which it reads that. Once there is a value: None,
# the node that has it, and its geometry.
Application = list[Any]


class Later(Storage):
    """A storage that has no node until somebody asks for it: what its value is made of, its ``owner`` says.

    It is an ordinary one from then on.
    """

    __slots__ = ()
    shares = False      # whether others see the memory that it will have, which stays its ``owner``

    def settled(self) -> tuple[Node, Geometry]:
        """The value, and its geometry."""
        raise NotImplementedError

    def ordinary(self) -> Storage:
        """The same, with its value, which is computed now."""
        with pending.lock:
            if self.__class__ is not Storage:
                (node, geometry), shares = self.settled(), self.shares
                for name, x in (("node", node), ("exposed", shares), ("geometry", geometry)):
                    _fields[name].__set__(self, x)
                self.__class__ = Storage    # type: ignore[assignment]
                if not shares:
                    self.owner = None
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.ordinary().__reduce_ex__(protocol)


_fields: Any = vars(Storage)


def _when_ordinary(name: str) -> property:
    """A field that only an ordinary storage has."""
    def get(self: Later) -> Any:
        return getattr(self.ordinary(), name)

    def put(self: Later, x: Any) -> None:
        setattr(self.ordinary(), name, x)
    return property(get, put)


for _name in ("node", "exposed"):
    setattr(Later, _name, _when_ordinary(_name))


class Waits(Later):
    """The storage of a result that waits, as its ``owner`` says."""

    __slots__ = ()

    def __init__(self, application: Application) -> None:
        self.version = 0
        self.owner = application

    def settled(self) -> tuple[Node, Geometry]:
        """The value, computed alone."""
        _, node, geometry = settle(self.owner)
        return node, geometry


Waits.geometry = _when_ordinary("geometry")     # type: ignore[assignment,misc]


class Shared(Later):
    """The storage of a dense array that somebody else has, too: its ``owner``."""

    __slots__ = ()
    shares = True

    def settled(self) -> tuple[Node, Geometry]:
        """The array's memory as it is."""
        return constant(self.owner.reshape(-1)), self.geometry


class Habit:
    """What is known of a loader's samples: whether it is worth while to wait for their batch."""

    __slots__ = ("waits",)

    def __init__(self) -> None:
        self.waits = True


def settle(application: Application) -> Application:
    """Compute what waits alone, and before it what it reads."""
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
    return application


def _compute(one: Application) -> None:
    operands = [x if g is None else known(x, g) for x, g in zip(one[1::2], one[2::2])]
    node = Node(one[0], tuple(operands), None)
    interpreter.run([node])
    one[:] = None, node, one[0].outputs[0]
    if state.at_once is not None:
        state.at_once.alone += 1


def known(source: Node | Application, g: Geometry) -> Node:
    """The value of an operand from where it is read: it is read there as by its family's first geometry."""
    node: Node = source if source.__class__ is Node else settle(source)[1]  # type: ignore[arg-type]
    return constant(cut(node.value, g)) if g.offset else node


def cut(value: Any, g: Geometry) -> Any:
    """The part of a flat value in which a geometry reads."""
    numpy_type = g.dtype.numpy
    if value.dtype is not numpy_type and value.dtype != numpy_type:
        value = reinterpret(value, numpy_type)
    return value[g.offset:g.extent]
