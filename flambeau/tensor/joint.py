"""One operator on stacks in place of many on samples (Note: joint computing, in ``waiting.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..config import settings
from ..executors import interpreter, native
from ..executors.gather import gather
from ..graph import pending
from ..graph.geometry import Family, Geometry, contiguous
from ..graph.node import Node, Signature, constant
from ..graph.operator import Operator
from ..graph.recent import Recent
from .known import rows_of
from .record import sign
from .tape import state
from .tensor import Tensor
from .waiting import Application, Waits, known

Array = np.ndarray[Any, Any]

_PLAIN = {Tensor}
_NODES, _WAITING = {Node}, {list}
_LEAST = 4      # samples: fewer are computed alone
_SMALL = 1 << 15    # bytes of a batch: NumPy has no better
_SPREAD = 4     # as many in a group, on the average: else alone

# Operators that do the same to stacks: pointwise ones, and these. Their attributes count dimensions from the
# last one, if any, or (``_SHIFTED``, ``_REDUCES``) name at this position dimensions from the first one on.
_FROM_LAST = frozenset(("constant_pad_nd", "border_pad", "to_copy", "clone"))
_REDUCES = dict.fromkeys(("mean", "sum", "std", "var", "max", "min"), 0)
_SHIFTED = {"roll": 1, **_REDUCES}
_FLIP = "flip"      # is another way of reading
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
    if not (signature.usual and output.is_dense and output.numel and geometries):
        return False
    if operator.name in _REDUCES:
        return signature.attributes[_REDUCES[operator.name]].__class__ is tuple and geometries[0].numel > 0
    if operator.name in _FROM_LAST:
        return True
    alike = operator.kind == "pointwise" or operator.name in ("where", _FLIP) or operator.name in _SHIFTED
    promotes = operator.name != "where" and len({g.dtype for g in geometries}) > 1
    return alike and not promotes and max([g.ndim for g in geometries]) == output.ndim


def joined(tensors: Sequence[Any]) -> Node | None:
    """A node whose value are the elements of all these tensors, of one shape; None if they are to be computed
    alone."""
    if len(tensors) < _LEAST:
        return None
    if {*map(type, tensors)} != _PLAIN:
        return None
    bases = {x._base for x in tensors}
    if True in [x._requires_grad for x in tensors] or any(b is not None and b._requires_grad for b in bases):
        return None
    geometries = [x._geometry for x in tensors]
    first = geometries[0]
    for g in {*geometries}:
        if g.shape != first.shape or g.dtype is not first.dtype:
            return None
    join = _Join(len(tensors))
    with pending.lock:      # nobody else computes them meanwhile
        try:
            storages = [x._storage for x in tensors]
            sources = [x.owner if x.__class__ is Waits else x.node for x in storages]
            result = join.computed(join.column(sources, geometries), True)
            state.at_once.joined += join.joined
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

    def column(self, sources: Sequence[Any], geometries: Sequence[Geometry]) -> Node:
        """The column of values read in these ways, which have one shape and dtype."""
        g = geometries[0]
        kinds = {*map(type, sources)}
        if kinds == _NODES and _are_one(sources) and len({x.family for x in geometries}) == 1:
            key = id(sources[0]), *map(id, geometries)
            return self.known.get(key) or self.known.setdefault(key, constant(
                _rows(sources[0].value, g, [x.offset for x in geometries])))
        signatures: set[Any] = {x[0] for x in sources} if kinds == _WAITING else {None}
        if None not in signatures and _are_whole(geometries, signatures):
            key = tuple(map(id, sources))
            return self.known.get(key) or self.known.setdefault(key, self.operation(sources, signatures))
        rows = np.empty((len(sources), g.numel), g.dtype.numpy)
        self.place(rows, range(len(sources)), sources, geometries, frozenset())
        return constant(rows.reshape(-1))

    def place(self, rows: Array, positions: Sequence[int], sources: Sequence[Any],
              geometries: Sequence[Geometry], flips: frozenset[int]) -> None:
        """Make values of which some wait, or that are read in several ways, some dimensions backwards, the
        rows at these positions.
        """
        groups: dict[Any, list[Any]] = {}
        for i, x, g in zip(positions, sources, geometries):
            groups.setdefault((x[0] if x.__class__ is list else Node, g.family), []).append((i, x, g))
        if len(groups) * _SPREAD > self.count:
            raise _Apart
        for (signature, family), found in groups.items():
            positions, read, ways = zip(*found)
            if signature is Node or signature is None:
                values = [x.value if x.__class__ is Node else x[1].value for x in read]
                _gather(rows, positions, values, [x.offset for x in ways], family, flips)
                continue
            result, is_one = signature.outputs[0], _are_one(ways)
            if signature.operator.name == _FLIP and is_one and _is_whole(ways[0], result):
                self.joined += len(read)
                self.place(rows, positions, [x[1] for x in read], [x[2] for x in read],
                           flips ^ {*signature.attributes[0]})
                continue
            if not result.is_contiguous:    # the column lies in another order
                if not is_one or ways[0] is not result:
                    raise _Apart
                ways = (contiguous(result.shape, result.dtype),) * len(read)
                family = ways[0].family
            flat = self.computed(self.column(read, [result] * len(read))).value
            _gather(rows, positions, [flat] * len(read),
                    [i * result.numel + x.offset for i, x in enumerate(ways)], family, flips)

    def operation(self, waiting: Sequence[Application], signatures: set[Signature]) -> Node:
        """The column of the results of operators that all wait."""
        if len(signatures) == 1:
            return self.one_operation(waiting)
        groups: dict[Any, list[int]] = {}
        for i, one in enumerate(waiting):
            groups.setdefault(_kinds.get(one[0]) or _kind(one[0]), []).append(i)
        if len(groups) == 1:
            return self.one_operation(waiting)
        if len(groups) * _SPREAD > self.count:
            raise _Apart
        result: Array | None = None
        for positions in groups.values():
            group = self.one_operation([waiting[i] for i in positions])
            rows = self.computed(group).value.reshape(len(positions), -1)
            if result is None:
                result = np.empty((len(waiting), rows.shape[1]), rows.dtype)
            result[positions] = rows
        assert result is not None
        return constant(result.reshape(-1))

    def one_operation(self, waiting: Sequence[Application]) -> Node:
        """As ``operation``, where all are the same one."""
        (signature, *_), *columns = zip(*waiting)
        operands, shared = [], []
        for sources, geometries, g in zip(columns[::2], columns[1::2], signature.geometries):
            if g.__class__ is not Geometry:
                operands.append(_number(sources, signature))
                shared.append(operands[-1].__class__ is not Node)
                continue
            shared.append(sources[0].__class__ is Node and _are_one(sources) and _are_one(geometries))
            operands.append(known(sources[0], geometries[0]) if shared[-1] else
                            self.column(sources, geometries))
        key = signature, len(waiting), *shared
        node = Node(_stacked.get(key) or _stack(key), tuple(operands), None)
        self.graph.append(node)
        self.joined += len(waiting)
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


def _is_whole(g: Geometry, result: Geometry) -> bool:
    """Whether this reads all of such a result in order."""
    return g is result or (g.is_contiguous and not g.offset and g.numel == result.numel
                           and g.dtype is result.dtype)


def _kind(signature: Signature) -> tuple[Any, ...]:
    """What operators have in common that are one on stacks: those lie in order, whatever the samples do."""
    operands = [(g.shape, g.dtype) if g.__class__ is Geometry else g for g in signature.geometries]
    return _kinds.recall(signature) or _kinds.keep(
        signature, (signature.operator, signature.attributes, *operands))


def _are_whole(geometries: Sequence[Geometry], signatures: set[Signature]) -> bool:
    """Whether all of the results of such operators is read in order, of none of which is another way of
    reading.
    """
    result = next(iter(signatures)).outputs[0]
    return _is_whole(geometries[0], result) and _are_one(geometries) and all(
        signature.outputs[0] is result and signature.operator.name != _FLIP for signature in signatures)


def _rows(value: Array, g: Geometry, offsets: list[int]) -> Array:
    """What geometries like this read at offsets of a value, one after the other."""
    if value.dtype != g.dtype.numpy:
        raise _Apart
    return rows_of(value, g.family, offsets)


def _gather(rows: Array, positions: Sequence[int], values: list[Array], offsets: list[int], family: Family,
            flips: frozenset[int]) -> None:
    """What a family's geometries read at offsets of values, some dimensions backwards, as rows."""
    if any(x.dtype is not rows.dtype and x.dtype != rows.dtype for x in values):
        raise _Apart
    strides = family.strides
    if flips and family.numel:
        last = sum([(family.shape[d] - 1) * strides[d] for d in flips])
        offsets = [offset + last for offset in offsets]
        strides = tuple([-s if d in flips else s for d, s in enumerate(strides)])
    gather(rows, [*positions], values, offsets, family.shape, strides)


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
