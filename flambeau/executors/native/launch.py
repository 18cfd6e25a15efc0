"""Running a kernel: its loop nest for given shapes, its block of arguments, its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph.geometry import Geometry
from ...graph.node import Failure, Node, Signature
from ..interpreter.run import _number
from .compile import Kernel, kernel_of
from .lowering import ADJACENT, FLAT, ONE, REPEATED, STRIDED, Input, Structure, sum_type
from .pool import run_rows
from .schedule import Unit, member_of

_ROW = 1 << 14          # elements of a row where the shape does not say
_SHARED_WORK = 1 << 19  # elements times operators from which a second thread pays
_LIMIT = 1 << 14

Reference = tuple[str, int] | None


class Loop:
    """The loop nest: rows of ``inner`` elements, extents of the outer loops, how each input is read."""

    __slots__ = ("total", "inner", "extents", "inputs", "strides")

    def __init__(self, total: int, inner: int, extents: list[int], inputs: tuple[Input, ...],
                 strides: list[list[int]]) -> None:
        self.total = total
        self.inner = inner
        self.extents = extents
        self.inputs = inputs
        self.strides = strides

    @property
    def rows(self) -> int:
        return -(-self.total // self.inner)


def loop_of(space: Geometry, inputs: Sequence[Geometry], row: int) -> Loop | None:
    """The loop nest over ``space``; None where rows of ``row`` elements cannot be walked in one loop."""
    order = [d for d in space.order if space.shape[d] > 1]
    extents = [space.shape[d] for d in order]
    own = [space.strides[d] for d in order]
    read = [_aligned(g, space, order) for g in inputs]
    strided = [s for s in read if s != own and any(s)]
    if not strided:
        kinds = tuple([Input(g.dtype.numpy, FLAT if s == own else ONE) for g, s in zip(inputs, read)])
        return Loop(space.numel, row if row > 0 else min(_ROW, space.numel), [], kinds, [])
    merged, strided = _merge(extents, strided, row)
    inner = merged[-1]
    if row > 0 and inner != row:
        return None
    kinds_list, remaining = [], iter(strided)
    for g, s in zip(inputs, read):
        if s == own or not any(s):
            kinds_list.append(Input(g.dtype.numpy, FLAT if s == own else ONE))
            continue
        step = next(remaining)[-1]
        kinds_list.append(Input(g.dtype.numpy, REPEATED if step == 0 else ADJACENT if step == 1 else STRIDED))
    return Loop(space.numel, inner, merged[:-1], tuple(kinds_list), strided)


def _aligned(g: Geometry, space: Geometry, order: list[int]) -> list[int]:
    """The strides with which g is read, in the loop's order; 0 where it is broadcast."""
    lead = space.ndim - g.ndim
    return [0 if d < lead or g.shape[d - lead] == 1 else g.strides[d - lead] for d in order]


def _merge(extents: list[int], strided: list[list[int]], row: int) -> tuple[list[int], list[list[int]]]:
    """Neighbouring loops as one wherever every operand allows it, but not across the rows of a sum."""
    merged = [extents[-1]]
    kept = [[s[-1]] for s in strided]
    length = extents[-1]
    for d in range(len(extents) - 2, -1, -1):
        if length != row and all(s[d] == merged[0] * k[0] for s, k in zip(strided, kept)):
            merged[0] *= extents[d]
        else:
            merged.insert(0, extents[d])
            for s, k in zip(strided, kept):
                k.insert(0, s[d])
        length *= extents[d]
    return merged, kept


