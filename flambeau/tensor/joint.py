"""One operator on stacks in place of many on samples (Note: joint computing, in ``waiting.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..config import settings
from ..executors import interpreter, native
from ..executors.interpreter.arrays import read
from ..graph import pending
from ..graph.geometry import Geometry, contiguous
from ..graph.node import Node, Signature, constant
from ..graph.operator import Operator
from ..graph.recent import Recent
from .known import everywhere
from .record import sign
from .tape import state
from .tensor import Tensor

Array = np.ndarray[Any, Any]

_PLAIN = {Tensor}
_LEAST = 4      # samples: fewer are computed alone
_SMALL = 1 << 15    # bytes of a batch: NumPy has no better
_SPREAD = 4     # as many in a group, on the average: else alone

# Operators that do the same to stacks: pointwise ones, and these. Their attributes count dimensions from the
# last one, if any, or (``_SHIFTED``) name at this position dimensions from the first one on.
_FROM_LAST = frozenset(("constant_pad_nd", "border_pad", "to_copy", "clone"))
_SHIFTED = {"flip": 0, "roll": 1}
# Those to which a number is an operand like any other.
_OF_NUMBERS = frozenset(("add", "sub", "rsub", "mul", "div"))

_kinds: Recent[Signature, tuple[Any, ...]] = Recent(1 << 12)
_stacked: Recent[tuple[Any, ...], Signature | None] = Recent(1 << 10)


class _Apart(Exception):
    """They have too little in common."""


def is_joint(signature: Signature) -> bool:
    """Whether an operator gives for stacks of operands the stack of its results."""
    operator, output = signature.operator, signature.outputs[0]
    geometries = [g for g in signature.geometries if g.__class__ is Geometry]
    if not (signature.usual and output.is_contiguous and output.numel and geometries):
        return False
    if operator.name in _FROM_LAST:
        return True
    alike = operator.kind == "pointwise" or operator.name == "where" or operator.name in _SHIFTED
    promotes = operator.name != "where" and len({g.dtype for g in geometries}) > 1
    return alike and not promotes and max([g.ndim for g in geometries]) == output.ndim


def joined(tensors: Sequence[Any]) -> Node | None:
    """A node whose value are the elements of all these tensors, of one shape; None if they are to be computed
    alone."""
    if len(tensors) < _LEAST:
        return None
    if {*map(type, tensors)} != _PLAIN:
        return None
    for x in tensors:
        base = x._base
        if x._requires_grad or (base is not None and base._requires_grad):
            return None
    nodes, geometries = [x._storage.node for x in tensors], [x._geometry for x in tensors]
    first = geometries[0]
    for g in {*geometries}:
        if g.shape != first.shape or g.dtype is not first.dtype:
            return None
    join = _Join(len(tensors))
    with pending.lock:      # nobody else computes them meanwhile
        try:
            result = join.computed(join.column(nodes, geometries), True)
            state.waiting.joined += join.joined
            return result
        except _Apart:
            return None


class _Join:
    """A graph in the making that computes what many small ones would.

    A column is one operand of all samples: their elements, one after the other.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.graph: list[Node] = []     # what is to be computed, in order
        self.known: dict[tuple[int, ...], Node] = {}
        self.joined = 0     # how many operators it stands for

    def column(self, nodes: Sequence[Node], geometries: Sequence[Geometry]) -> Node:
        """The column of values read in these ways, which have one shape and dtype."""
        g = geometries[0]
        values = [node.value for node in nodes]
        missing = sum([value is None for value in values])
        if missing == len(nodes) and _is_whole(g, nodes[0]) and _are_one(geometries):
            key = tuple(map(id, nodes))
            found = self.known.get(key)
            if found is None:
                found = self.known[key] = self.operation(nodes)
            return found
        if missing:
            waiting = [node for node in nodes if node.value is None]
            flat = self.computed(self.operation(waiting)).value
            if missing == len(nodes) and g.numel and flat.dtype == g.dtype.numpy and all(
                    x.family is g.family for x in geometries):
                size = len(flat) // missing
                offsets = [i * size + x.offset for i, x in enumerate(geometries)]
                return constant(everywhere(flat, g.family)[offsets].reshape(-1))
            rows = iter(flat.reshape(missing, -1))
            values = [next(rows) if value is None else value for value in values]
        return constant(_in_a_row(nodes, values, geometries))

    def operation(self, nodes: Sequence[Node]) -> Node:
        """The column of the results of nodes, which are all pending."""
        signatures = [node.signature for node in nodes]
        if _are_one(signatures):
            return self.one_operation(nodes, signatures)
        groups: dict[Any, list[int]] = {}
        for i, signature in enumerate(signatures):
            groups.setdefault(_kind(signature), []).append(i)
        if len(groups) == 1:
            return self.one_operation(nodes, signatures)
        if len(groups) * _SPREAD > self.count:
            raise _Apart
        result: Array | None = None
        for positions in groups.values():
            group = self.one_operation([nodes[i] for i in positions], [signatures[i] for i in positions])
            rows = self.computed(group).value.reshape(len(positions), -1)
            if result is None:
                result = np.empty((len(nodes), rows.shape[1]), rows.dtype)
            result[positions] = rows
        assert result is not None
        return constant(result.reshape(-1))

    def one_operation(self, nodes: Sequence[Node], signatures: Sequence[Any]) -> Node:
        """As ``operation``, of nodes whose operands differ in their places alone."""
        first: Signature = signatures[0]
        operands, shared = [], []
        for j, column in enumerate(zip(*[node.operands for node in nodes])):
            if first.geometries[j].__class__ is not Geometry:
                operands.append(_number(column, first))
                shared.append(operands[-1].__class__ is not Node)
                continue
            geometries = [signature.geometries[j] for signature in signatures]
            shared.append(column[0].value is not None and _are_one(column) and _are_one(geometries))
            operands.append(column[0] if shared[-1] else self.column(column, geometries))
        key = first, len(nodes), *shared
        signature = _stacked.get(key) or _stack(key)
        node = Node(signature, tuple(operands), None)
        self.graph.append(node)
        self.joined += len(nodes)
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


