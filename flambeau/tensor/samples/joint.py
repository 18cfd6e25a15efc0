"""One operator on stacks in place of many on samples (Note: joint computing, in ``waiting.py``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...config import settings
from ...executors import interpreter, native
from ...executors.gather import gather_each, gather_padded
from ...graph import pending
from ...graph.geometry import Geometry, contiguous
from ...graph.node import Node, Signature, constant
from ...graph.operator import Operator
from ...graph.recent import Recent
from ..recording.signing import sign
from ..tape import state
from .chains import FLIP, Applied, Chain, Group, Leaf, View, flips, groups_of
from .waiting import cut

Array = np.ndarray[Any, Any]

_LEAST = 4      # samples: fewer are computed alone
_SMALL = 1 << 15    # bytes of a batch: NumPy has no better
_SPREAD = 4     # as many in a group, on the average: else alone

_alike: Recent[tuple[Any, ...], Signature] = Recent(1 << 12)
_stacked: Recent[tuple[Any, ...], Signature | None] = Recent(1 << 10)


class _Apart(Exception):
    """They have too little in common."""


def is_joint(signature: Signature) -> bool:
    """Whether an operator gives for stacks of operands the stack of its results."""
    operator, output = signature.operator, signature.outputs[0]
    geometries = [g for g in signature.geometries if g.__class__ is Geometry]
    if not (signature.usual and output.is_dense and output.numel and geometries):
        return False
    if operator.name == FLIP and operator not in flips:
        flips.append(operator)
    how = operator.on_stacks
    if how is not None and how.reduces:
        return signature.attributes[how.dims].__class__ is tuple and geometries[0].numel > 0
    alike = operator.kind == "pointwise" or how is not None
    promotes = operator.kind != "choice" and len({g.dtype for g in geometries}) > 1
    return alike and not promotes and max([g.ndim for g in geometries]) == output.ndim


def stands_for(signature: Signature) -> Signature:
    """The signature of all operators that are one on stacks: those lie in order, whatever the samples do."""
    operands = [(g.shape, g.dtype) if g.__class__ is Geometry else g for g in signature.geometries]
    key = signature.operator, signature.attributes, signature.outputs[0], *operands
    return _alike.get(key) or _alike.recall(key) or _alike.keep(key, signature)


def joined(tensors: Sequence[Any], allocate: Callable[[int, Any], Array]) -> Node | None:
    """A node whose value are the elements of all these tensors, of one shape; None if they are to be computed
    alone. ``allocate`` gives memory for what is only copied.
    """
    if len(tensors) < _LEAST:
        return None
    with pending.lock:      # nobody else computes them meanwhile
        groups = groups_of([*tensors])
        if groups is None or len(groups) * _SPREAD > len(tensors):
            return None
        try:
            return _together(groups, tensors[0]._geometry, len(tensors), allocate)
        except _Apart:
            return None


def _together(groups: list[Group], g: Geometry, count: int, allocate: Callable[[int, Any], Array]) -> Node:
    """The results of all groups, each of which reads such a geometry."""
    joins = [_Join(group) for group in groups]
    if len(groups) == 1 and isinstance(groups[0].chain, Applied):
        node = joins[0].computed(joins[0].column(groups[0].chain), True)
    else:
        flat = allocate(count * g.numel, g.dtype.numpy)
        for join in joins:
            join.place(flat.reshape(count, g.numel), join.group.chain)
        node = constant(flat)
    state.at_once.joined += sum([join.joined for join in joins])
    return node


class _Join:
    """A graph in the making that computes what the chains of a group would.

    A column is one operand of all samples: their elements, one after the other.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        self.graph: list[Node] = []     # what is to be computed, in order
        self.known: dict[Chain, Node] = {}      # columns
        self.joined = group.count   # about how many operators it stands for

    def column(self, chain: Chain) -> Node:
        """The column of values that are made in this way."""
        found = self.known.get(chain)
        if found is None:
            if chain.__class__ is Applied:
                found = self.operation(chain)
            elif chain.__class__ is View and self._is_whole(chain):
                found = self.column(chain.below)
            else:
                family = chain.family   # type: ignore[union-attr]
                rows = np.empty((self.group.count, family.numel), family.dtype.numpy)
                self.place(rows, chain, False)
                found = constant(rows.reshape(-1))
            self.known[chain] = found
        return found

    def _is_whole(self, view: View) -> bool:
        """Whether it reads all of a contiguous result in order."""
        family, result = view.family, view.result
        return family.is_contiguous and family.numel == result.numel and family.dtype is result.dtype \
            and result.is_contiguous and not self.group.table[:, view.slot, 3].any()

    def place(self, rows: Array, chain: Chain, whole: bool = True) -> None:
        """Make values the rows of the group's samples: ``whole``, of the batch's; else of the group's."""
        positions = self.group.positions if whole else None
        if isinstance(chain, Applied) or (isinstance(chain, View) and self._is_whole(chain)):
            values = self.computed(self.column(chain)).value
            goal: Any = slice(None) if positions is None else positions
            rows[goal] = values.reshape(self.group.count, -1)
            return
        table = self.group.table[:, chain.slot]
        if isinstance(chain, Leaf):
            if chain.numpy_type != rows.dtype:
                raise _Apart
            gather_each(rows, positions, lambda: self.group.values(chain.slot), table, chain.family.shape,
                        chain.family.strides)
        else:
            self._place_parts(rows, positions, chain, table)

    def _place_parts(self, rows: Array, positions: Array | None, view: View, table: Array) -> None:
        """``place`` for parts of results, of which a column is made, unless it is but a border."""
        if self._place_padded(rows, positions, view, table):
            return
        family, result = view.family, view.result
        if not result.is_contiguous:    # the column lies in another order
            if family is not result.family:
                raise _Apart
            family = contiguous(result.shape, result.dtype).family
        if result.dtype is not family.dtype:
            raise _Apart
        flat = self.computed(self.column(view.below)).value
        own = table.copy()
        own[:, 0], own[:, 1] = flat.__array_interface__["data"][0], flat.size
        own[:, 2] += np.arange(0, result.numel * len(table), result.numel)
        gather_each(rows, positions, lambda: [flat] * len(table), own, family.shape, family.strides)

    def _place_padded(self, rows: Array, positions: Array | None, view: View, table: Array) -> bool:
        """``place`` for parts of values with a border around them; False where they are something else."""
        applied, family, result = view.below, view.family, view.result
        how = applied.signature.operator.on_stacks if isinstance(applied, Applied) else None
        if how is None or how.border is None or family.strides != result.strides \
                or family.dtype is not result.dtype or not result.is_contiguous:
            return False
        inside, number = applied.operands   # type: ignore[union-attr]
        if not isinstance(inside, Leaf) or inside.numpy_type != rows.dtype \
                or inside.family.dtype is not result.dtype or not isinstance(number, int):
            return False
        value = self.group.first(number)
        if not self.group.is_one(number) and any(x != value for x in self.group.values(number)):
            return False
        before = how.border(applied.signature.attributes, result.ndim)  # type: ignore[union-attr]
        return gather_padded(rows, positions, table, self.group.table[:, inside.slot], family.shape,
                             result.shape, inside.family, before, value)

    def operation(self, applied: Applied) -> Node:
        """The column of the results of an operator."""
        signature, group = applied.signature, self.group
        operands: list[Any] = []
        shared = []
        for x in applied.operands:
            if x.__class__ is int:
                operands.append(group.first(x) if group.is_one(x) else _number(group.values(x), signature))
                shared.append(operands[-1].__class__ is not Node)
                continue
            one = x.__class__ is Leaf and group.is_one(x.slot) and not group.table[0, x.slot, 3]
            shared.append(one)
            operands.append(_shared(group, x) if one else self.column(x))    # type: ignore[arg-type]
        key = signature, group.count, *shared
        node = Node(_stacked.get(key) or _stack(key), tuple(operands), None)
        self.graph.append(node)
        self.joined += group.count
        return node

    def computed(self, node: Node, is_whole: bool = False) -> Node:
        """The node, whose value is there now; ``is_whole``: it is of the whole batch, which comes back."""
        if node.value is None:
            self.known.clear()
            graph = self.graph[::-1]
            self.graph.clear()
            last = graph[0].signature
            is_large = is_whole and last is not None and last.nbytes > _SMALL
            run = native.auto if is_large and settings.executor == "auto" else interpreter.run
            if run(graph):
                raise _Apart    # computed alone, it fails where it is looked at
        return node