class Launch:
    """A kernel prepared for operands of given geometry."""

    __slots__ = ("kernel", "words", "rows", "threads", "inputs", "outputs", "sums", "numbers")

    def __init__(self, kernel: Kernel, loop: Loop, inputs: Sequence[Geometry],
                 outputs: list[tuple[int, Any, int]], sums: list[tuple[int, Signature, Any]],
                 numbers: list[Any]) -> None:
        layout = kernel.layout
        self.kernel = kernel
        self.words = np.zeros(layout.size, np.int64)
        self.words[:2] = loop.total, loop.inner
        if loop.extents:
            self.words[layout.extents:layout.extents + len(loop.extents)] = loop.extents
        flat = [step for strides in loop.strides for step in strides]
        if flat:
            self.words[layout.strides:layout.strides + len(flat)] = flat
        self.rows = loop.rows
        self.threads = 2 if loop.total * kernel.work >= _SHARED_WORK else 1
        self.inputs = [(layout.inputs + k, g.offset * g.dtype.itemsize) for k, g in enumerate(inputs)]
        self.outputs = outputs
        self.sums = sums
        self.numbers = [(dtype, (layout.numbers + k) * 8 // dtype.itemsize)
                        for k, dtype in enumerate(numbers)]

    def run(self, members: list[Node], inputs: list[Node], numbers: list[Any]) -> None:
        """Compute the members' values."""
        words = self.words.copy()
        layout = self.kernel.layout
        for (at, shift), node in zip(self.inputs, inputs):
            words[at] = node.value.__array_interface__["data"][0] + shift
        results: list[tuple[int, Any]] = []
        for k, (i, dtype, size) in enumerate(self.outputs):
            array = np.empty(size, dtype)
            words[layout.outputs + k] = array.__array_interface__["data"][0]
            results.append((i, array))
        partial: list[Any] = []
        for k, (_, _, dtype) in enumerate(self.sums):
            array = np.empty(self.rows, dtype)
            words[layout.sums + k] = array.__array_interface__["data"][0]
            partial.append(array)
        for (dtype, at), number in zip(self.numbers, numbers):
            words.view(dtype)[at] = _number(number, dtype)
        run_rows(self.kernel.function, self.rows, words.__array_interface__["data"][0], self.threads)
        for i, array in results:
            members[i].value = array
        for (i, signature, _), array in zip(self.sums, partial):
            members[i].value = _finished(signature, array)


def _finished(signature: Signature, rows: Any) -> Any:
    """A sum or mean from the sums of rows."""
    output = signature.outputs[0]
    if rows.size != output.numel or len(signature.attributes[0]) == signature.geometries[0].ndim:
        rows = rows.sum(keepdims=True)
    if signature.operator.name == "mean":
        rows = rows / (signature.geometries[0].numel // output.numel)
    return rows.astype(output.dtype.numpy)


_launches: dict[Any, Launch | None] = {}


def run_unit(unit: Unit, nodes: list[Node]) -> bool:
    """Run a fused kernel (last member first); false if the interpreter has to compute its members."""
    members = nodes[::-1]
    position = {id(node): i for i, node in enumerate(members)}
    inputs: list[Node] = []
    geometries: list[Geometry] = []
    numbers: list[Any] = []
    known: dict[tuple[int, Any], int] = {}
    references: list[tuple[Reference, ...]] = []
    for node in members:
        signature = node.signature
        assert signature is not None
        own: list[Reference] = []
        for operand, g in zip(node.operands, signature.geometries):
            if operand.__class__ is Node:
                i = position.get(id(operand))
                if i is not None:
                    own.append(("member", i))
                    continue
                key = (id(operand), g)
                if key not in known:
                    if operand.value.__class__ is Failure:
                        return False
                    known[key] = len(inputs)
                    inputs.append(operand)
                    geometries.append(g)
                own.append(("input", known[key]))
            elif operand is None:
                own.append(None)
            else:
                own.append(("number", len(numbers)))
                numbers.append(operand)
        references.append(tuple(own))
    found = (tuple([node.signature for node in members]), tuple(references), tuple(unit.stored),
             tuple(geometries))
    try:
        launch = _launches[found]
    except KeyError:
        if len(_launches) > _LIMIT:
            _launches.clear()
        launch = _launches[found] = _prepare(unit, found[0], references, geometries)
    if launch is None:
        return False
    try:
        launch.run(members, inputs, numbers)
    except MemoryError:  # the interpreter, which needs one result at a time, tells which node it is
        return False
    for node in members:
        node.operands = ()
    return True


def _prepare(unit: Unit, signatures: Sequence[Any], references: list[tuple[Reference, ...]],
             geometries: list[Geometry]) -> Launch | None:
    count = sum(s.operator.kind == "pointwise" or s.operator.name not in ("sum", "mean") for s in signatures)
    space = signatures[0].outputs[0]
    loop = loop_of(space, geometries, unit.row)
    if loop is None:
        return None
    members: list[Any] = []
    outputs: list[Any] = []
    sums: list[Any] = []
    structure_sums: list[Any] = []
    numbers: list[Any] = []
    renamed: dict[int, int] = {}
    for i, (signature, own) in enumerate(zip(signatures, references)):
        if _is_sum(signature):
            reference = own[0]
            assert reference is not None
            dtype = signature.attributes[2]
            wanted = np.dtype(np.float32) if dtype.is_floating_point and dtype.itemsize < 4 else dtype.numpy
            structure_sums.append((renamed[reference[1]], wanted))
            sums.append((i, signature, sum_type(wanted)))
            continue
        renamed[i] = len(members)
        mapped = tuple([("member", renamed[r[1]]) if r is not None and r[0] == "member" else r for r in own])
        members.append(member_of(signature, mapped, unit.stored[i]))
        if unit.stored[i]:
            outputs.append((i, signature.outputs[0].dtype.numpy, space.numel))
        numbers += [signature.compute.numpy if signature.compute is not None else None
                    for r in own if r is not None and r[0] == "number"]
    assert len(members) == count
    structure = Structure(tuple(members), loop.inputs, len(numbers), len(loop.extents), tuple(structure_sums))
    kernel = kernel_of(structure)
    return None if kernel is None else Launch(kernel, loop, geometries, outputs, sums, numbers)


def _is_sum(signature: Signature) -> bool:
    return signature.operator.kind == "structured" and signature.operator.name in ("sum", "mean")