def _are_one(things: Sequence[Any]) -> bool:
    return things.count(things[0]) == len(things)


def _is_whole(g: Geometry, node: Node) -> bool:
    """Whether this reads all of a node's value in order."""
    assert node.signature is not None
    return g.is_contiguous and not g.offset and g.numel == node.signature.outputs[0].numel


def _in_a_row(nodes: Sequence[Node], values: Sequence[Any], geometries: Sequence[Geometry]) -> Array:
    """The elements of values read in these ways, one after the other.

    ``values``: those of the nodes, or others.
    """
    g = geometries[0]
    numpy_type = g.dtype.numpy
    for value in values:
        if value.dtype is not numpy_type and value.dtype != numpy_type:
            raise _Apart
    if g.is_contiguous and _are_one(geometries):
        whole = not g.offset and sum(map(len, values)) == len(values) * g.numel
        return np.concatenate(values if whole else [value[g.offset:g.extent] for value in values])
    if g.is_contiguous and all(x.is_contiguous for x in geometries):
        return np.concatenate([value[x.offset:x.extent] for value, x in zip(values, geometries)])
    rows = np.empty((len(values), *g.shape), numpy_type)
    places: dict[tuple[int, int], list[tuple[int, Array, int]]] = {}
    for i, (node, value, x) in enumerate(zip(nodes, values, geometries)):
        offset = x.offset
        if value is node.value and node.operands:   # a part of another's value
            whole, start = node.operands
            value, offset = whole.value, offset + start
        places.setdefault((id(value), id(x.family)), []).append((i, value, offset))
    for found in places.values():
        positions, (value, *_), offsets = zip(*found)
        family = geometries[positions[0]].family
        if len(found) < _LEAST or not g.numel:
            for i, offset in zip(positions, offsets):
                rows[i] = read(value, family[offset])
        else:
            rows[[*positions]] = everywhere(value, family)[[*offsets]]
    return rows.reshape(-1)


def _kind(signature: Any) -> tuple[Any, ...]:
    """What operators have in common whose operands differ in their offsets alone."""
    found = _kinds.get(signature)
    if found is None:
        operands = [id(g.family) if g.__class__ is Geometry else g for g in signature.geometries]
        found = _kinds.keep(signature, (signature.operator, signature.attributes, *operands))
    return found


def _number(column: Sequence[Any], signature: Signature) -> Any:
    """The numbers of samples: the one that all have, or a column of them in the type of the results."""
    first = column[0]
    if first is None or all(x.__class__ is first.__class__ and x == first for x in column):
        return first
    dtype = signature.outputs[0].dtype.numpy
    if signature.operator.name not in _OF_NUMBERS or dtype not in (np.float32, np.float64) \
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
            aligned = [1] * (0 if operator.name in _FROM_LAST else output.ndim - g.ndim)
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
    at = _SHIFTED.get(operator.name)
    if at is None:
        return attributes
    return (*attributes[:at], tuple([d + 1 for d in attributes[at]]), *attributes[at + 1:])