def _shared(group: Group, leaf: Leaf) -> Node:
    """A value that all samples read alike."""
    return constant(cut(group.first(leaf.slot), leaf.family[int(group.table[0, leaf.slot, 2])]))


def _number(column: Sequence[Any], signature: Signature) -> Any:
    """The numbers of samples: the one that all have, or a column of them in the type of the results."""
    first = column[0]
    if first is None or all(x.__class__ is first.__class__ and x == first for x in column):
        return first
    dtype = signature.outputs[0].dtype.numpy
    how = signature.operator.on_stacks
    if how is None or not how.numbers or dtype not in (np.float32, np.float64) \
            or any(g.dtype.numpy != dtype for g in signature.geometries if g.__class__ is Geometry) \
            or not {*map(type, column)} <= {int, float}:
        raise _Apart
    return constant(np.array(column, dtype))


def _stack(key: tuple[Any, ...]) -> Signature:
    """The signature of an operator on stacks; ``key``: that of a sample, how many, which operands are one."""
    if key in _stacked:
        raise _Apart
    found = _stacked.recall(key)
    if found is None:
        found = _stacked.keep(key, _made(*key))
    if found is None:
        raise _Apart
    return found


def _made(signature: Signature, count: int, *shared: bool) -> Signature | None:
    operator, output = signature.operator, signature.outputs[0]
    geometries: list[Any] = []
    for g, is_shared in zip(signature.geometries, shared, strict=True):
        if is_shared:
            geometries.append(g)
        elif g.__class__ is Geometry:
            aligned = [1] * (output.ndim - g.ndim)
            geometries.append(contiguous((count, *aligned, *g.shape), g.dtype))
        else:
            geometries.append(contiguous((count, *[1] * output.ndim), output.dtype))
    attributes = _shifted(operator, signature.attributes)
    try:
        found = sign(operator, (operator, attributes, *geometries), attributes)
    except Exception:   # it is none that knows of stacks
        return None
    made = found.outputs[0]
    fits = made.shape == (count, *output.shape) and made.dtype is output.dtype and made.is_contiguous
    return found if fits else None


def _shifted(operator: Operator, attributes: tuple[Any, ...]) -> tuple[Any, ...]:
    how = operator.on_stacks
    if how is None or how.dims < 0:
        return attributes
    at = how.dims
    return (*attributes[:at], tuple([d + 1 for d in attributes[at]]), *attributes[at + 1:])
