"""Node: one recorded operation. Signature: all of it that stays the same from step to step.

Note: values and versions. A node stands for one value for ever. An in-place operator does not change a node:
it records a new one and lets the storage point to it. Copying a tensor is therefore a second storage on the
same node, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from operator import index
from struct import iter_unpack, pack
from types import CodeType
from typing import Any

from numpy import generic

from ..devices import META
from .geometry import Geometry
from .operator import Operator

_UNTAPED: dict[int, Any] = {}   # of most signatures: nobody asked for one


class Signature:
    """An operator applied to operands of given geometry. Interned: comparing two is comparing pointers."""

    __slots__ = ("operator", "attributes", "geometries", "outputs", "single", "compute", "nbytes", "plan",
                 "price", "on_meta", "usual", "tape_plans", "form", "rounds", "settled", "alike")

    def __init__(self, operator: Operator, attributes: tuple[Any, ...], geometries: tuple[Any, ...],
                 outputs: tuple[Geometry, ...], single: bool, compute: Any) -> None:
        self.operator = operator
        self.attributes = attributes
        self.geometries = geometries
        self.outputs = outputs
        self.single = single
        self.compute = compute
        self.rounds = None if operator.rounds is None else operator.rounds(geometries)
        if single:
            output, = outputs
            self.nbytes = output.numel * output.dtype.itemsize
            self.on_meta = output.device is META
        else:
            self.nbytes = sum([g.numel * g.dtype.itemsize for g in outputs])
            self.on_meta = bool(outputs) and outputs[0].device is META
        self.usual = single and not self.on_meta
        self.plan: Any = None  # the interpreter's preparation of this signature
        self.alike: Signature | None = None     # the one that stands for all that are the same on stacks
        self.price = 0.0    # what it costs the interpreter, once somebody asked
        self.settled: Any = None    # the same with operands of their own, once known (Note: moving operands)
        self.tape_plans = _UNTAPED  # by the operands that want gradients, a bit each
        # Views are no nodes: nobody compares their graphs.
        self.form = -1 if operator.kind == "view" else _form(operator, attributes, geometries, outputs)

    def elsewhere(self, geometries: tuple[Any, ...]) -> Signature:
        """The same with operands that differ in their offsets alone, on which no result depends."""
        made = self._again(geometries, self.outputs)
        made.single, made.usual, made.on_meta = self.single, self.usual, self.on_meta
        made.nbytes = self.nbytes
        return made

    def moved_to(self, geometries: tuple[Any, ...]) -> Signature:
        """The same, with what is known of operands that are read as tensors of their own, if they move alike.

        So native code knows a graph again where what it reads lies in places that were not met before.
        """
        made = self.elsewhere(geometries)
        if self.settled is None:
            return made
        found, words = self.settled
        moved: list[int] = []
        for g, kept, (_, kind) in zip(geometries, found.geometries, iter_unpack("qq", words)):
            if not kind and g is not kept:
                return made
            moved += (g.offset * g.dtype.itemsize, kind) if kind else (0, 0)
        made.settled = found, pack(f"{len(moved)}q", *moved)
        return made

    def of_shape(self, geometries: tuple[Any, ...], output: Geometry) -> Signature:
        """The same of operands that differ in their shapes alone, as far as it depends on types."""
        made = self._again(geometries, (output,))
        made.single = made.usual = True
        made.on_meta = False
        made.nbytes = output.numel * output.dtype.itemsize
        return made

    def _again(self, geometries: tuple[Any, ...], outputs: tuple[Geometry, ...]) -> Signature:
        made: Signature = object.__new__(Signature)
        made.operator, made.attributes = self.operator, self.attributes
        made.geometries, made.outputs = geometries, outputs
        made.compute, made.rounds, made.form = self.compute, self.rounds, self.form
        # What is found out about operands, where they begin included.
        made.plan = made.alike = made.settled = None
        made.price = 0.0
        made.tape_plans = _UNTAPED
        return made

    def keep_tape_plan(self, wanted: int, plan: Any) -> Any:
        """Remember, and return, what is to be taped for the operands wanted."""
        if self.tape_plans is _UNTAPED:
            self.tape_plans = {}
        self.tape_plans[wanted] = plan
        return plan

    def __repr__(self) -> str:
        return f"<{self.operator.name} {list(self.geometries)} -> {list(self.outputs)}>"


_PLAIN = frozenset((int, float, bool, complex, str, type(None)))


def plain(attributes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Attributes that can be compared: what stands for an integer, such as a 0-dim tensor, is made one.

    A tensor among them would record an operation each time that its signature is looked up.
    """
    for x in attributes:
        if x.__class__ is tuple:
            if not {*map(type, x)} <= _PLAIN:
                break
        elif x.__class__ not in _PLAIN and hasattr(x, "__index__"):
            break
    else:
        return attributes
    found = tuple([_plain(x) for x in attributes])
    return attributes if all(a is b for a, b in zip(attributes, found)) else found


def _plain(x: Any) -> Any:
    if isinstance(x, tuple):
        return plain(x)
    if isinstance(x, (int, type)) or not hasattr(x, "__index__"):
        return x
    try:
        return index(x)
    except TypeError:
        return x.item()


def plain_numbers(operands: Sequence[Any]) -> list[Any] | None:
    """The operands with Python's numbers in place of NumPy's, which count as those; None without such."""
    if not any(isinstance(x, generic) for x in operands):
        return None
    return [x.item() if isinstance(x, generic) else x for x in operands]


_forms: dict[tuple[Any, ...], int] = {}     # for ever: graphs that are remembered are told apart by them
_numbers = count()
operations: dict[int, int] = {}     # of each form, the number of what it shares with those of any shapes


def _form(operator: Operator, attributes: tuple[Any, ...], geometries: tuple[Any, ...],
          outputs: tuple[Any, ...]) -> int:
    """A number for what signatures have in common that differ in larger extents, and attributes, alone."""
    part = attributes if operator.kind == "project" else None   # which of several results it takes
    kinds = tuple([g.family.kind if g.__class__ is Geometry else g for g in geometries])
    key = operator, part, kinds, tuple([g.family.kind for g in outputs])
    found = _forms.get(key)
    if found is None:
        found = next(_numbers)
        dtypes = tuple([g.dtype if g.__class__ is Geometry else g for g in (*geometries, *outputs)])
        operations[found] = _forms.setdefault((operator, part, dtypes), next(_numbers))
        found = _forms.setdefault(key, found)
    return found


class Node:
    """A pending or computed value.

    ``operands``: nodes, Python numbers, or None, in the operator's order; emptied once the value is there.
    ``value``: a flat array (a tuple of them for several outputs), None while pending, or a ``Failure``.
    ``site``: the code object and instruction offset of the line that recorded it.
    """

    __slots__ = ("signature", "operands", "value", "site")

    def __init__(self, signature: Signature | None, operands: tuple[Any, ...],
                 site: tuple[CodeType, int] | None) -> None:
        self.signature = signature
        self.operands = operands
        self.value: Any = None
        self.site = site

    def __repr__(self) -> str:
        state = "pending" if self.value is None else "computed"
        return f"<Node {self.signature!r} {state}>"


class Failure:
    """The value of a node whose kernel failed: who looks at it, or at what depends on it, gets the error.

    ``made``: whether there was one in this process at all.
    """

    __slots__ = ("error",)
    made = False

    def __init__(self, error: BaseException) -> None:
        self.error = error
        Failure.made = True


def constant(value: Any) -> Node:
    """A node that is computed from the start: a leaf of the graph."""
    node = Node(None, (), None)
    node.value = value
    return node
